#include "daemon/comparison/fused_products.h"

#include <algorithm>
#include <cmath>

#include "common/config/config.h"
#include "common/numeric/element.h"
#include "daemon/case/case_work.h"
#include "daemon/execution/exact_runs.h"
#include "judge/bounds/float_format.h"
#include "runtime/device/contraction.h"

namespace gpuemu {
namespace {

/// If a product is not rounded, later sums round differently, by about as much.
constexpr double kTimesMove = 2, kUlps = 2;

double value_of(const NamedTensors& tensors, const ExceedingElement& at) {
  const auto found = tensors.find(at.output);
  return found == tensors.end() ? at.computed : element(view_of(found->second), at.index);
}

struct Differing {
  uint64_t from_computed = 0, from_reference = 0;
};

/// Counts the elements in which `unfused` differs from the case's result, and from the expected
/// values.
Differing differing_of(const ComparedOutput& compared, const Tensor& unfused) {
  const Comparison& comparison = compared.comparison;
  const TensorView view = view_of(unfused);
  Differing made;
  for (size_t i = 0; i < static_cast<size_t>(unfused.count()); ++i) {
    if (!compared.undefined.empty() && compared.undefined[i] != 0) continue;
    const double value = element(view, i);
    made.from_computed += value != element(comparison.output, i) ? 1 : 0;
    made.from_reference += value != element(comparison.reference, i) ? 1 : 0;
  }
  return made;
}

}  // namespace

bool may_be_fused(const Config& config, bool on_emulator) {
  const auto contraction = contraction_from_name(config.contraction).value_or(Contraction::Auto);
  if (contraction == Contraction::Auto) return !on_emulator;
  return contraction != Contraction::Never;
}

Result<bool> are_fused_roundings(const CaseWork& work, Slot& slot) {
  const FusableRun run = GPUEMU_TRY(fusable_roundings(work.request, slot));
  uint64_t moved = 0, others = 0;
  for (const auto& [name, differences] : work.values.exceeding.integers) {
    if (differences.elements == 0) continue;
    const auto compared = std::ranges::find_if(
        work.values.outputs,
        [&](const ComparedOutput& output) { return output.comparison.output_name == name; });
    if (compared == work.values.outputs.end()) return false;
    const Differing differing = differing_of(*compared, run.computed.at(name));
    // A value counted elsewhere changes two counts.
    const uint64_t each = differences.keeps_sum ? 2 : 1;
    moved += (differing.from_computed + each - 1) / each;
    others += (differing.from_reference + each - 1) / each;
  }
  if (moved > run.roundings) return false;
  return others == 0 || others <= GPUEMU_TRY(close_roundings(work.request, slot));
}

Status undo_fusing(const CaseRequest& request, Slot& slot, const NamedTensors& unfused,
                   std::vector<ExceedingElement>& elements) {
  const bool differs = std::ranges::any_of(
      elements, [&](const ExceedingElement& at) { return value_of(unfused, at) != at.computed; });
  if (!differs) return ok_status();
  const NamedTensors moves = GPUEMU_TRY(moves_by_fusing(request, slot));
  for (ExceedingElement& at : elements) {
    const auto move = moves.find(at.output);
    if (move == moves.end()) continue;
    const double value = value_of(unfused, at);
    const FloatFormat& format = format_of(unfused.at(at.output).dtype);
    const double largest = std::max(std::fabs(value), std::fabs(at.computed));
    const double explained =
        kTimesMove * element(view_of(move->second), at.index) + kUlps * ulp_at(format, largest);
    // Written so that a NaN explains nothing.
    if (std::fabs(value - at.computed) <= explained) at.computed = value;
  }
  return ok_status();
}

}  // namespace gpuemu
