// Private to this folder: enumerators by name, and the wire's `type` of each alternative of Request
// and Reply, in order.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "common/base/result.h"

namespace gpuemu {

template <typename Enum, size_t kCount>
const char* name_among(const char* const (&names)[kCount], Enum value) {
  const auto index = static_cast<size_t>(value);
  GPUEMU_CHECK(index < kCount);
  return names[index];
}

template <typename Enum, size_t kCount>
std::optional<Enum> value_among(const char* const (&names)[kCount], std::string_view name) {
  for (size_t i = 0; i < kCount; ++i) {
    if (name == names[i]) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

std::span<const char* const> request_types();
std::span<const char* const> reply_types();

}  // namespace gpuemu
