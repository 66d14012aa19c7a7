#include "judge/relations/derived_case.h"

#include <algorithm>
#include <cmath>

#include "common/numeric/element.h"
#include "common/rng/rng.h"
#include "judge/cases/case_tensors.h"

namespace gpuemu {
namespace {

/// Added to the base seed to draw the values of another case.
constexpr uint64_t kOtherSeed = 0x9E3779B97F4A7C15;
constexpr int64_t kTameMax = 3;

/// Returns seven values spread over a range without integers; different ones for odd draws.
double spread_over(const std::pair<double, double>& range, int64_t step, bool odd) {
  const double share =
      (static_cast<double>(step + kTameMax + 1) - (odd ? 0.5 : 0)) / (2 * kTameMax + 2);
  return range.first + (range.second - range.first) * share;
}

}  // namespace

NamedTensors tame_inputs(const OpConfig& op, const CasePlan& plan, const NamedTensors& own,
                         uint64_t draw) {
  NamedTensors inputs = own;
  for (auto& [name, tensor] : inputs) {
    if (!is_float(tensor.dtype)) continue;
    const auto range = declared_range(op, plan, name);
    // In most draws the maximum of many elements is the same, so odd draws are twice as large.
    const bool odd = draw % 2 == 1;
    const int64_t factor = odd ? 2 : 1;
    const auto most = static_cast<double>(factor * kTameMax);
    const bool integers = !range || (range->first <= -most && range->second >= most);
    Stream stream(plan.base_seed, plan.iteration, fmt::format("relation/{}/{}", name, draw));
    std::vector<double> values(static_cast<size_t>(tensor.count()));
    for (double& value : values) {
      const int64_t step = stream.integer(-kTameMax, kTameMax);
      value = integers ? static_cast<double>(factor * step) : spread_over(*range, step, odd);
    }
    narrow_from_double(tensor.dtype, values, tensor.data);
  }
  return inputs;
}

CasePlan other_case(const CasePlan& plan) {
  CasePlan other = plan;
  other.base_seed += kOtherSeed;
  other.value_strategy = Strategy::Uniform10;
  other.value_scale = 1;
  other.value_parameters.clear();
  return other;
}

NamedTensors other_inputs(const OpConfig& op, const CasePlan& plan) {
  const CasePlan other = other_case(plan);
  NamedTensors inputs;
  for (size_t index = 0; index < plan.inputs.size(); ++index) {
    Tensor tensor = make_tensor(plan.inputs[index].dtype, plan.inputs[index].shape);
    fill_input(op, other, index, tensor.data);
    inputs.emplace(plan.inputs[index].name, std::move(tensor));
  }
  return inputs;
}

bool is_in_range(const OpConfig& op, const CasePlan& plan, const std::string& input,
                 const Tensor& values) {
  const auto range = declared_range(op, plan, input);
  if (!range) return true;
  std::vector<double> wide(static_cast<size_t>(values.count()));
  widen_to_double(values.dtype, values.data, wide);
  // An infinity belongs to a range that has numbers of its sign, as the strategies draw it.
  return std::ranges::all_of(wide, [least = range->first, most = range->second](double value) {
    if (std::isinf(value)) return value > 0 ? most > 0 : least < 0;
    return std::isnan(value) || (value >= least && value <= most);
  });
}

}  // namespace gpuemu
