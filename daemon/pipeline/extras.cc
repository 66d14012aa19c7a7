#include "daemon/pipeline/extras.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/numeric/element.h"
#include "daemon/case/arena_view.h"
#include "daemon/case/case_work.h"
#include "daemon/pipeline/case_export.h"
#include "daemon/schedule/slot.h"
#include "judge/bounds/error_bound.h"
#include "judge/bounds/float_format.h"
#include "judge/relations/known_properties.h"
#include "judge/verdict/error_map.h"

namespace gpuemu {
namespace {

Status copy_outputs(CaseWork& work) {
  for (const PlanTensor& tensor : work.built.plan.tensors) {
    if (!is_written(tensor)) continue;
    const TensorView view =
        GPUEMU_TRY(arena_view(work.slot.arena, tensor.dtype, tensor.shape, tensor.output_offset));
    work.outputs[tensor.name] = {view.dtype, view.shape, {view.data.begin(), view.data.end()}};
  }
  return ok_status();
}

LineProfile line_profile(const LineCount& line) {
  const MemoryCount& memory = line.count.memory;
  LineProfile made{.file = line.file, .line = line.line};
  made.thread_instructions = line.count.threads;
  made.warp_instructions = line.count.warps;
  made.divergent_branches = line.count.divergent;
  made.global_requests = memory.global_requests;
  made.global_bytes = memory.global_bytes;
  made.global_sectors = memory.sectors;
  made.global_lines = memory.lines;
  made.shared_requests = memory.shared_requests;
  made.shared_wavefronts = memory.wavefronts;
  made.bank_conflicts = memory.bank_conflicts;
  return made;
}

Status collect_lines(CaseWork& work) {
  if (!work.execution.kernel) return ok_status();
  for (const LineCount& line : work.execution.kernel->lines) {
    work.report.extras.lines.push_back(line_profile(line));
  }
  return ok_status();
}

Status collect_coverage(CaseWork& work) {
  if (work.execution.kernel) work.report.extras.coverage = work.execution.kernel->reached;
  return ok_status();
}

bool has_errors(const ComparedOutput& compared) {
  const Comparison& comparison = compared.comparison;
  return comparison.has_reference && comparison.output.shape == comparison.reference.shape;
}

/// Returns the permitted error of the element that uses most of its bound; nothing for outputs
/// without one.
std::optional<double> bound_of_worst(const Comparison& comparison) {
  const TensorView &output = comparison.output, &reference = comparison.reference;
  if (output.shape != reference.shape || !is_float(output.dtype)) return std::nullopt;
  const ErrorBound bound(comparison);
  std::optional<double> found;
  double worst = 0;
  const auto count = static_cast<size_t>(element_count(output.shape));
  for (size_t i = 0; i < count; ++i) {
    const double computed = element(output, i), expected = element(reference, i);
    if (!std::isfinite(computed) || !std::isfinite(expected)) continue;
    const double allowed = bound.at(i, expected), error = std::fabs(computed - expected);
    if (!std::isfinite(allowed) || !(error > worst * allowed)) continue;
    found = allowed;
    worst = allowed > 0 ? error / allowed : std::numeric_limits<double>::infinity();
  }
  return found;
}

Status collect_error_map(CaseWork& work) {
  std::optional<ErrorMap>& map = work.report.extras.error_map;
  double largest = 0;
  for (const ComparedOutput& compared : work.values.outputs) {
    if (!compared.comparison.has_reference) continue;
    // Written so that NaN counts as the largest difference.
    const bool larger = !(compared.max_diff <= largest);
    if (!map || larger) {
      map = map_errors(compared.comparison);
      map->bound = bound_of_worst(compared.comparison);
    }
    if (larger) largest = compared.max_diff;
  }
  return ok_status();
}

/// Returns whether the output passes only if it equals the reference.
bool is_exact(const ComparedOutput& compared) {
  const Tolerance& tolerance = compared.comparison.policy.tolerance;
  const bool whole = !is_float(compared.comparison.output.dtype) &&
                     (tolerance.automatic || (tolerance.atol < 1 && tolerance.rtol == 0));
  return compared.exact || whole;
}

Status collect_evidence(CaseWork& work) {
  std::optional<CaseEvidence>& evidence = work.report.extras.evidence;
  bool exact = true;
  for (const ComparedOutput& compared : work.values.outputs) {
    if (!compared.comparison.has_reference) continue;
    exact = exact && is_exact(compared);
    if (!has_errors(compared) || !compared.passed) continue;
    const TrivialOutputs trivial_outputs = find_trivial_outputs(compared.comparison);
    if (evidence) {
      evidence->trivial_outputs.join(trivial_outputs);
    } else {
      evidence.emplace(trivial_outputs);
    }
  }
  if (evidence) evidence->exact = exact;
  return ok_status();
}

Status collect_error_range(CaseWork& work) {
  for (const ComparedOutput& compared : work.values.outputs) {
    if (has_errors(compared) && is_float(compared.comparison.output.dtype)) {
      add_errors(compared.comparison, work.report.extras.error_range);
    }
  }
  return ok_status();
}

/// Adds one output as it would be without rounding.
Status add_shadows(CaseWork& work, const Comparison& comparison, CaseShadows& shadows) {
  const TensorView &output = comparison.output, &reference = comparison.reference;
  Tensor& exact = shadows.exact_outputs[comparison.output_name];
  exact = {output.dtype, output.shape, {output.data.begin(), output.data.end()}};
  if (!is_float(output.dtype)) return ok_status();
  const ExecutionPlan& plan = work.built.plan;
  const auto planned = std::ranges::find(plan.tensors, comparison.output_name, &PlanTensor::name);
  const auto index = static_cast<size_t>(planned - plan.tensors.begin());
  const auto count = static_cast<uint64_t>(element_count(output.shape));
  const auto bytes =
      GPUEMU_TRY(work.slot.arena.range(plan.shadow.offsets[index], count * sizeof(ElementShadow)));
  const std::span elements(reinterpret_cast<const ElementShadow*>(bytes.data()), count);
  if (comparison.has_reference && output.shape == reference.shape) {
    shadows.outputs.push_back(compare_shadow(comparison, elements, work.request.settings.shadow));
  }
  for (ExactProperty& property : judge_exactly(comparison, elements)) {
    shadows.properties.push_back(std::move(property));
  }
  narrow_from_double(output.dtype, exact_values(output, elements), exact.data);
  return ok_status();
}

Status collect_shadows(CaseWork& work) {
  CaseShadows& shadows = work.report.extras.shadows.emplace();
  if (work.execution.kernel) shadows.execution = work.execution.kernel->shadow;
  for (const ComparedOutput& compared : work.values.outputs) {
    GPUEMU_TRY(add_shadows(work, compared.comparison, shadows));
  }
  return ok_status();
}

Status collect_export(CaseWork& work) {
  ExportedCaseReply exported = describe_case(work.request, work.built);
  exported.ptx =
      GPUEMU_TRY(with_variables(std::move(exported.ptx), work.built.plan, work.slot.arena));
  for (const ComparedOutput& compared : work.values.outputs) {
    if (!has_errors(compared)) continue;
    // Programs that run without gpuemu get the bound of gpuemu.toml.
    Comparison comparison = compared.comparison;
    comparison.reference = compared.reference;
    comparison.policy.tolerance = compared.tolerance;
    add_expectation(comparison, exported);
  }
  work.report.extras.exported = std::move(exported);
  return ok_status();
}

Status collect_code(CaseWork& work) {
  work.report.extras.code = launched_code(work.request, work.built);
  return ok_status();
}

struct Row {
  Extra extra;
  Status (*collect)(CaseWork&);
};
/// Reproduction has no row, because the stage Record makes it.
constexpr Row kRows[] = {
    {Extra::Tensors, copy_outputs},           {Extra::LineProfile, collect_lines},
    {Extra::ErrorMap, collect_error_map},     {Extra::Evidence, collect_evidence},
    {Extra::ErrorRange, collect_error_range}, {Extra::Coverage, collect_coverage},
    {Extra::CoverageLines, collect_coverage}, {Extra::Shadows, collect_shadows},
    {Extra::Export, collect_export},          {Extra::Code, collect_code},
};

}  // namespace

Result<Next> collect_extras(CaseWork& work) {
  for (const Row& row : kRows) {
    if (work.wants(row.extra)) GPUEMU_TRY(row.collect(work));
  }
  // Relations compare further runs with these outputs, and those runs overwrite their memory.
  const bool relates = !relations_of(work.request.op, work.request.kernel).empty();
  if (relates && work.outputs.empty()) GPUEMU_TRY(copy_outputs(work));
  return Next::Continue;
}

}  // namespace gpuemu
