// Finds straight lines: steps that always run one after the other, so that the interpreter checks
// lanes, control flow and budget once for all of them.
#include <array>
#include <unordered_set>

#include "runtime/emulator/decode/decode.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
namespace {

/// Returns the handlers that treat all lanes alike and neither diverge nor jump; of those in
/// steps/, only some.
const std::unordered_set<Handler>& straight_handlers() {
  static const std::unordered_set<Handler> kAll = [] {
    std::unordered_set<Handler> all = {steps::nothing,
                                       kRunOf<steps::fence>,
                                       kRunOf<steps::special>,
                                       kRunOf<steps::local_address>,
                                       kRunOf<steps::is_space>,
                                       kRunOf<steps::load_param>,
                                       kRunOf<steps::load_frame_param>,
                                       kRunOf<steps::store_frame_param>,
                                       kRunOf<steps::add_carry>,
                                       kRunOf<steps::check_divisor>};
    for (const auto& [key, row] : handlers()) {
      all.insert(row.run);
      if (row.rounded != nullptr) all.insert(row.rounded);
    }
    return all;
  }();
  return kAll;
}

/// For each step, whether control flow can reach it other than from the step before.
std::vector<bool> entrances(const Code& code) {
  std::vector<bool> entered(code.steps.size() + 1, false);
  const auto mark = [&](uint64_t at) {
    if (at < entered.size()) entered[at] = true;
  };
  for (const Step& step : code.steps) {
    if (const auto* const to = step.operands.find<BranchOperands>()) {
      mark(to->reconverge);
      mark(to->target);
    } else if (const auto* const any = step.operands.find<IndexedBranchOperands>()) {
      mark(any->reconverge);
      for (uint32_t i = 0; i < any->count; ++i) mark(code.lists[any->list + i]);
    }
  }
  return entered;
}
}  // namespace

bool runs_straight(const Step& step) {
  return step.guard.is_always() && straight_handlers().contains(step.run);
}

void mark_straight_lines(Code& code) {
  const std::vector<bool> entered = entrances(code);
  uint32_t length = 0, counted = 0;
  for (size_t i = code.steps.size(); i-- > 0;) {
    Step& step = code.steps[i];
    if (entered[i + 1]) length = counted = 0;
    if (step.run == kRunOf<steps::branch>) step.operands.get<BranchOperands>().is_direct = true;
    if (!runs_straight(step)) {
      length = counted = 0;
      continue;
    }
    counted += step.counted;
    step.straight_line = {.steps = ++length, .instructions = counted};
  }
}

}  // namespace gpuemu::emulator
