#include "daemon/pipeline/compare_flushed.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "daemon/pipeline/case_work.h"
#include "daemon/pipeline/compare_outputs.h"
#include "daemon/pipeline/execute_case.h"
#include "daemon/pipeline/review_findings.h"
#include "judge/bounds/flushed.h"
#include "judge/verdict/masked.h"

namespace gpuemu {
namespace {

constexpr std::array kStrategies = {Strategy::Tiny, Strategy::Subnormal, Strategy::Special,
                                    Strategy::MixedAdversarial, Strategy::Thresholds};

struct KeptInput {
  uint64_t offset = 0;
  Tensor values;
};

bool is_read(const PlanTensor& tensor) {
  return tensor.role == PlanTensor::Role::Input || tensor.role == PlanTensor::Role::InOut;
}

/// The case's inputs, where they lie in the arena.
Result<std::map<std::string, TensorView>> inputs_of(const BuiltPlan& built, Arena& arena) {
  std::map<std::string, TensorView> inputs;
  for (const PlanTensor& tensor : built.plan.tensors) {
    if (!is_read(tensor)) continue;
    inputs[tensor.name] =
        GPUEMU_TRY(arena_view(arena, tensor.dtype, tensor.shape, tensor.arena_offset));
  }
  return inputs;
}

/// The inputs that have subnormal numbers, with zero instead.
NamedTensors flushed_inputs(const std::map<std::string, TensorView>& inputs) {
  NamedTensors changed;
  for (const auto& [name, view] : inputs) {
    if (!is_float(view.dtype)) continue;
    if (auto made = flushed(view)) changed[name] = *std::move(made);
  }
  return changed;
}

/// Writes other values into the arena; returns what was there before.
Result<std::vector<KeptInput>> replace_inputs(const BuiltPlan& built, Arena& arena,
                                              const NamedTensors& changed) {
  std::vector<KeptInput> kept;
  for (const PlanTensor& tensor : built.plan.tensors) {
    const auto made = changed.find(tensor.name);
    if (!is_read(tensor) || made == changed.end()) continue;
    const auto to = GPUEMU_TRY(arena.range(tensor.arena_offset, made->second.data.size()));
    kept.push_back({tensor.arena_offset, {tensor.dtype, tensor.shape, {to.begin(), to.end()}}});
    std::ranges::copy(made->second.data, to.begin());
  }
  return kept;
}

Status restore(const std::vector<KeptInput>& kept, Arena& arena) {
  for (const KeptInput& input : kept) {
    const auto to = GPUEMU_TRY(arena.range(input.offset, input.values.data.size()));
    std::ranges::copy(input.values.data, to.begin());
  }
  return ok_status();
}

Result<NamedTensors> outputs_of(const ReferenceReply& reply, Arena& arena) {
  NamedTensors outputs;
  for (const ReferenceTensor& tensor : reply.outputs) {
    const TensorView view =
        GPUEMU_TRY(arena_view(arena, tensor.dtype, tensor.shape, tensor.arena_offset));
    outputs[tensor.name] = {view.dtype, view.shape, {view.data.begin(), view.data.end()}};
  }
  return outputs;
}

/// What the reference says of the case with other inputs; empty where it fails. The arena's inputs
/// are as before afterwards, the reference's first answer is not.
Result<NamedTensors> reference_of(CaseWork& work, const NamedTensors& changed) {
  Arena& arena = work.slot.arena;
  const std::vector<KeptInput> kept = GPUEMU_TRY(replace_inputs(work.built, arena, changed));
  const auto reply = ask_reference(work);
  NamedTensors outputs;
  if (reply) outputs = GPUEMU_TRY(outputs_of(*reply, arena));
  GPUEMU_TRY(restore(kept, arena));
  return outputs;
}

size_t findings_of_class(const ComparedValues& values) {
  return static_cast<size_t>(
      std::ranges::count_if(values.failures, [](const ValidationFailure& failure) {
        return failure.kind == FindingKind::NaNDetected || failure.kind == FindingKind::InfDetected;
      }));
}

/// An error is less than NaN or infinity in the place of a number: rounding may explain it.
bool is_better(const ComparedValues& a, const ComparedValues& b) {
  const size_t of_a = findings_of_class(a), of_b = findings_of_class(b);
  if (of_a != of_b) return of_a < of_b;
  return a.failures.size() < b.failures.size() ||
         a.exceeding.elements.size() < b.exceeding.elements.size();
}

/// Compares with what `known` says of other inputs; the better of both comparisons stays.
Status compare_again(CaseWork& work, const CaseRequest& known) {
  // The first answer was overwritten, and its memory may lie elsewhere now.
  auto reply = ask_reference(work);
  if (!reply) {
    // A reference that fails now says nothing about the kernel.
    work.values.outputs.clear();
    return ok_status();
  }
  reply->accepted = work.execution.reply()->accepted;
  Arena& arena = work.slot.arena;
  ComparedValues values = GPUEMU_TRY(compare_values(known, work.built, arena, &*reply));
  if (is_better(values, work.values)) {
    work.values = std::move(values);
    return ok_status();
  }
  values = GPUEMU_TRY(compare_values(work.request, work.built, arena, &*reply));
  work.values.outputs = std::move(values.outputs);
  return ok_status();
}

/// The elements of each output that numbers in the place of NaN and infinity may tell of.
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

/// What the reference says of each draw of one set, of which the first is `first`. Empty where it
/// fails, and as soon as two answers disagree about every candidate: the set tells nothing then.
Result<std::vector<NamedTensors>> answers_of_set(CaseWork& work, const Candidates& candidates,
                                                 size_t first) {
  const CasePlan& plan = work.request.plan;
  std::vector<NamedTensors> answers;
  for (size_t number = first; number < first + kMaskedDraws; ++number) {
    const NamedTensors changed =
        finite_inputs(GPUEMU_TRY(inputs_of(work.built, work.slot.arena)),
                      declared_ranges(work.request.op), {plan.base_seed, plan.iteration}, number);
    answers.push_back(GPUEMU_TRY(reference_of(work, changed)));
    if (!may_tell(answers, candidates)) return std::vector<NamedTensors>{};
  }
  return answers;
}

}  // namespace

bool may_have_flushed(const CaseRequest& request) {
  return may_note_flushing(request) && !request.op.reference.empty() &&
         std::ranges::find(kStrategies, request.plan.value_strategy) != kStrategies.end();
}

bool may_have_masked(const CaseRequest& request, const std::vector<ValidationFailure>& failures) {
  return request.op.has_nan_policy && !is_strict(request) &&
         std::ranges::any_of(failures, [&](const ValidationFailure& failure) {
           const bool is_of_class =
               failure.kind == FindingKind::NaNDetected || failure.kind == FindingKind::InfDetected;
           return is_of_class && !request.op.is_nan_policy_given(failure.output);
         });
}

Status compare_with_masked(CaseWork& work) {
  // Asked for before the first answer of the reference is overwritten.
  Candidates candidates = candidates_of(work.values);
  if (candidates.empty()) return ok_status();
  std::vector<NamedTensors> answers;
  const size_t draws = masked_draws(GPUEMU_TRY(inputs_of(work.built, work.slot.arena)));
  if (draws == 0) return ok_status();
  for (size_t first = 0; first < draws && !candidates.empty(); first += kMaskedDraws) {
    std::vector<NamedTensors> of_set = GPUEMU_TRY(answers_of_set(work, candidates, first));
    if (of_set.empty()) continue;
    for (auto& [output, elements] : candidates) {
      const std::vector<TensorView> views = views_of(of_set, output);
      if (may_be_masked(views, elements)) drop_told(views, elements);
    }
    std::erase_if(candidates, [](const auto& candidate) { return candidate.second.empty(); });
    std::ranges::move(of_set, std::back_inserter(answers));
  }
  CaseRequest known = work.request;
  for (const NamedTensors& answer : answers) {
    for (const auto& [name, tensor] : answer) {
      known.of_finite_inputs[name].push_back(view_of(tensor));
    }
  }
  return compare_again(work, known);
}

Status compare_with_flushed(CaseWork& work) {
  const NamedTensors changed = flushed_inputs(GPUEMU_TRY(inputs_of(work.built, work.slot.arena)));
  if (changed.empty()) return ok_status();
  const NamedTensors outputs = GPUEMU_TRY(reference_of(work, changed));
  CaseRequest known = work.request;
  for (const auto& [name, tensor] : outputs) known.of_flushed_inputs[name] = view_of(tensor);
  return compare_again(work, known);
}

}  // namespace gpuemu
