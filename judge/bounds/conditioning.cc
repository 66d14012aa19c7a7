#include "judge/bounds/conditioning.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "common/numeric/element.h"
#include "common/rng/rng.h"

namespace gpuemu {
namespace {

/// Allowed error, as a multiple of how far a result moves when its inputs move by their last place.
/// A kernel rounds about once per term, and the inputs change once per term. The last place of a
/// 16-bit type is so large that float32 rounding is negligible beside it, also in a wider output.
constexpr double kTimes = 32, kTimesNarrow = 8;
/// Limits for sums of n terms in the type of their inputs, to be multiplied by sqrt(n): each
/// partial sum of a sequence is rounded, and grows with sqrt(n).
constexpr double kTimesSequence = 4;
/// Errors up to this many units in the last place are always allowed. Kernels store in 16-bit types
/// but do not sum in them.
constexpr double kOrdinaryUlps = 16, kOrdinaryUlpsNarrow = 2;
/// A sum of n equal terms always rounds in the same direction and may lose n times this many units:
/// half of what it loses if every rounding is the worst possible. Above 2^20 terms the second
/// number times sqrt(n) is less and counts: kernels split sums that are longer, and adding 2^25
/// ones one by one stops at 2^24.
constexpr double kUlpsSequence = 0.25, kUlpsLongSequence = 256;
constexpr double kHopeless = 100, kNearly = 4;
/// Moves below this relative size count as zero: what remains of moves that cancel, such as exact
/// sums in another order, or the other terms of two tied scores that moved together.
constexpr double kStill = 1e-4;

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

}  // namespace

NamedTensors neighbours_of(const NamedTensors& inputs, DrawnFor drawn, uint64_t draw) {
  NamedTensors changed = inputs;
  for (auto& [name, tensor] : changed) {
    if (!is_float(tensor.dtype)) continue;
    const std::string label = fmt::format("error_scale/{}/{}", name, draw);
    tensor = neighbour_of(tensor, draw == 0, Stream(drawn.base_seed, drawn.iteration, label));
  }
  return changed;
}

double terms_of(const std::vector<Shape>& inputs, const Shape& output) {
  const int64_t results = std::max<int64_t>(1, element_count(output));
  int64_t longest = 1;
  for (const Shape& input : inputs) {
    for (const int64_t size : input) longest = std::max(longest, size);
    longest = std::max(longest, element_count(input) / results);
  }
  return static_cast<double>(longest);
}

Conditioning::Conditioning(DType output, double terms, bool narrow_inputs)
    : format_(&format_of(output)),
      narrow_(format_->unit > format_of(DType::Float32).unit),
      terms_(terms),
      times_(narrow_ || narrow_inputs ? kTimesNarrow
                                      : std::max(kTimes, kTimesSequence * std::sqrt(terms))),
      ulps_(narrow_ ? kOrdinaryUlpsNarrow
                    : std::max(kOrdinaryUlps, std::min(kUlpsSequence * terms,
                                                       kUlpsLongSequence * std::sqrt(terms)))) {}

double Conditioning::allowed(double moved, double value) const {
  return std::max(times_ * moved, ulps_ * ulp_at(*format_, value));
}

bool may_be_explained(double error, double allowed) { return error <= kHopeless * allowed; }

bool is_nearly_explained(double error, double allowed) { return error <= kNearly * allowed; }

bool stayed_by_chance(double moved, double largest) { return moved <= kStill * largest; }

}  // namespace gpuemu
