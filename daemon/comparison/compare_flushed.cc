#include "daemon/comparison/compare_flushed.h"

#include <algorithm>
#include <iterator>

#include "common/base/arena.h"
#include "daemon/case/arena_view.h"
#include "daemon/case/case_policy.h"
#include "daemon/case/case_request.h"
#include "daemon/case/case_work.h"
#include "daemon/case/compared_values.h"
#include "daemon/comparison/compare_outputs.h"
#include "daemon/execution/reference_again.h"
#include "daemon/plans/execution_plan.h"
#include "judge/bounds/flushed.h"
#include "judge/cases/case.h"
#include "judge/verdict/masked.h"

namespace gpuemu {
namespace {

/// Returns the case's inputs as views of the arena.
Result<std::map<std::string, TensorView>> inputs_of(const BuiltPlan& built, Arena& arena) {
  std::map<std::string, TensorView> inputs;
  for (const PlanTensor& tensor : built.plan.tensors) {
    if (!is_read(tensor)) continue;
    inputs[tensor.name] =
        GPUEMU_TRY(arena_view(arena, tensor.dtype, tensor.shape, tensor.arena_offset));
  }
  return inputs;
}

/// Returns copies of the inputs that contain subnormal numbers, with zero in their place.
NamedTensors flushed_inputs(const std::map<std::string, TensorView>& inputs) {
  NamedTensors changed;
  for (const auto& [name, view] : inputs) {
    if (!is_float(view.dtype)) continue;
    if (auto made = flushed(view)) changed[name] = *std::move(made);
  }
  return changed;
}

bool is_of_class(const ValidationFailure& failure) {
  return failure.kind == FindingKind::NaNDetected || failure.kind == FindingKind::InfDetected;
}

size_t findings_of_class(const ComparedValues& values) {
  return static_cast<size_t>(std::ranges::count_if(values.failures, is_of_class));
}

/// Returns whether `a` is the better result. An error counts less than NaN or infinity in the place
/// of a number, because rounding may explain it.
bool is_better(const ComparedValues& a, const ComparedValues& b) {
  const size_t of_a = findings_of_class(a), of_b = findings_of_class(b);
  if (of_a != of_b) return of_a < of_b;
  if (a.in_other_class != b.in_other_class) return a.in_other_class < b.in_other_class;
  return a.failures.size() < b.failures.size() ||
         a.exceeding.elements.size() < b.exceeding.elements.size();
}

/// Compares with what `known` says about other inputs, and keeps the better of both comparisons.
Status compare_again(ComparedCase& compared, const CaseRequest& known) {
  // The first answer has been overwritten, and its memory may have moved.
  const auto reply = compared.reference.first();
  if (!reply) {
    // If the reference fails now, that says nothing about the kernel.
    compared.values.outputs.clear();
    return ok_status();
  }
  ComparedValues values =
      GPUEMU_TRY(compare_values(known, compared.built, compared.arena, &*reply));
  if (is_better(values, compared.values)) {
    compared.values = std::move(values);
    return ok_status();
  }
  values = GPUEMU_TRY(compare_values(compared.request, compared.built, compared.arena, &*reply));
  compared.values.outputs = std::move(values.outputs);
  return ok_status();
}

/// The elements of each output that could be judged with numbers in place of NaN and infinity.
using Candidates = std::map<std::string, std::vector<size_t>>;

Candidates candidates_of(const ComparedValues& values) {
  Candidates candidates;
  for (const ComparedOutput& output : values.outputs) {
    const Comparison& comparison = output.comparison;
    if (!comparison.has_reference) continue;
    std::vector<size_t> found = masked_candidates(comparison);
    if (!found.empty()) candidates[comparison.output_name] = std::move(found);
  }
  return candidates;
}

std::vector<TensorView> views_of(const std::vector<NamedTensors>& answers,
                                 const std::string& output) {
  std::vector<TensorView> views;
  for (const NamedTensors& answer : answers) {
    const auto found = answer.find(output);
    if (found == answer.end()) return {};
    views.push_back(view_of(found->second));
  }
  return views;
}

bool may_tell(const std::vector<NamedTensors>& answers, const Candidates& candidates) {
  return std::ranges::any_of(candidates, [&](const auto& candidate) {
    return may_be_masked(views_of(answers, candidate.first), candidate.second);
  });
}

/// Returns the reference's answer to each draw of one set, which starts at `first`. Empty if the
/// reference fails, and as soon as two answers disagree about every candidate: such a set shows
/// nothing, unless it is one of limits, whose values may grow.
Result<std::vector<NamedTensors>> answers_of_set(ComparedCase& compared,
                                                 const Candidates& candidates, size_t first,
                                                 bool is_of_limits) {
  const CasePlan& plan = compared.request.plan;
  std::vector<NamedTensors> answers;
  for (size_t number = first; number < first + kMaskedDraws; ++number) {
    const NamedTensors changed = finite_inputs(
        GPUEMU_TRY(inputs_of(compared.built, compared.arena)), declared_ranges(compared.request.op),
        {plan.base_seed, plan.iteration}, number);
    answers.push_back(GPUEMU_TRY(compared.reference.of(changed)));
    if (answers.back().empty() || (!is_of_limits && !may_tell(answers, candidates))) {
      return std::vector<NamedTensors>{};
    }
  }
  return answers;
}

/// Returns whether NaN or infinity in masked inputs may explain the failures: the op skips such
/// inputs, and the reference multiplies them by zero.
/// the reference multiplies them by zero.
bool may_have_masked(const ComparedCase& compared) {
  return !is_strict(compared.request) &&
         std::ranges::any_of(compared.values.failures, [&](const ValidationFailure& failure) {
           return is_of_class(failure) && has_policy_by_default(compared.request, failure.output);
         });
}

void add_views(const std::vector<NamedTensors>& answers,
               std::map<std::string, std::vector<TensorView>>& views) {
  for (const NamedTensors& answer : answers) {
    for (const auto& [name, tensor] : answer) views[name].push_back(view_of(tensor));
  }
}

/// Returns the reference's answer to numbers in place of infinities; empty if it fails or no input
/// is infinite.
/// is infinite.
Result<NamedTensors> answer_without_infinity(ComparedCase& compared) {
  const CasePlan& plan = compared.request.plan;
  const NamedTensors numbers =
      numbers_for_infinity(GPUEMU_TRY(inputs_of(compared.built, compared.arena)),
                           declared_ranges(compared.request.op), {plan.base_seed, plan.iteration});
  if (numbers.empty()) return NamedTensors{};
  return compared.reference.of(numbers);
}

Status compare_with_masked(ComparedCase& compared) {
  // Collected before the first answer of the reference is overwritten.
  Candidates candidates = candidates_of(compared.values);
  if (candidates.empty()) return ok_status();
  std::vector<NamedTensors> answers, limits;
  const auto inputs = GPUEMU_TRY(inputs_of(compared.built, compared.arena));
  const size_t draws = masked_draws(inputs), of_limits = limit_draws(inputs);
  if (draws == 0) return ok_status();
  for (size_t first = 0; first < draws && !candidates.empty(); first += kMaskedDraws) {
    std::vector<NamedTensors> of_set =
        GPUEMU_TRY(answers_of_set(compared, candidates, first, first < of_limits));
    if (of_set.empty()) continue;
    const bool is_limit = first < of_limits;
    if (is_limit) limits = of_set;
    // Large numbers in place of infinities can absorb small ones, so smaller numbers must confirm
    // the values on which the large ones agree.
    for (auto& [output, elements] : candidates) {
      const std::vector<TensorView> views = views_of(of_set, output);
      if (!is_limit && may_be_masked(views, elements)) drop_decided(views, elements);
    }
    std::erase_if(candidates, [](const auto& candidate) { return candidate.second.empty(); });
    std::ranges::move(of_set, std::back_inserter(answers));
  }
  const NamedTensors without = GPUEMU_TRY(answer_without_infinity(compared));
  CaseRequest known = compared.request;
  for (const auto& [name, tensor] : without) {
    if (has_policy_by_default(known, name)) {
      known.of_numbers_for_infinity[name] = view_of(tensor);
    }
  }
  add_views(answers, known.of_finite_inputs);
  add_views(limits, known.of_limits);
  return compare_again(compared, known);
}

Status compare_with_flushed(ComparedCase& compared) {
  const NamedTensors changed =
      flushed_inputs(GPUEMU_TRY(inputs_of(compared.built, compared.arena)));
  if (changed.empty()) return ok_status();
  const NamedTensors outputs = GPUEMU_TRY(compared.reference.of(changed));
  CaseRequest known = compared.request;
  for (const auto& [name, tensor] : outputs) known.of_flushed_inputs[name] = view_of(tensor);
  return compare_again(compared, known);
}

}  // namespace

Status compare_with_other_inputs(ComparedCase& compared) {
  if (may_have_masked(compared)) GPUEMU_TRY(compare_with_masked(compared));
  if (!compared.values.failures.empty() && may_note_flushing(compared.request)) {
    GPUEMU_TRY(compare_with_flushed(compared));
  }
  return ok_status();
}

}  // namespace gpuemu
