// The verdict on an output that a function of another process computed: the daemon's judge, without
// a kernel, a worker and a reference script.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/records.h"
#include "judge/cases/case.h"
#include "judge/verdict/validate.h"

namespace gpuemu {

/// The name of the output that is judged.
inline constexpr const char* kJudgedOutput = "output";

struct JudgedInput {
  std::string name;
  TensorView values;
};

/// What was computed in one case and what was expected. The tensors' memory is the caller's.
struct JudgedCase {
  const Config& config;
  const OpConfig& op;
  CasePlan plan;  ///< Only its op, seeds, dtype, dims and attrs count.
  std::vector<JudgedInput> inputs;
  TensorView output;
  TensorView reference;
  std::span<const double> scale;  ///< How large errors may be, per element; empty: as the op says.
  /// References of the inputs that earlier judgements wanted, in their order.
  std::vector<TensorView> changed = {};
};

struct Judgement {
  ValidationResult result;
  /// Not empty: the verdict is not final. With the reference of these inputs added to `changed` the
  /// case is judged again.
  NamedTensors wanted;
  bool narrow = false;   ///< The reference is wanted in the dtypes of the inputs, not wider.
  bool flushed = false;  ///< Subnormal numbers were taken as zero.
};

/// InvalidArgument when `accumulate` does not evaluate or the memory cannot be had.
Result<Judgement> judge_case(const JudgedCase& judged);

}  // namespace gpuemu
