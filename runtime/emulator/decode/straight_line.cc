// Finds straight-line runs: steps that always run one after the other, so that the interpreter loop
// checks lanes, flow and budget once for all of them.
#include <array>
#include <unordered_set>

#include "runtime/emulator/decode/decode.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
namespace {

/// Handlers that treat each lane alike neither part lanes nor jump; of the steps only some.
const std::unordered_set<Handler>& straight_handlers() {
  static const std::unordered_set<Handler> kAll = [] {
    std::unordered_set<Handler> all = {
        steps::nothing,   steps::fence,        steps::special,          steps::local_address,
        steps::is_space,  steps::load_param,   steps::load_frame_param, steps::store_frame_param,
        steps::add_carry, steps::check_divisor};
    for (const auto& [key, row] : handlers()) {
      all.insert(row.run);
      if (row.rounded != nullptr) all.insert(row.rounded);
    }
    return all;
  }();
  return kAll;
}

/// Per instruction whether the flow can come to it from elsewhere than the one before.
std::vector<bool> entrances(const Code& code) {
  std::vector<bool> entered(code.steps.size() + 1, false);
  const auto mark = [&](uint64_t at) {
    if (at < entered.size()) entered[at] = true;
  };
  for (const Step& ins : code.steps) {
    if (ins.run != steps::branch && ins.run != steps::branch_indexed) continue;
    mark(static_cast<uint64_t>(ins.imm));
    if (ins.run == steps::branch) {
      mark(ins.aux);
      continue;
    }
    for (uint32_t i = 0; i < ins.aux; ++i) mark(code.lists[ins.list + i]);
  }
  return entered;
}
}  // namespace

bool runs_straight(const Step& ins) {
  return ins.guard == kTrueOffset && ins.guard_xor == 0 && straight_handlers().contains(ins.run);
}

void mark_straight_lines(Code& code) {
  const std::vector<bool> entered = entrances(code);
  uint32_t length = 0, counted = 0;
  for (size_t i = code.steps.size(); i-- > 0;) {
    Step& ins = code.steps[i];
    if (entered[i + 1]) length = counted = 0;
    ins.jumps = ins.run == steps::branch;
    if (!runs_straight(ins)) {
      length = counted = 0;
      continue;
    }
    ins.straight_line = ++length;
    ins.straight_line_instructions = counted += ins.counted;
  }
}

}  // namespace gpuemu::emulator
