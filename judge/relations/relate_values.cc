// Relations that replace values at the same places.
#include <algorithm>
#include <cmath>

#include "common/numeric/element.h"
#include "judge/bounds/float_format.h"
#include "judge/relations/relation_check.h"

namespace gpuemu {
namespace {

// Beyond these magnitudes intermediate results may overflow or underflow, where powers of two
// round.
constexpr double kCalmLeast = 0x1p-12, kCalmMost = 0x1p12;
// Small shapes have outputs that no input can change, such as a softmax over one element.
constexpr int64_t kTellingSize = 4, kTellingElements = 16;
/// Moves small integers to integers that bfloat16 still represents, and exp(shift) beyond float32.
constexpr double kUsualShift = 128;
/// A shift of this size may cost an error of the bound's usual size.
constexpr double kShiftUnit = 8;

bool is_calm(const Tensor& tensor) {
  if (byte_size(tensor.dtype) < 4) return false;
  return std::ranges::all_of(values_of(tensor), [](double value) {
    const double magnitude = std::fabs(value);
    return value == 0 || (magnitude >= kCalmLeast && magnitude <= kCalmMost);
  });
}

/// Returns a run with all float inputs calm: the case itself, else the run on tame inputs.
Result<DerivedRun> calm_base(const RelationCheck& relation, bool exact) {
  const NamedTensors& own = relation.checker().of().inputs;
  const bool calm = std::ranges::all_of(own, [](const auto& named) {
    return !is_float(named.second.dtype) || is_calm(named.second);
  });
  return relation.base(exact && calm);
}

/// Returns the elements near the ends of the format, where powers of two round too.
std::vector<bool> rounds_at(const Tensor& expected) {
  const FloatLimits limits = float_limits(expected.dtype);
  std::vector<bool> rounds;
  for (const double value : values_of(expected)) {
    const double magnitude = std::fabs(value);
    const bool ends = magnitude > limits.max / 2 || magnitude < 2 * limits.min_normal;
    rounds.push_back((ends && value != 0) || !std::isfinite(value));
  }
  return rounds;
}

/// Returns whether an input looks like a mask that is the same everywhere, with all elements 0 or
/// all 1: it may select no element of any other input.
bool has_a_flat_mask(const NamedTensors& inputs) {
  return std::ranges::any_of(inputs, [](const auto& named) {
    const Tensor& tensor = named.second;
    if (is_float(tensor.dtype) || tensor.count() < 2) return false;
    const TensorView values = view_of(tensor);
    const double first = element(values, 0);
    if (first != 0 && first != 1) return false;
    for (size_t i = 1; i < static_cast<size_t>(tensor.count()); ++i) {
      if (element(values, i) != first) return false;
    }
    return true;
  });
}

/// Returns whether no value of a sorted input exceeds the one before it: as row pointers, these
/// select no element of any other input.
bool has_a_flat_index(const OpConfig& op, const NamedTensors& inputs) {
  return std::ranges::any_of(op.inputs, [&](const TensorSpec& spec) {
    if (!spec.sorted) return false;
    const Tensor& tensor = inputs.at(spec.name);
    const TensorView values = view_of(tensor);
    const auto count = static_cast<size_t>(tensor.count());
    const size_t row = tensor.shape.empty() ? 1 : static_cast<size_t>(tensor.shape.back());
    if (row == 1 && count > 1) return false;
    for (size_t i = 1; i < count; ++i) {
      if (i % row != 0 && element(values, i) > element(values, i - 1)) return false;
    }
    return true;
  });
}

}  // namespace

/// An output that does not depend on the inputs is a constant, a leftover, or taken from elsewhere.
RelationResult relate_reads_inputs(const RelationCheck& relation) {
  for (const auto& [name, size] : relation.plan().dims) {
    if (size < kTellingSize) return not_checked();
  }
  if (relation.input() == nullptr) return not_checked();
  const DerivedRun first = *GPUEMU_TRY(relation.checker().tame(0));
  const DerivedRun second = *GPUEMU_TRY(relation.checker().tame(1));
  for (const auto& [name, tensor] : first.inputs) {
    const bool same = tensor == second.inputs.at(name);
    if (is_float(tensor.dtype) && (same || tensor.count() < kTellingElements)) return not_checked();
  }
  const OpConfig& op = relation.op();
  for (const NamedTensors* inputs : {&first.inputs, &second.inputs}) {
    if (has_a_flat_index(op, *inputs) || has_a_flat_mask(*inputs)) return not_checked();
  }
  RelationVerdict verdict;
  for (const auto& [name, tensor] : first.outputs) {
    if (!is_float(tensor.dtype) || tensor.count() < kTellingElements) continue;
    verdict.checked = true;
    const bool has_nan =
        std::ranges::any_of(values_of(tensor), [](double value) { return std::isnan(value); });
    if (has_nan || tensor != second.outputs.at(name) || verdict.finding) continue;
    verdict.finding = ValidationFailure{.kind = FindingKind::RelationViolation, .output = name};
    verdict.finding->message = fmt::format(
        "relation reads_inputs: '{}' did not change although every input changed: the kernel "
        "ignores its inputs or returns an earlier result",
        name);
    verdict.finding->index = 0;
    verdict.finding->actual = element(view_of(tensor), 0);
  }
  return verdict;
}

RelationResult relate_scale(const RelationCheck& relation) {
  const CaseTensor* input = relation.input();
  if (input == nullptr || !is_float(input->dtype)) return not_checked();
  const bool exact = relation.exact(true);
  DerivedRun base = GPUEMU_TRY(calm_base(relation, exact));
  constexpr double kFactors[] = {0.25, 0.5, 2, 4};
  Stream stream = relation.stream();
  const double factor = relation.number("factor", kFactors[stream.below(std::size(kFactors))]);
  Tensor& scaled = base.inputs.at(input->name);
  std::vector<double> values = values_of(scaled);
  for (double& value : values) value *= factor;
  scaled = with_values(scaled, values);
  if (!is_in_range(relation.op(), relation.plan(), input->name, scaled)) return not_checked();
  const NamedTensors got = GPUEMU_TRY(relation.checker().run(base.inputs));
  const double power = std::pow(factor, relation.number("degree", 1));
  RelationCheck::Demand demand{fmt::format("'{}' times {}", input->name, factor), exact};
  NamedTensors expected;
  for (const auto& [name, tensor] : base.outputs) {
    if (!is_float(tensor.dtype)) continue;
    std::vector<double> wanted = values_of(tensor);
    for (double& value : wanted) value *= power;
    expected[name] = with_values(tensor, wanted);
    demand.free[name] = rounds_at(expected[name]);
  }
  demand.inputs = &base.inputs;
  return relation.agree(got, expected, demand);
}

RelationResult relate_shift(const RelationCheck& relation) {
  const CaseTensor* input = relation.input();
  if (input == nullptr || !is_float(input->dtype)) return not_checked();
  const TensorSpec& spec = *std::ranges::find(relation.op().inputs, input->name, &TensorSpec::name);
  const SharedAxes axes = axes_of(relation.op(), relation.spec(), spec, -1);
  const auto along = axes.inputs.find(input->name);
  if (along == axes.inputs.end()) return not_checked();
  const size_t axis = along->second.back();
  const double shift = relation.number("c", kUsualShift);
  DerivedRun base = GPUEMU_TRY(relation.base(false));
  Tensor& shifted = base.inputs.at(input->name);
  std::vector<double> values = values_of(shifted);
  // Lines move by different amounts, so that they cannot share what is subtracted.
  constexpr double kShares[] = {1, 0.5, -0.5};
  size_t inner = 1;
  for (size_t i = axis + 1; i < input->shape.size(); ++i) {
    inner *= static_cast<size_t>(input->shape[i]);
  }
  const size_t plane = inner * static_cast<size_t>(input->shape[axis]);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t line = i / plane * inner + i % inner;
    values[i] += shift * kShares[line % std::size(kShares)];
  }
  shifted = with_values(shifted, values);
  if (!is_in_range(relation.op(), relation.plan(), input->name, shifted)) return not_checked();
  const NamedTensors got = GPUEMU_TRY(relation.checker().run(base.inputs));
  RelationCheck::Demand demand{
      fmt::format("{} added to '{}' along axis {} (half of it, with either "
                  "sign, in two lines of three)",
                  shift, input->name, axis),
      relation.exact(false), 2 * (1 + std::fabs(shift) / kShiftUnit)};
  return relation.agree(got, base.outputs, demand);
}

RelationResult relate_mirror(const RelationCheck& relation) {
  const CaseTensor* input = relation.input();
  if (input == nullptr || !is_float(input->dtype)) return not_checked();
  const bool exact = relation.exact(true), odd = relation.spec().kind == InvariantKind::Odd;
  DerivedRun base = GPUEMU_TRY(relation.base(exact));
  Tensor& mirrored = base.inputs.at(input->name);
  std::vector<double> values = values_of(mirrored);
  for (double& value : values) value = -value;
  mirrored = with_values(mirrored, values);
  if (!is_in_range(relation.op(), relation.plan(), input->name, mirrored)) return not_checked();
  const NamedTensors got = GPUEMU_TRY(relation.checker().run(base.inputs));
  NamedTensors expected;
  for (const auto& [name, tensor] : base.outputs) {
    std::vector<double> wanted = values_of(tensor);
    if (odd && !is_float(tensor.dtype)) continue;
    if (odd) {
      for (double& value : wanted) value = -value;
    }
    expected[name] = odd ? with_values(tensor, wanted) : tensor;
  }
  RelationCheck::Demand demand{fmt::format("'{}' negated", input->name), exact};
  demand.inputs = &base.inputs;
  return relation.agree(got, expected, demand);
}

RelationResult relate_linear(const RelationCheck& relation) {
  const CaseTensor* input = relation.input();
  if (input == nullptr || !is_float(input->dtype)) return not_checked();
  const DerivedRun first = *GPUEMU_TRY(relation.checker().tame(0));
  NamedTensors inputs = first.inputs;
  const NamedTensors drawn =
      tame_inputs(relation.op(), relation.plan(), relation.checker().of().inputs, 1);
  inputs.at(input->name) = drawn.at(input->name);
  const NamedTensors second = GPUEMU_TRY(relation.checker().run(inputs));
  std::vector<double> sum = values_of(first.inputs.at(input->name));
  const std::vector<double> more = values_of(drawn.at(input->name));
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  inputs.at(input->name) = with_values(inputs.at(input->name), sum);
  if (!is_in_range(relation.op(), relation.plan(), input->name, inputs.at(input->name))) {
    return not_checked();
  }
  const NamedTensors got = GPUEMU_TRY(relation.checker().run(inputs));
  RelationCheck::Demand demand{fmt::format("'{}' the sum of two inputs", input->name),
                               relation.exact(false), 3};
  NamedTensors expected = sum_of(first.outputs, second, demand);
  demand.inputs = &inputs;
  return relation.agree(got, expected, demand);
}

}  // namespace gpuemu
