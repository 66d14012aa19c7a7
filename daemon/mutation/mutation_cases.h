// The cases that mutants run on. Used only by mutation_run.cc.
#pragma once

#include <vector>

#include "common/config/config.h"
#include "judge/cases/case.h"

namespace gpuemu {

struct CaseSource {
  const OpConfig& op;
  const KernelConfig& kernel;
  DType dtype;
  uint64_t seed;
  const Constants& constants;  ///< Constants of the kernel, for the strategy `constants`.
};

/// Returns the first `count` cases that `gpuemu test` would run with this seed, smallest first,
/// without those that the kernel does not support.
Result<std::vector<CasePlan>> configured_cases(const Config& config, const CaseSource& source,
                                               uint64_t count);

/// Returns every value strategy with every shape strategy that the op and dtype permit, and small
/// whole numbers at every small size; smallest first.
Result<std::vector<CasePlan>> every_kind_of_case(const CaseSource& source);

}  // namespace gpuemu
