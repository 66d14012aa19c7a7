// Relations that exchange, change, add or remove slices along an axis.
#include <algorithm>
#include <limits>
#include <numeric>

#include "judge/relations/relation_check.h"

namespace gpuemu {
namespace {

using NamedAxes = std::map<std::string, std::vector<size_t>>;

int64_t size_along(const CasePlan& plan, const SharedAxes& axes) {
  for (const CaseTensor& tensor : plan.inputs) {
    const auto found = axes.inputs.find(tensor.name);
    if (found != axes.inputs.end()) return tensor.shape[found->second.front()];
  }
  return 0;
}

NamedTensors take_all(const NamedTensors& tensors, const NamedAxes& axes,
                      const std::vector<int64_t>& from) {
  NamedTensors taken = tensors;
  for (const auto& [name, list] : axes) {
    for (const size_t axis : list) taken.at(name) = take_slices(taken.at(name), axis, from);
  }
  return taken;
}

/// Returns the first dim of the inputs that no output has.
std::string reduced_dim(const OpConfig& op) {
  for (const TensorSpec& input : op.inputs) {
    for (const Expression& size : input.shape) {
      const SharedAxes axes = axes_written(op, size.text());
      const bool is_dim = std::ranges::find(op.dims, size.text(), &DimSpec::name) != op.dims.end();
      if (is_dim && axes.outputs.empty()) return axes.dim;
    }
  }
  return "";
}

/// Returns the dim or axis that the spec names, else the reduced dim if the relation is about it.
SharedAxes chosen_axes(const RelationCheck& relation) {
  const OpConfig& op = relation.op();
  const bool reduces = relation.spec().kind == InvariantKind::PermutationInvariant ||
                       relation.spec().kind == InvariantKind::Additive;
  const bool named =
      relation.spec().strings.contains("dim") || relation.spec().numbers.contains("axis");
  if (reduces && !named) return axes_written(op, reduced_dim(op));
  const bool of_input = reduces || relation.spec().kind == InvariantKind::PadInvariant;
  if (of_input && op.inputs.empty()) return {};
  return axes_of(op, relation.spec(), of_input ? op.inputs.front() : op.outputs.front(), 0);
}

/// Returns a permutation that is not the identity. Requires size >= 2.
std::vector<int64_t> shuffled(size_t size, Stream stream) {
  std::vector<int64_t> from(size);
  std::iota(from.begin(), from.end(), int64_t{0});
  for (size_t i = size - 1; i > 0; --i) std::swap(from[i], from[stream.below(i + 1)]);
  if (std::ranges::is_sorted(from)) std::ranges::reverse(from);
  return from;
}

/// NaN in the changed slices reveals what numbers hide: 0 * NaN and max(NaN, x).
bool may_hold_nan(const RelationCheck& relation, const std::string& input, DType dtype) {
  if (!is_float(dtype) || !relation.op().has_nan_policy) return false;
  const auto spec = std::ranges::find(relation.op().inputs, input, &TensorSpec::name);
  return spec != relation.op().inputs.end() && !spec->range;
}

/// Chooses the slices to keep: those up to a place, or about every second one. Requires size >= 2.
std::vector<bool> kept_slices(size_t size, bool causal, Stream& stream) {
  std::vector<bool> kept(size);
  const uint64_t last = stream.below(size - 1);
  for (size_t i = 0; i < size; ++i) kept[i] = causal ? i <= last : stream.negative();
  // At least one slice is kept and one is not.
  if (!causal) kept[last + 1] = !kept[last];
  return kept;
}

/// Returns the case's inputs with other values in the slices that are not `kept`.
NamedTensors changed_slices(const RelationCheck& relation, const DerivedRun& base,
                            const SharedAxes& axes, const std::vector<bool>& kept, bool with_nan) {
  NamedTensors inputs = base.inputs;
  const NamedTensors others = other_inputs(relation.op(), relation.plan());
  for (const auto& [name, list] : axes.inputs) {
    Tensor other = others.at(name);
    if (with_nan && may_hold_nan(relation, name, other.dtype)) {
      const auto count = static_cast<size_t>(other.count());
      other =
          with_values(other, std::vector<double>(count, std::numeric_limits<double>::quiet_NaN()));
    }
    for (const size_t axis : list) inputs.at(name) = mix_slices(inputs.at(name), other, axis, kept);
  }
  return inputs;
}

/// Returns a larger size of the dim; 0 if there is none.
int64_t larger_size(const OpConfig& op, const std::string& name, int64_t size, uint64_t more) {
  const auto dim = std::ranges::find(op.dims, name, &DimSpec::name);
  if (dim == op.dims.end()) return 0;
  if (!dim->is_set) {
    const int64_t most = dim->values[1];
    return size < most ? std::min(most, size + static_cast<int64_t>(more)) : 0;
  }
  int64_t next = 0;
  for (const int64_t value : dim->values) {
    if (value > size && (next == 0 || value < next)) next = value;
  }
  return next;
}

}  // namespace

RelationResult relate_permutation(const RelationCheck& relation) {
  const SharedAxes axes = chosen_axes(relation);
  const int64_t size = size_along(relation.plan(), axes);
  if (size < 2) return not_checked();
  const bool exact = relation.exact(false);
  const DerivedRun base = GPUEMU_TRY(relation.base(exact));
  const std::vector<int64_t> from = shuffled(static_cast<size_t>(size), relation.stream());
  const NamedTensors inputs = take_all(base.inputs, axes.inputs, from);
  const NamedTensors got = GPUEMU_TRY(relation.checker().run(inputs));
  RelationCheck::Demand demand{fmt::format("the slices along '{}' in another order", axes.dim),
                               exact};
  demand.inputs = &inputs;
  return relation.agree(got, take_all(base.outputs, axes.outputs, from), demand);
}

RelationResult relate_independence(const RelationCheck& relation) {
  const SharedAxes axes = chosen_axes(relation);
  const int64_t size = size_along(relation.plan(), axes);
  if (size < 2 || axes.outputs.empty()) return not_checked();
  const bool causal = relation.spec().kind == InvariantKind::Causal, exact = relation.exact(true);
  const DerivedRun base = GPUEMU_TRY(relation.base(exact));
  Stream stream = relation.stream();
  const std::vector<bool> kept = kept_slices(static_cast<size_t>(size), causal, stream);
  const auto changed = std::ranges::count(kept, false);
  const bool with_nan = !causal && exact && stream.negative();
  const NamedTensors inputs = changed_slices(relation, base, axes, kept, with_nan);
  const NamedTensors got = GPUEMU_TRY(relation.checker().run(inputs));
  const std::string what = fmt::format("{} in {}{} of the inputs' {} slices along '{}'",
                                       with_nan ? "NaN" : "other values", causal ? "the last " : "",
                                       changed, size, axes.dim);
  RelationCheck::Demand demand{what, exact};
  NamedTensors expected;
  for (const auto& [name, list] : axes.outputs) {
    expected[name] = base.outputs.at(name);
    std::vector<bool>& free = demand.free[name];
    free.assign(static_cast<size_t>(expected[name].count()), false);
    for (const size_t axis : list) {
      const std::vector<int64_t> numbers = slice_numbers(expected[name].shape, axis);
      for (size_t i = 0; i < free.size(); ++i) {
        if (!kept[static_cast<size_t>(numbers[i])]) free[i] = true;
      }
    }
  }
  demand.inputs = &inputs;
  return relation.agree(got, expected, demand);
}

RelationResult relate_padding(const RelationCheck& relation) {
  const SharedAxes axes = chosen_axes(relation);
  const auto dim = relation.plan().dims.find(axes.dim);
  if (dim == relation.plan().dims.end() || axes.inputs.empty()) return not_checked();
  const int64_t size =
      larger_size(relation.op(), axes.dim, dim->second, 1 + relation.stream().below(3));
  if (size == 0) return not_checked();
  const bool exact = relation.exact(false);
  const DerivedRun base = GPUEMU_TRY(relation.base(exact));
  std::map<std::string, int64_t> dims = relation.plan().dims;
  dims[axes.dim] = size;
  const auto plan = with_dims(relation.op(), relation.plan(), dims);
  if (!plan) return not_checked();
  DerivedCase padded{
      .plan = *plan, .inputs = base.inputs, .in_place_input = {}, .in_place_output = {}};
  std::vector<int64_t> from(static_cast<size_t>(size), -1);
  std::iota(from.begin(), from.begin() + dim->second, int64_t{0});
  const std::string filled = relation.text("input");
  for (const auto& [name, list] : axes.inputs) {
    const bool is_filled = filled.empty() || filled == name;
    for (const size_t axis : list) {
      padded.inputs.at(name) = take_slices(padded.inputs.at(name), axis, from,
                                           is_filled ? relation.number("fill", 0) : 0);
    }
  }
  // A size may depend on the dim in another way, such as n / 2.
  for (const CaseTensor& input : plan->inputs) {
    if (padded.inputs.at(input.name).shape != input.shape) return not_checked();
  }
  NamedTensors got = GPUEMU_TRY(relation.checker().of().run(padded));
  from.resize(static_cast<size_t>(dim->second));
  got = take_all(got, axes.outputs, from);
  RelationCheck::Demand demand{fmt::format("'{}' padded from {} to {} with {}", axes.dim,
                                           dim->second, size, relation.number("fill", 0)),
                               exact};
  return relation.agree(got, base.outputs, demand);
}

RelationResult relate_additive(const RelationCheck& relation) {
  const SharedAxes axes = chosen_axes(relation);
  const int64_t size = size_along(relation.plan(), axes);
  if (size < 2 || !axes.outputs.empty()) return not_checked();
  const DerivedRun base = *GPUEMU_TRY(relation.checker().tame(0));
  const auto cut =
      static_cast<size_t>(1 + relation.stream().below(static_cast<uint64_t>(size - 1)));
  NamedTensors halves[2] = {base.inputs, base.inputs};
  for (const auto& [name, list] : axes.inputs) {
    const Tensor& whole = base.inputs.at(name);
    if (!is_float(whole.dtype)) continue;
    const Tensor zeros = make_tensor(whole.dtype, whole.shape);
    if (!is_in_range(relation.op(), relation.plan(), name, zeros)) return not_checked();
    std::vector<bool> kept(static_cast<size_t>(size), false);
    std::fill_n(kept.begin(), cut, true);
    halves[0].at(name) = mix_slices(whole, zeros, list.front(), kept);
    kept.flip();
    halves[1].at(name) = mix_slices(whole, zeros, list.front(), kept);
  }
  const NamedTensors low = GPUEMU_TRY(relation.checker().run(halves[0]));
  const NamedTensors high = GPUEMU_TRY(relation.checker().run(halves[1]));
  RelationCheck::Demand demand{
      fmt::format("the slices along '{}' before and from {} in two runs, whose sum is expected",
                  axes.dim, cut),
      relation.exact(false), 3};
  const NamedTensors expected = sum_of(low, high, demand);
  demand.inputs = &base.inputs;
  return relation.agree(base.outputs, expected, demand);
}

/// (A B)^T = B^T A^T, for either storage order of the operands: exchanges the dims that only one
/// operand has, and makes each operand from the other.
RelationResult relate_transpose_dual(const RelationCheck& relation) {
  const OpConfig& op = relation.op();
  if (op.inputs.size() != 2 || op.outputs.size() != 1) return not_checked();
  for (const TensorSpec* tensor : {&op.inputs[0], &op.inputs[1], &op.outputs[0]}) {
    if (tensor->shape.size() != 2) return not_checked();
  }
  const std::string m = op.outputs[0].shape[0].text(), n = op.outputs[0].shape[1].text();
  const auto place_of_dim = [](const TensorSpec& spec, const std::string& dim) -> size_t {
    return spec.shape[0].text() == dim ? 0 : spec.shape[1].text() == dim ? 1 : 2;
  };
  const size_t a = place_of_dim(op.inputs[0], m), b = place_of_dim(op.inputs[1], n);
  std::map<std::string, int64_t> dims = relation.plan().dims;
  if (a > 1 || b > 1 || m == n || !dims.contains(m) || !dims.contains(n)) return not_checked();
  std::swap(dims[m], dims[n]);
  const auto plan = with_dims(op, relation.plan(), dims);
  if (!plan || plan->inputs[0].dtype != plan->inputs[1].dtype) return not_checked();
  const DerivedRun base = *GPUEMU_TRY(relation.checker().tame(0));
  const auto turned = [](const Tensor& tensor) {
    Tensor flipped = make_tensor(tensor.dtype, {tensor.shape[1], tensor.shape[0]});
    scatter(tensor.dtype, tensor.shape, {{1, tensor.shape[0]}, 0, tensor.count()}, tensor.data,
            flipped.data);
    return flipped;
  };
  const Tensor &left = base.inputs.at(op.inputs[0].name),
               &right = base.inputs.at(op.inputs[1].name);
  DerivedCase dual{.plan = *plan, .inputs = {}, .in_place_input = {}, .in_place_output = {}};
  dual.inputs[op.inputs[0].name] = a == b ? right : turned(right);
  dual.inputs[op.inputs[1].name] = a == b ? left : turned(left);
  for (const CaseTensor& input : plan->inputs) {
    if (dual.inputs.at(input.name).shape != input.shape) return not_checked();
  }
  const NamedTensors got = GPUEMU_TRY(relation.checker().of().run(dual));
  const std::string& output = op.outputs[0].name;
  RelationCheck::Demand demand{"both operands transposed and exchanged", relation.exact(false)};
  return relation.agree({{output, turned(got.at(output))}}, base.outputs, demand);
}

}  // namespace gpuemu
