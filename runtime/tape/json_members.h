// Private to this folder: reads the members of a JSON object.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/result.h"

namespace gpuemu::tape {

/// Reads members of one object; keeps the first error.
class Members {
 public:
  using Json = nlohmann::ordered_json;

  Members(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("expected an object, got " + shown(object));
  }

  Status status() const { return error_ ? Status(*error_) : ok_status(); }
  bool has(const char* name) const {
    return object_.is_object() && object_.contains(name) && !object_[name].is_null();
  }

  void read(const char* name, std::string& to) {
    take(name, "text", [&](const Json& value) {
      if (!value.is_string()) return false;
      to = value.get<std::string>();
      return true;
    });
  }
  void read(const char* name, uint64_t& to) {
    take(name, "a whole number from 0", [&](const Json& value) { return whole(value, to); });
  }
  void read(const char* name, uint32_t& to) {
    uint64_t wide = to;
    take(name, "a whole number from 0 to 2^32 - 1",
         [&](const Json& value) { return whole(value, wide) && wide <= UINT32_MAX; });
    to = static_cast<uint32_t>(wide);
  }
  void read(const char* name, bool& to) {
    take(name, "true or false", [&](const Json& value) {
      if (!value.is_boolean()) return false;
      to = value.get<bool>();
      return true;
    });
  }
  void read(const char* name, double& to, double above) {
    take(name, "a finite number from 0", [&](const Json& value) {
      if (!value.is_number()) return false;
      to = value.get<double>();
      return std::isfinite(to) && to >= 0 && to > above;
    });
  }
  template <typename T>
  void read(const char* name, std::optional<T>& to) {
    if (!has(name)) return;
    T value{};
    read(name, value);
    to = value;
  }
  void read(const char* name, std::vector<std::string>& to) {
    take(name, "a list of texts", [&](const Json& value) {
      if (!value.is_array()) return false;
      to.clear();
      for (const Json& one : value) {
        if (!one.is_string()) return false;
        to.push_back(one.get<std::string>());
      }
      return true;
    });
  }
  void read(const char* name, std::vector<uint64_t>& to) {
    take(name, "a list of whole numbers from 0", [&](const Json& value) {
      if (!value.is_array()) return false;
      to.clear();
      for (const Json& one : value) {
        if (!whole(one, to.emplace_back())) return false;
      }
      return true;
    });
  }
  /// Reads a name that `parse` accepts.
  template <typename T, typename Parse>
  void read_word(const char* name, T& to, const Parse& parse) {
    take(name, "a known name", [&](const Json& value) {
      const auto known = value.is_string() ? parse(value.get<std::string>()) : std::nullopt;
      if (known) to = *known;
      return known.has_value();
    });
  }
  /// Calls read(element, place) for each element, until one fails.
  template <typename Read>
  void each(const char* name, const Read& read) {
    if (error_ || !has(name)) return;
    const Json& list = object_[name];
    if (!list.is_array()) return fail(fmt::format("member '{}': expected a list", name));
    for (size_t i = 0; i < list.size(); ++i) {
      const Status done = read(list[i], fmt::format("{}[{}]", name, i));
      if (!done) {
        error_ = done.error();
        return;
      }
    }
  }
  const Json& operator[](const char* name) const { return object_[name]; }
  void fail(const std::string& why) {
    if (!error_) error_ = error(ErrorCode::InvalidArgument, "{}: {}", where_, why);
  }
  static std::string shown(const Json& value) {
    constexpr size_t kShownMax = 60;
    std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() <= kShownMax ? text : text.substr(0, kShownMax) + "...";
  }

 private:
  static bool whole(const Json& value, uint64_t& to) {
    if (value.is_number_unsigned()) {
      to = value.get<uint64_t>();
      return true;
    }
    return false;
  }
  /// Leaves the value unchanged if the member is missing or null.
  template <typename Take>
  void take(const char* name, const char* expected, const Take& take) {
    if (error_ || !has(name) || take(object_[name])) return;
    fail(fmt::format("member '{}': expected {}, got {}", name, expected, shown(object_[name])));
  }

  const Json& object_;
  std::string where_;
  std::optional<Error> error_;
};

}  // namespace gpuemu::tape
