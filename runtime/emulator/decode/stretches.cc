// Finds the instructions that run one after the other whatever happens, so that the loop over
// instructions looks at lanes, flow and budget once for all of them.
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
  std::vector<bool> entered(code.ins.size() + 1, false);
  const auto mark = [&](uint64_t at) {
    if (at < entered.size()) entered[at] = true;
  };
  for (const Ins& ins : code.ins) {
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

bool runs_straight(const Ins& ins) {
  return ins.guard == kTrueOffset && ins.guard_xor == 0 && straight_handlers().contains(ins.run);
}

void mark_stretches(Code& code) {
  const std::vector<bool> entered = entrances(code);
  uint32_t length = 0, counted = 0;
  for (size_t i = code.ins.size(); i-- > 0;) {
    Ins& ins = code.ins[i];
    if (entered[i + 1]) length = counted = 0;
    ins.jumps = ins.run == steps::branch;
    if (!runs_straight(ins)) {
      length = counted = 0;
      continue;
    }
    ins.stretch = ++length;
    ins.stretch_counted = counted += ins.counted;
  }
}

}  // namespace gpuemu::emulator
