// Independent thread scheduling: how lanes of one warp that wait for each other both get on, and
// how they meet again at the instructions that need them together.
#include <algorithm>
#include <utility>

#include "runtime/emulator/machine/program.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

namespace {
uint32_t lanes_of(const std::vector<StackEntry>& stack) {
  uint32_t all = 0;
  for (const StackEntry& entry : stack) all |= entry.mask;
  return all;
}
}  // namespace

/// Parts the lanes that wait lowest on the stack for others, as a new current path.
bool Warp::split_waiting() {
  uint32_t above = 0, ready = 0;
  size_t from = 0;
  for (size_t i = stack.size(); i-- > 0; above |= stack[i].mask) {
    const uint32_t waiting = stack[i].mask & ~above;
    if (waiting == 0 || i + 1 == stack.size()) continue;
    ready = waiting;
    from = i;
  }
  if (ready == 0) return false;
  Path part;
  std::vector<uint32_t> kept(from + 2, 0);  // Entries kept below each one.
  for (size_t i = 0; i <= from; ++i) {
    StackEntry& entry = stack[i];
    kept[i + 1] = kept[i];
    if ((entry.mask & ready) == 0) continue;
    part.stack.push_back({entry.pc, entry.mask & ready, entry.reconverge, entry.due});
    entry.mask &= ~ready;
    ++kept[i + 1];
  }
  for (uint32_t i = 0; i < depth && levels[i].base_depth <= from; ++i)
    part.levels.push_back({levels[i].frame, kept[levels[i].base_depth]});
  parked.push_back(take_path());
  parked.push_back(std::move(part));
  resume(parked.size() - 1);
  return true;
}

Path Warp::take_path() {
  levels.resize(depth);
  return {std::move(stack), std::move(levels)};
}

void Warp::resume(size_t parked_index) {
  const auto at = parked.begin() + static_cast<std::ptrdiff_t>(parked_index);
  stack = std::move(at->stack);
  levels = std::move(at->levels);
  alone_ = at->arrived;
  parked.erase(at);
  depth = static_cast<uint32_t>(levels.size());
  load_function();
  load_top();
}

void Warp::yield() {
  save_top();
  if (split_waiting()) return;
  const auto next = std::ranges::find(parked, false, &Path::arrived);
  if (next == parked.end()) return;
  parked.push_back(take_path());
  resume(static_cast<size_t>(std::ranges::find(parked, false, &Path::arrived) - parked.begin()));
}

/// A path whose lanes are all together needs no memory of where they would meet.
bool Warp::flatten(Path& path) {
  const uint32_t lanes = path.stack.back().mask;
  if (std::ranges::any_of(path.stack, [&](const StackEntry& e) { return e.mask != lanes; }))
    return false;
  std::vector<StackEntry> flat;
  for (size_t i = 0; i < path.levels.size(); ++i) {
    const size_t end =
        i + 1 < path.levels.size() ? path.levels[i + 1].base_depth : path.stack.size();
    flat.push_back({path.stack[end - 1].pc, lanes, kNone, lanes});
    path.levels[i].base_depth = static_cast<uint32_t>(i);
  }
  path.stack = std::move(flat);
  return true;
}

/// Joins the current path with those that wait at the same instruction of the same calls.
bool Warp::absorb_arrived() {
  const auto same_place = [](const Path& a, const Path& b) {
    if (a.stack.size() != b.stack.size() || a.levels.size() != b.levels.size()) return false;
    for (size_t i = 0; i < a.stack.size(); ++i)
      if (a.stack[i].pc != b.stack[i].pc || !a.levels[i].frame->may_take(*b.levels[i].frame))
        return false;
    return true;
  };
  Path own = take_path();
  const bool flat = flatten(own);
  bool joined = false;
  for (size_t i = 0; i < parked.size() && flat;) {
    if (!parked[i].arrived || !flatten(parked[i]) || !same_place(own, parked[i])) {
      ++i;
      continue;
    }
    const uint32_t lanes = parked[i].stack.back().mask;
    for (StackEntry& entry : own.stack) {
      entry.mask |= lanes;
      entry.due |= lanes;
    }
    for (size_t level = 0; level < own.levels.size(); ++level)
      own.levels[level].frame->take_lanes(*parked[i].levels[level].frame, lanes);
    parked.erase(parked.begin() + static_cast<std::ptrdiff_t>(i));
    joined = true;
  }
  parked.push_back(std::move(own));
  resume(parked.size() - 1);
  return joined;
}

bool Warp::await_lanes(const Ins& next, uint32_t wanted) {
  const bool alone = std::exchange(alone_, false);
  if ((wanted & alive & ~mask) == 0) return false;
  const uint32_t after = pc;
  pc = static_cast<uint32_t>(&next - code_begin);
  save_top();
  if ((lanes_of(stack) & wanted & ~mask) != 0 && split_waiting()) {
    parked.back().arrived = true;
    parked.back().waits_for = wanted;
    return true;
  }
  if (alone || parked.empty()) {
    pc = after;
    return false;
  }
  if (absorb_arrived()) return true;
  const size_t turn = next_path();
  parked.push_back(take_path());
  parked.back().arrived = true;
  parked.back().waits_for = wanted;
  resume(turn);
  return true;
}

/// The parked path that goes on: one that waits for nobody, or not any more. Where all wait for
/// each other it is the first that came: it names lanes that are not there.
size_t Warp::next_path() const {
  const auto ready = [this](const Path& path) {
    return !path.arrived || (path.waits_for & alive & ~lanes_of(path.stack)) == 0;
  };
  const auto next = std::ranges::find_if(parked, ready);
  return next == parked.end() ? 0 : static_cast<size_t>(next - parked.begin());
}

/// Whether lanes that go on at the stack's `entry` do nothing but exit: they have in effect done so
/// before, as after an early return.
bool Warp::ends_at(size_t entry) const {
  size_t level = depth;
  while (level > 1 && levels[level - 1].base_depth > entry) --level;
  for (;;) {
    const Code& of = *levels[level - 1].frame->code;
    const size_t at = stack[entry].pc;
    if (at >= of.ins.size()) return true;
    const Ins& next = of.ins[at];
    const ptx::Instruction& in = of.source->body[next.origin];
    if (next.guard != kTrueOffset) return false;
    if (in.opcode == ptx::Opcode::Exit || (in.opcode == ptx::Opcode::Ret && level == 1))
      return true;
    if (in.opcode != ptx::Opcode::Ret) return false;
    entry = levels[level - 1].base_depth - 1;
    --level;
  }
}

uint32_t Warp::gone_past(uint32_t wanted) const {
  const uint32_t exited = wanted & exists & ~alive;
  uint32_t gone = 0;
  for (size_t i = 0; exited != 0 && i + 1 < stack.size(); ++i) {
    const bool meets = (stack[i].mask & mask) != 0;  // Else the other side of a branch.
    if (meets && (stack[i].due & exited) != 0 && !ends_at(i)) gone |= stack[i].due & exited;
  }
  return gone;
}

/// `lanes` exit on the current path. They come to none of the places where it was to meet others.
void Warp::forget_due(uint32_t lanes) {
  for (size_t i = 0; i + 1 < stack.size(); ++i) {
    stack[i].due &= ~lanes;
    for (Path& path : parked)
      for (StackEntry& entry : path.stack)
        if (entry.pc == stack[i].pc && entry.reconverge == stack[i].reconverge) entry.due &= ~lanes;
  }
}

}  // namespace gpuemu::emulator
