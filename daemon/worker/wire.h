// One description of a record serves both directions: `fields(wire, record)` passes its members to
// members(), which a Writer writes and a Reader reads. The directions differ only in these two
// classes.
#pragma once

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/enum_count.h"
#include "common/base/service_limits.h"

namespace gpuemu::wire {

class Writer {
 public:
  static constexpr bool kReads = false;

  template <typename T>
    requires std::is_arithmetic_v<T>
  void value(T& number) {
    out_.write(number);
  }
  void value(std::string& text) { out_.write_string(text); }
  void value(std::vector<std::byte>& blob) { out_.write_blob(blob); }

  template <typename T, typename Each>
  void list(std::vector<T>& items, Each each) {
    out_.write(static_cast<uint32_t>(items.size()));
    for (T& item : items) each(*this, item);
  }
  template <typename T>
  void choice(T& chosen) {
    out_.write(static_cast<uint8_t>(chosen));
  }

  std::vector<std::byte> take() { return out_.take(); }

 private:
  ByteWriter out_;
};

/// After the first failure, the remaining members stay unchanged; `status()` returns the error.
class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(ByteReader& in) : in_(in) {}

  template <typename T>
    requires std::is_arithmetic_v<T>
  void value(T& number) {
    keep(number, in_.read<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>());
  }
  void value(std::string& text) { keep(text, in_.read_string()); }
  void value(std::vector<std::byte>& blob) {
    if (!status_) return;
    const auto read = in_.read_blob();
    if (!read) {
      status_ = read.error();
      return;
    }
    blob.assign((*read).begin(), (*read).end());
  }

  template <typename T, typename Each>
  void list(std::vector<T>& items, Each each) {
    uint32_t count = 0;
    value(count);
    // Each element takes at least one byte, so a count larger than the rest is invalid; checked
    // before allocating.
    if (status_ && (count > kWireListMax || count > in_.remaining())) {
      status_ = error(ErrorCode::Corruption, "message: a list of {} elements in {} bytes", count,
                      in_.remaining());
    }
    for (uint32_t i = 0; status_ && i < count; ++i) each(*this, items.emplace_back());
  }
  template <typename T>
  void choice(T& chosen) {
    constexpr size_t kCount = enum_count<T>();
    uint8_t number = 0;
    value(number);
    if (status_ && number >= kCount) {
      status_ =
          error(ErrorCode::Corruption, "message: enumerator {}, expected below {}", number, kCount);
    }
    if (status_) chosen = static_cast<T>(number);
  }

  /// Corruption if an error occurred or bytes are left.
  Status end() {
    if (status_ && in_.remaining() > 0) {
      return error(ErrorCode::Corruption, "message: {} bytes behind its end", in_.remaining());
    }
    return status_;
  }

 private:
  template <typename T, typename Read>
  void keep(T& to, Result<Read> read) {
    if (!status_) return;
    if (!read) {
      status_ = read.error();
      return;
    }
    if constexpr (std::is_same_v<T, bool>) {
      to = *read != 0;
    } else {
      to = *std::move(read);
    }
  }

  ByteReader& in_;
  Status status_;
};

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = !std::is_same_v<T, std::byte>;
template <typename T>
inline constexpr bool kIsArray = false;
template <typename T, size_t kSize>
inline constexpr bool kIsArray<std::array<T, kSize>> = true;

/// A member, encoded by its type: a number, text, bytes, an enumerator, a list, an array, or a
/// record with its own fields().
template <typename Wire, typename T>
void member(Wire& wire, T& item) {
  if constexpr (std::is_enum_v<T>) {
    wire.choice(item);
  } else if constexpr (kIsList<T>) {
    wire.list(item, [](Wire& to, auto& element) { member(to, element); });
  } else if constexpr (kIsArray<T>) {
    for (auto& element : item) member(wire, element);
  } else if constexpr (requires { wire.value(item); }) {
    wire.value(item);
  } else {
    fields(wire, item);
  }
}

template <typename Wire, typename... Members>
void members(Wire& wire, Members&... items) {
  (member(wire, items), ...);
}

}  // namespace gpuemu::wire
