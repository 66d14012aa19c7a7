// Builds the domain of all launches that gpuemu.toml allows, with sizes as symbols instead of
// numbers.
#pragma once

#include <map>
#include <string>

#include "common/config/kernel_config.h"
#include "common/config/op_config.h"
#include "judge/inbounds/launch_domain.h"

namespace gpuemu::inbounds {

struct Setting {
  const OpConfig& op;
  const KernelConfig& kernel;
  DType dtype = DType::Float32;
  /// Whole attrs with a fixed value; the others may take any of theirs.
  std::map<std::string, int64_t> attrs;
  uint64_t memory_limit_bytes = 0;  ///< Upper limit of a tensor's size.
};

/// Dims take every size of their range. If the op has layouts other than packed, strides passed to
/// the kernel may be any non-negative numbers. The value of an expression that is not understood
/// may be anything.
LaunchDomain launch_domain(const Setting& setting, const LaunchSpec& launch);

}  // namespace gpuemu::inbounds
