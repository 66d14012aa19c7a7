// Errors beyond the computed bound that the precision of the inputs explains: an op that declares
// nothing may sum, and a function that no emulator executes can be judged by its reference alone.
//
// The reference is computed once more on inputs that lie at a neighbour of their type. An element
// passes where its error is no larger than a few times what that makes of the result: no formula
// could do better from inputs of this precision.
#pragma once

#include <vector>

#include "daemon/pipeline/case_run.h"
#include "judge/verdict/formats.h"

namespace gpuemu {

/// How often the reference is asked: in a few draws an element may stay where it was by chance.
inline constexpr size_t kConditioningDrawsLeast = 3, kConditioningDrawsMost = 6;

/// Whether errors beyond the bound are all that is wrong with the case.
bool may_be_conditioning(const CaseOutcome& outcome);

/// The case's inputs at neighbours of their type: in the first draw up and down in turn, so that
/// differences of neighbours move, in others by the case's seed.
NamedTensors neighbours_of(const CasePlan& plan, const NamedTensors& inputs, uint64_t draw);

enum class Conditioning : uint8_t {
  Explains,
  MayExplain,  ///< Further draws may.
  Refuted,
};

/// Judges single elements of one case.
class ConditioningJudge {
 public:
  /// REQUIRES: `plan` has one output.
  explicit ConditioningJudge(const CasePlan& plan);

  /// `moved`: the largest change of the element's reference in all draws.
  Conditioning of(const DoubtfulElement& at, double moved) const;

 private:
  FloatFormat format_;
  double times_ = 0, ulps_ = 0;
};

}  // namespace gpuemu
