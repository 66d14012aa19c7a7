#include "daemon/judge_service/conditioning.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/numeric/element.h"
#include "common/rng/rng.h"
#include "judge/verdict/formats.h"

namespace gpuemu {
namespace {

/// Roundings inside a function are as many as its terms, a change of the inputs is one per term.
constexpr double kTimesSensitivity = 8;
/// The same of sums of n terms in the type of their inputs, times sqrt(n): each partial sum of a
/// sequence is rounded, and grows with sqrt(n).
constexpr double kTimesSequence = 1.5;
/// Within so many units in the last place no input has to be blamed. A type of 16 bits is what
/// results are stored in, not what they are summed in.
constexpr double kOrdinaryUlps = 16, kOrdinaryUlpsNarrow = 2;
/// More draws do not help an error so many times as large as what the first ones allow.
constexpr double kHopeless = 100;

Tensor neighbour_of(const Tensor& tensor, bool in_turn, Stream stream) {
  std::vector<double> values(static_cast<size_t>(tensor.count()));
  widen_to_double(tensor.dtype, tensor.data, values);
  bool turn = false;
  for (double& value : values) {
    turn = !turn;
    const bool down = in_turn ? turn : stream.negative();
    if (!std::isfinite(value) || value == 0) continue;
    const double step = ulp_at(format_of(tensor.dtype), value);
    value += down ? -step : step;
  }
  Tensor moved = tensor;
  narrow_from_double(tensor.dtype, values, moved.data);
  return moved;
}

/// How many terms one element may be a sum of: the longest axis of an input, or the elements of one
/// for each of the output.
double terms_of(const CasePlan& plan) {
  const int64_t results = std::max<int64_t>(1, element_count(plan.outputs.front().shape));
  int64_t longest = 1;
  for (const CaseTensor& input : plan.inputs) {
    for (const int64_t size : input.shape) longest = std::max(longest, size);
    longest = std::max(longest, element_count(input.shape) / results);
  }
  return static_cast<double>(longest);
}

}  // namespace

bool may_be_conditioning(const CaseOutcome& outcome) {
  // Elements that are not listed cannot be looked at.
  const std::optional<ErrorStats>& stats = outcome.result.error_stats;
  const bool all_listed = stats && stats->num_exceeding <= outcome.doubtful.size();
  return all_listed && !outcome.doubtful.empty() &&
         std::ranges::all_of(outcome.result.failures, [](const ValidationFailure& failure) {
           return failure.kind == FindingKind::ToleranceExceeded;
         });
}

NamedTensors neighbours_of(const CasePlan& plan, const NamedTensors& inputs, uint64_t draw) {
  NamedTensors changed = inputs;
  for (auto& [name, tensor] : changed) {
    if (!is_float(tensor.dtype)) continue;
    const std::string label = fmt::format("error_scale/{}/{}", name, draw);
    tensor = neighbour_of(tensor, draw == 0, Stream(plan.base_seed, plan.iteration, label));
  }
  return changed;
}

ConditioningJudge::ConditioningJudge(const CasePlan& plan)
    : format_(format_of(plan.outputs.front().dtype)) {
  const bool narrow = format_.unit > format_of(DType::Float32).unit;
  times_ = std::max(kTimesSensitivity, narrow ? 0 : kTimesSequence * std::sqrt(terms_of(plan)));
  ulps_ = narrow ? kOrdinaryUlpsNarrow : kOrdinaryUlps;
}

Conditioning ConditioningJudge::of(const DoubtfulElement& at, double moved) const {
  const double error = std::fabs(at.computed - at.reference);
  const double allowed = std::max(times_ * moved, ulps_ * ulp_at(format_, at.reference));
  // Written so that NaN explains nothing.
  if (error <= allowed) return Conditioning::Explains;
  return error <= kHopeless * allowed ? Conditioning::MayExplain : Conditioning::Refuted;
}

}  // namespace gpuemu
