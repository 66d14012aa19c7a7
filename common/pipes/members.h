// Reads typed members of a request's JSON. Errors name the request and the member.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/pipes/message.h"

namespace gpuemu::pipes {

inline const char* type_text(const std::string&) { return "a string"; }
inline const char* type_text(bool) { return "a boolean"; }
template <typename T>
const char* type_text(const T&) {
  return std::is_integral_v<T> ? "an integer in its range" : "a list of such";
}

inline bool fits(const Json& json, const std::string&) { return json.is_string(); }
inline bool fits(const Json& json, bool) { return json.is_boolean(); }
template <typename T>
  requires std::is_integral_v<T>
bool fits(const Json& json, T) {
  if (json.is_number_unsigned()) return std::in_range<T>(json.get<uint64_t>());
  return json.is_number_integer() && std::in_range<T>(json.get<int64_t>());
}
template <typename T>
bool fits(const Json& json, const std::vector<T>&) {
  return json.is_array() &&
         std::ranges::all_of(json, [](const Json& one) { return fits(one, T()); });
}

/// InvalidArgument if it is missing or has another type.
template <typename T>
Result<T> required(const Json& request, const char* name) {
  const auto found = request.find(name);
  if (found == request.end() || !fits(*found, T())) {
    return error(ErrorCode::InvalidArgument, "'{}' must be {}", name, type_text(T()));
  }
  return found->get<T>();
}
/// Returns `otherwise` if it is missing or null.
template <typename T>
Result<T> optional(const Json& request, const char* name, T otherwise) {
  const auto found = request.find(name);
  if (found == request.end() || found->is_null()) return otherwise;
  return required<T>(request, name);
}

}  // namespace gpuemu::pipes
