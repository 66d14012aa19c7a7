// Tests tensors of more than 2^31 elements: repeats the case's slices along a dim until 32-bit
// indices overflow. Only a few blocks run; what they write must equal the case's output.
//
// Uses two sizes: just above 2^31 elements a signed index becomes negative; just above 2^32 an
// unsigned one wraps to 0, so that the last blocks write where the first ones do.
#include <algorithm>

#include "judge/relations/relation_check.h"

namespace gpuemu {
namespace {

constexpr uint64_t kBeyond[] = {uint64_t{1} << 31, uint64_t{1} << 32};
/// Smaller cases would need more blocks than a grid can have; larger ones take too long.
constexpr int64_t kElementsMin = 8, kElementsMax = 65'536;
/// Time for tens of thousands of threads. A stopped block may leave a value that it was about to
/// change, so a wrong value only counts if it persists with the longer time.
constexpr uint64_t kLaunchMs = 20, kLongLaunchMs = 400;
/// A check takes a tenth of a second, so it is made for one in this many cases.
constexpr uint64_t kEvery = 4;

bool leads(const std::vector<size_t>& axes) { return axes.size() == 1 && axes.front() == 0; }

/// Requires that the dim is always the first axis and that every output has it: then consecutive
/// copies in memory are a longer dim.
bool can_grow(const OpConfig& op, const SharedAxes& axes) {
  const auto good = [](const auto& one) { return leads(one.second); };
  return !axes.inputs.empty() && axes.outputs.size() == op.outputs.size() &&
         std::ranges::all_of(axes.inputs, good) && std::ranges::all_of(axes.outputs, good);
}

void grow(std::vector<CaseTensor>& tensors, const std::map<std::string, std::vector<size_t>>& axes,
          int64_t repeats) {
  for (CaseTensor& tensor : tensors) {
    if (!axes.contains(tensor.name)) continue;
    tensor.shape[0] *= repeats;
    tensor.layout = contiguous_layout(tensor.shape);
  }
}

CasePlan grown(const CasePlan& plan, const SharedAxes& axes, int64_t repeats) {
  CasePlan huge = plan;
  huge.dims.at(axes.dim) *= repeats;
  grow(huge.inputs, axes.inputs, repeats);
  grow(huge.outputs, axes.outputs, repeats);
  return huge;
}

bool same_shapes(const std::vector<CaseTensor>& a, const std::vector<CaseTensor>& b) {
  return std::ranges::equal(a, b, {}, &CaseTensor::shape, &CaseTensor::shape);
}

/// Returns whether no size depends on the dim in another way, such as rows + 1.
bool grows_alone(const RelationCheck& relation, const SharedAxes& axes) {
  const CasePlan twice = grown(relation.plan(), axes, 2);
  const auto made = with_dims(relation.op(), relation.plan(), twice.dims);
  return made && same_shapes(made->inputs, twice.inputs) &&
         same_shapes(made->outputs, twice.outputs);
}

bool is_plain(const CaseTensor& tensor) {
  return !tensor.inout && tensor.initial.empty() && tensor.base_offset_bytes == 0 &&
         tensor.layout == contiguous_layout(tensor.shape);
}

/// Returns the elements of the largest tensor that has the dim; 0 if some tensor is not packed.
int64_t most_elements(const CasePlan& plan, const SharedAxes& axes) {
  int64_t most = 0;
  for (const auto* tensors : {&plan.inputs, &plan.outputs}) {
    for (const CaseTensor& tensor : *tensors) {
      if (!is_plain(tensor)) return 0;
      if (axes.inputs.contains(tensor.name) || axes.outputs.contains(tensor.name)) {
        most = std::max(most, element_count(tensor.shape));
      }
    }
  }
  return most;
}

/// Checks the elements in the windows.
RelationVerdict agree_where_written(const RelationCheck& relation,
                                    const std::map<std::string, WideIndexWindow>& windows,
                                    const NamedTensors& expected, RelationCheck::Demand demand) {
  NamedTensors got;
  for (const auto& [name, window] : windows) {
    got.emplace(name, window.values);
    demand.free[name] = window.written;
    demand.free[name].flip();
  }
  return relation.agree(got, expected, demand);
}

/// Finds an element that both the first and the last blocks write. At ordinary sizes no two blocks
/// write the same element: that would have been reported as a race.
std::optional<ValidationFailure> written_by_both(const RelationCheck& relation,
                                                 const WideIndexRun& run,
                                                 const std::string& change) {
  for (const auto& [name, window] : run.in_order.first) {
    const WideIndexWindow& other = run.reverse.first.at(name);
    for (size_t i = 0; i < window.written.size(); ++i) {
      if (!window.written[i] || !other.written[i]) continue;
      ValidationFailure failure{.kind = FindingKind::RelationViolation, .message = {}};
      failure.output = name;
      failure.message = fmt::format(
          "relation {}: with {}, the last blocks of the grid write element {} of '{}', which the "
          "first ones write too: an index is computed in 32 bits; use 64, as in (long long)row * "
          "cols",
          describe_relation(relation.spec()), change, i, name);
      return failure;
    }
  }
  return std::nullopt;
}

bool shows_end(const WideIndexRun& run) {
  const auto any = [](const auto& one) {
    return std::ranges::find(one.second.written, true) != one.second.written.end();
  };
  return std::ranges::any_of(run.in_order.last, any) || std::ranges::any_of(run.reverse.last, any);
}

/// Runs on `repeats` copies and checks the result.
RelationResult check_run(const RelationCheck& relation, const DerivedRun& base,
                         const SharedAxes& axes, const WideIndexRun& wanted) {
  WideIndexRun run = wanted;
  const auto repeats = static_cast<int64_t>(run.repeats);
  DerivedCase derived{.plan = grown(relation.plan(), axes, repeats),
                      .inputs = base.inputs,
                      .in_place_input = {},
                      .in_place_output = {}};
  derived.wide_index = &run;
  GPUEMU_TRY(relation.checker().of().run(derived));
  RelationCheck::Demand demand{
      fmt::format("'{}' made {} so that a tensor has {} elements", axes.dim,
                  derived.plan.dims.at(axes.dim), most_elements(relation.plan(), axes) * repeats),
      relation.exact(false)};
  demand.inputs = &base.inputs;
  for (const WideIndexRun::Windows* windows : {&run.in_order, &run.reverse}) {
    for (const auto* place : {&windows->first, &windows->last}) {
      RelationVerdict verdict = agree_where_written(relation, *place, base.outputs, demand);
      if (!verdict.finding) continue;
      if (run.launch_ms == kLongLaunchMs) return verdict;
      run.launch_ms = kLongLaunchMs;
      return check_run(relation, base, axes, run);
    }
  }
  RelationVerdict verdict{.checked = shows_end(run), .finding = {}};
  if (run.blocks_apart) verdict.finding = written_by_both(relation, run, demand.change);
  verdict.checked = verdict.checked || verdict.finding;
  return verdict;
}

}  // namespace

RelationResult relate_index_width(const RelationCheck& relation) {
  const CasePlan& plan = relation.plan();
  const SharedAxes axes = axes_of(relation.op(), relation.spec(), relation.op().outputs.front(), 0);
  if (plan.iteration % kEvery != 0 || !plan.dims.contains(axes.dim) ||
      !can_grow(relation.op(), axes)) {
    return not_checked();
  }
  const int64_t elements = most_elements(plan, axes);
  if (elements < kElementsMin || elements > kElementsMax || !grows_alone(relation, axes)) {
    return not_checked();
  }
  const DerivedRun base = GPUEMU_TRY(relation.base(relation.exact(false)));
  RelationVerdict all = not_checked();
  for (const uint64_t beyond : kBeyond) {
    const uint64_t repeats = beyond / static_cast<uint64_t>(elements) + 2;
    const auto verdict =
        check_run(relation, base, axes, {.repeats = repeats, .launch_ms = kLaunchMs});
    // If a 32-bit argument or the grid cannot be that large, it is a limit and not a fault.
    if (!verdict && verdict.error().code == ErrorCode::Unsupported) continue;
    if (!verdict || verdict->finding) return verdict;
    all.checked = all.checked || verdict->checked;
  }
  return all;
}

}  // namespace gpuemu
