// Names of the NaN policies, which define how NaN and infinity are compared.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "common/config/judging.h"

namespace gpuemu {

/// Indexed by NanPolicy.
inline constexpr std::string_view kNanPolicyNames[] = {"match", "class", "any"};

constexpr std::string_view name_of(NanPolicy policy) {
  return kNanPolicyNames[static_cast<size_t>(policy)];
}

constexpr std::optional<NanPolicy> nan_policy_from_name(std::string_view name) {
  const auto* const found = std::ranges::find(kNanPolicyNames, name);
  if (found == std::end(kNanPolicyNames)) return std::nullopt;
  return static_cast<NanPolicy>(found - std::begin(kNanPolicyNames));
}

}  // namespace gpuemu
