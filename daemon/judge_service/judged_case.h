// The verdict on an output that a function of another process computed. Uses the daemon's judge
// without a kernel, a worker or a reference script.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/records.gen.h"
#include "judge/cases/case.h"
#include "judge/verdict/validate.h"

namespace gpuemu {

/// The name of the output that is judged.
inline constexpr const char* kJudgedOutput = "output";

struct JudgedInput {
  std::string name;
  TensorView values;
};

/// The computed and the expected output of one case. The caller owns the tensors' memory.
struct JudgedCase {
  const Config& config;
  const OpConfig& op;
  CasePlan plan;  ///< Only its op, seeds, dtype, dims and attrs matter.
  std::vector<JudgedInput> inputs;
  TensorView output;
  TensorView reference;
  std::span<const double> scale;  ///< How large errors may be, per element; empty: as the op says.
  /// The references for the inputs that earlier judgements requested, in that order.
  std::vector<TensorView> changed = {};
};

struct Judgement {
  ValidationResult result;
  /// If not empty, the verdict is not final: judge the case again with the reference for these
  /// inputs added to `changed`.
  NamedTensors wanted;
  bool narrow = false;   ///< Compute the reference in the dtypes of the inputs, not wider.
  bool flushed = false;  ///< Subnormal numbers were taken as zero.
};

/// InvalidArgument if `accumulate` does not evaluate or memory is insufficient.
Result<Judgement> judge_case(const JudgedCase& judged);

}  // namespace gpuemu
