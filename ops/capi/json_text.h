// JSON as text for C.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace gpuemu::opcall {

using Json = nlohmann::json;

/// Names of others may be no UTF-8; what is not becomes U+FFFD.
inline std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gpuemu::opcall
