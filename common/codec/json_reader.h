// Private to this folder: fills records from parsed JSON. Keeps the first error and skips
// everything after it, so member lists need no error handling.
#pragma once

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/result.h"
#include "common/codec/enums.gen.h"
#include "common/codec/fields_replies.gen.h"
#include "common/codec/fields_requests.gen.h"
#include "common/codec/shared_tensor.h"

namespace gpuemu {

/// Parses the text to a JSON object. InvalidArgument if it is not one, or nests deeper than
/// kJsonDepthMax.
Result<nlohmann::json> parse_object(std::string_view text);

class JsonReader {
 public:
  /// `object` must be an object and outlive the reader. `fetch` copies tensors from the sender's
  /// memory; without it every tensor needs its `data`.
  explicit JsonReader(const nlohmann::json& object, const FetchShared* fetch = nullptr)
      : object_(&object), fetch_(fetch) {}

  Status status() const { return error_ ? Status(*error_) : ok_status(); }

  template <typename T>
  void required(const char* name, T& value) {
    if (const Json* const member = enter(name, true)) {
      read(*member, value);
      path_.pop_back();
    }
  }
  template <typename T>
  void optional(const char* name, T& value) {
    if (const Json* const member = enter(name, false)) {
      read(*member, value);
      path_.pop_back();
    }
  }
  template <typename T>
  void extra(const char* name, T& value) {
    optional(name, value);
  }
  void diff(const char* name, double& value) { required(name, value); }
  void lower_case(const char* name, LayoutKind& layout) { required(name, layout); }
  void json_text(const char* name, std::string& json);
  /// Refuses a number above `limit`, or a list with more elements.
  template <typename T>
  void at_most(const char* name, const std::optional<T>& value, uint64_t limit) {
    if (value) at_most(name, *value, limit);
  }
  template <typename T>
  void at_most(const char* name, const std::vector<T>& values, uint64_t limit) {
    at_most(name, values.size(), limit, " elements");
  }
  void at_most(const char* name, uint64_t value, uint64_t limit, const char* unit = "");

  /// Keeps the first error: "member 'a.b': expected a string, got 3". A null `got` means missing.
  void fail(const std::string& expected, const nlohmann::json* got);

 private:
  using Json = nlohmann::json;

  /// Appends `name` to the path and returns the member. Null, with the path as it was, after an
  /// error and if there is no such member, which is an error if it is required; a member that is
  /// not required may also be null.
  const Json* enter(const char* name, bool is_required);
  /// Returns "member 'a.b'" for the current position.
  std::string member() const;
  void read(const Json& from, bool& value);
  void read(const Json& from, double& value);
  void read(const Json& from, std::string& value);
  void read(const Json& from, DType& value);
#define GPUEMU_READ_ENUM(Type, parse) void read(const Json& from, Type& value);
  GPUEMU_WIRE_ENUMS(GPUEMU_READ_ENUM)
#undef GPUEMU_READ_ENUM
  void read(const Json& from, std::vector<std::byte>& bytes);
  void read(const Json& from, Tensor& tensor);
  void read(const Json& from, CaseInput& input);
  /// Reads the bytes of a tensor from where `from` refers to; there must be `bytes` of them.
  void read_data(const Json& from, uint64_t bytes, Tensor& tensor);
  int64_t read_signed(const Json& from, int64_t smallest, int64_t largest);
  uint64_t read_unsigned(const Json& from, uint64_t largest);

  template <std::integral T>
  void read(const Json& from, T& value) {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_signed_v<T>) {
      value = static_cast<T>(read_signed(from, Limits::min(), Limits::max()));
    } else {
      value = static_cast<T>(read_unsigned(from, Limits::max()));
    }
  }
  template <typename T>
  void read(const Json& from, std::optional<T>& value) {
    if (from.is_null()) {
      value.reset();
    } else {
      read(from, value.emplace());
    }
  }
  template <typename T>
  void read(const Json& from, std::vector<T>& values) {
    if (!from.is_array()) return fail("an array", &from);
    values.clear();
    values.reserve(from.size());
    for (const Json& element : from) {
      if (error_) return;
      path_.push_back(std::to_string(values.size()));
      read(element, values.emplace_back());
      path_.pop_back();
    }
  }
  template <typename T>
  void read(const Json& from, std::map<std::string, T>& values) {
    if (!from.is_object()) return fail("an object", &from);
    values.clear();
    for (auto member = from.begin(); member != from.end() && !error_; ++member) {
      path_.push_back(member.key());
      read(*member, values[member.key()]);
      path_.pop_back();
    }
  }
  template <typename T>
    requires std::is_class_v<T>
  void read(const Json& from, T& record) {
    if (!from.is_object()) return fail("an object", &from);
    const Json* const outer = object_;
    object_ = &from;
    fields(*this, record);
    object_ = outer;
  }

  const Json* object_;
  const FetchShared* fetch_;
  std::vector<std::string> path_;
  std::optional<Error> error_;
};

}  // namespace gpuemu
