// Reads and appends little-endian binary records with bounds checks. Used for snapshots and for
// messages between daemon and worker. The reader never reads beyond its span.
//
//   str   := length:u32  utf-8
//   blob  := length:u64  bytes
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

class ByteWriter {
 public:
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void write(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
  }
  void write_string(std::string_view text);
  void write_blob(std::span<const std::byte> blob);

  std::vector<std::byte> take() { return std::move(bytes_); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  /// `bytes` must outlive the reader.
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  Result<T> read() {
    if (rest_.size() < sizeof(T)) return truncated(sizeof(T));
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  /// Corruption if the declared length exceeds the remaining bytes.
  Result<std::string> read_string();
  /// Returns a view into the reader's own bytes.
  Result<std::span<const std::byte>> read_blob();
  size_t remaining() const { return rest_.size(); }

 private:
  Error truncated(size_t wanted) const;
  std::span<const std::byte> rest_;
};

}  // namespace gpuemu
