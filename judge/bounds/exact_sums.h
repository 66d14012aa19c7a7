// Cases with an exact answer: sums of small whole numbers, which are exact in any order of
// addition.
#pragma once

#include <map>
#include <string>

#include "common/config/op_config.h"
#include "judge/bounds/comparison.h"
#include "judge/cases/case.h"

namespace gpuemu {

struct ExactQuestion {
  const OpConfig& op;
  const CasePlan& plan;
  int64_t terms = 1;  ///< Terms per element: `accumulate`.
  const std::map<std::string, TensorView>& inputs;
};

/// Returns whether the result must be exact: the op only adds and multiplies (`exact`, or an
/// error_scale of such ops), all inputs are whole numbers so small that no partial sum needs more
/// bits than the accumulator has, and the reference is whole and representable.
bool compares_exactly(const ExactQuestion& question, const TensorView& reference, DType output);

}  // namespace gpuemu
