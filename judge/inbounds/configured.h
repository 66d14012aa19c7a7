// From gpuemu.toml to all launches that it allows: sizes are letters, not numbers.
#pragma once

#include <map>
#include <string>

#include "common/config/config.h"
#include "judge/inbounds/launch_domain.h"

namespace gpuemu::inbounds {

struct Setting {
  const OpConfig& op;
  const KernelConfig& kernel;
  DType dtype = DType::Float32;
  std::map<std::string, int64_t> attrs;  ///< Whole ones with one value; others take any of theirs.
  uint64_t memory_limit_bytes = 0;       ///< No tensor is larger.
};

/// Dims take every size of their range. Strides that the kernel is given are any that are not
/// negative, when the op has other layouts than packed ones. What an expression says in ways that
/// are not understood is anything.
LaunchDomain launch_domain(const Setting& setting, const LaunchSpec& launch);

}  // namespace gpuemu::inbounds
