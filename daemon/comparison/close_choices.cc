#include "daemon/comparison/close_choices.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/numeric/element.h"
#include "daemon/case/case_work.h"
#include "daemon/case/reproduction.h"
#include "daemon/execution/exact_runs.h"
#include "daemon/schedule/slot.h"
#include "judge/bounds/conditioning.h"
#include "judge/cases/case.h"

namespace gpuemu {
namespace {

/// Runs with inputs that differ in the last place: each shows the other one of two values that
/// rounding puts in either order about every second time.
constexpr uint64_t kChoiceDrawsMost = 16;
}  // namespace

Result<bool> are_choices_of_rounding(const CaseWork& work, Slot& slot) {
  const CaseRequest& request = work.request;
  std::map<std::string, std::vector<size_t>> open;
  uint64_t count = 0;
  for (const auto& [output, differences] : work.values.exceeding.integers) {
    if (differences.elements == 0) continue;
    if (differences.choices.empty()) return false;
    open[output] = differences.choices;
    count += differences.elements;
  }
  if (count > GPUEMU_TRY(close_comparisons(request, slot))) return false;
  const NamedTensors inputs = make_inputs(request.op, request.plan);
  for (uint64_t draw = 0; draw < kChoiceDrawsMost && !open.empty(); ++draw) {
    const NamedTensors neighbours =
        neighbours_of(inputs, {request.plan.base_seed, request.plan.iteration}, draw);
    const NamedTensors made = GPUEMU_TRY(run_rounded(request, slot, neighbours));
    for (const ComparedOutput& compared : work.values.outputs) {
      const Comparison& comparison = compared.comparison;
      const auto left = open.find(comparison.output_name);
      if (left == open.end()) continue;
      const TensorView now = view_of(made.at(comparison.output_name));
      std::erase_if(left->second, [&](size_t at) {
        return element(now, at) == element(comparison.reference, at);
      });
      if (left->second.empty()) open.erase(left);
    }
  }
  return open.empty();
}

}  // namespace gpuemu
