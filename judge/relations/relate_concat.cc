// Runs the op on parts of its inputs, and compares the concatenated outputs with the whole.
#include <algorithm>
#include <numeric>

#include "judge/relations/relation_check.h"

namespace gpuemu {
namespace {

/// Returns a position at which the dim can be cut so that both parts are legal sizes; 0 if there is
/// none.
int64_t cut_of(const DimSpec& dim, int64_t size, Stream stream) {
  std::vector<int64_t> cuts;
  if (!dim.is_set) {
    const int64_t least = std::max<int64_t>(dim.values[0], 1), room = size - 2 * least;
    return room < 0 ? 0 : least + stream.integer(0, room);
  }
  for (const int64_t part : dim.values) {
    const bool fits = part > 0 && part < size;
    if (fits && std::ranges::count(dim.values, size - part) > 0) cuts.push_back(part);
  }
  return cuts.empty() ? 0 : cuts[stream.below(cuts.size())];
}

bool once_each(const std::map<std::string, std::vector<size_t>>& axes) {
  return std::ranges::all_of(axes, [](const auto& one) { return one.second.size() == 1; });
}

/// Returns slices [first, first + count) of every input that has the dim.
NamedTensors part_of(const NamedTensors& inputs, const SharedAxes& axes, int64_t first,
                     int64_t count) {
  NamedTensors part = inputs;
  std::vector<int64_t> from(static_cast<size_t>(count));
  std::iota(from.begin(), from.end(), first);
  for (const auto& [name, list] : axes.inputs) {
    part.at(name) = take_slices(part.at(name), list.front(), from);
  }
  return part;
}

/// Returns nothing if a size depends on the dim in another way, such as n / 2.
Result<std::optional<NamedTensors>> run_part(const RelationCheck& relation, const SharedAxes& axes,
                                             const NamedTensors& inputs, int64_t size) {
  std::map<std::string, int64_t> dims = relation.plan().dims;
  dims[axes.dim] = size;
  const auto plan = with_dims(relation.op(), relation.plan(), dims);
  if (!plan) return std::optional<NamedTensors>();
  for (const CaseTensor& input : plan->inputs) {
    if (inputs.at(input.name).shape != input.shape) return std::optional<NamedTensors>();
  }
  const DerivedCase derived{
      .plan = *plan, .inputs = inputs, .in_place_input = {}, .in_place_output = {}};
  return std::optional(GPUEMU_TRY(relation.checker().of().run(derived)));
}

/// Concatenates the slices of `low` and `high`.
Tensor joined(const Tensor& low, const Tensor& high, size_t axis) {
  const int64_t first = low.shape[axis], size = first + high.shape[axis];
  std::vector<int64_t> from_low(static_cast<size_t>(size), -1), from_high = from_low;
  std::iota(from_low.begin(), from_low.begin() + first, int64_t{0});
  std::iota(from_high.begin() + first, from_high.end(), int64_t{0});
  std::vector<bool> is_low(static_cast<size_t>(size), false);
  std::fill_n(is_low.begin(), first, true);
  return mix_slices(take_slices(low, axis, from_low), take_slices(high, axis, from_high), axis,
                    is_low);
}

}  // namespace

RelationResult relate_concat(const RelationCheck& relation) {
  const OpConfig& op = relation.op();
  const SharedAxes axes = axes_of(op, relation.spec(), op.outputs.front(), 0);
  const auto dim = std::ranges::find(op.dims, axes.dim, &DimSpec::name);
  const auto size = relation.plan().dims.find(axes.dim);
  if (dim == op.dims.end() || size == relation.plan().dims.end()) return not_checked();
  if (axes.outputs.empty() || !once_each(axes.inputs) || !once_each(axes.outputs)) {
    return not_checked();
  }
  const int64_t cut = cut_of(*dim, size->second, relation.stream());
  if (cut == 0) return not_checked();
  const bool exact = relation.exact(false);
  const DerivedRun base = GPUEMU_TRY(relation.base(exact));
  const int64_t rest = size->second - cut;
  const auto low = GPUEMU_TRY(run_part(relation, axes, part_of(base.inputs, axes, 0, cut), cut));
  if (!low) return not_checked();
  const auto high =
      GPUEMU_TRY(run_part(relation, axes, part_of(base.inputs, axes, cut, rest), rest));
  if (!high) return not_checked();
  NamedTensors expected;
  for (const auto& [name, list] : axes.outputs) {
    const Tensor &one = low->at(name), &other = high->at(name);
    // A size such as n / 2 need not be the sum of its parts.
    if (one.shape[list.front()] + other.shape[list.front()] !=
        base.outputs.at(name).shape[list.front()]) {
      return not_checked();
    }
    expected[name] = joined(one, other, list.front());
  }
  RelationCheck::Demand demand{
      fmt::format("the first {} and the last {} slices along '{}' in two runs, whose outputs one "
                  "after the other are expected",
                  cut, rest, axes.dim),
      exact};
  demand.inputs = &base.inputs;
  return relation.agree(base.outputs, expected, demand);
}

}  // namespace gpuemu
