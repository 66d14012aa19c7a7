// The cases that mutants run on. Used by mutation_run.cc alone.
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

/// The first `count` that `gpuemu test` would run with this seed, smallest first; those that the
/// kernel does not support are left out.
Result<std::vector<CasePlan>> configured_cases(const Config& config, const CaseSource& source,
                                               uint64_t count);

/// Every value strategy with every shape strategy that the op and dtype allow, and small whole
/// numbers at every small size; smallest first.
Result<std::vector<CasePlan>> every_kind_of_case(const CaseSource& source);

}  // namespace gpuemu
