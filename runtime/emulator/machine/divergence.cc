// Independent thread scheduling: lets lanes of one warp that wait for each other both make
// progress, and reconverges them at instructions that need them together.
#include <algorithm>
#include <utility>

#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {

namespace {
uint32_t lanes_of(const std::vector<ReconvergenceEntry>& stack) {
  uint32_t all = 0;
  for (const ReconvergenceEntry& entry : stack) all |= entry.mask;
  return all;
}
}  // namespace

/// Splits off the lowest waiting lanes on the stack as a new current path.
bool Warp::split_waiting() {
  uint32_t above = 0, ready = 0;
  size_t from = 0;
  for (size_t i = control.stack.size(); i-- > 0; above |= control.stack[i].mask) {
    const uint32_t waiting = control.stack[i].mask & ~above;
    if (waiting == 0 || i + 1 == control.stack.size()) continue;
    ready = waiting;
    from = i;
  }
  if (ready == 0) return false;
  Path part;
  std::vector<uint32_t> kept(from + 2, 0);  // Entries kept below each one.
  for (size_t i = 0; i <= from; ++i) {
    ReconvergenceEntry& entry = control.stack[i];
    kept[i + 1] = kept[i];
    if ((entry.mask & ready) == 0) continue;
    part.stack.push_back({entry.pc, entry.mask & ready, entry.reconverge, entry.due});
    entry.mask &= ~ready;
    ++kept[i + 1];
  }
  for (uint32_t i = 0; i < control.depth && control.frames[i].stack_base <= from; ++i) {
    part.frames.push_back({control.frames[i].frame, kept[control.frames[i].stack_base]});
  }
  control.suspended.push_back(suspend_path());
  control.suspended.push_back(std::move(part));
  resume_path(control.suspended.size() - 1);
  return true;
}

Path Warp::suspend_path() {
  control.frames.resize(control.depth);
  return {std::move(control.stack), std::move(control.frames)};
}

void Warp::resume_path(size_t suspended_index) {
  const auto at = control.suspended.begin() + static_cast<std::ptrdiff_t>(suspended_index);
  control.stack = std::move(at->stack);
  control.frames = std::move(at->frames);
  alone_ = at->arrived;
  control.suspended.erase(at);
  control.depth = static_cast<uint32_t>(control.frames.size());
  load_function();
  load_top();
}

void Warp::yield() {
  save_top();
  if (split_waiting()) return;
  const auto next = std::ranges::find(control.suspended, false, &Path::arrived);
  if (next == control.suspended.end()) return;
  control.suspended.push_back(suspend_path());
  resume_path(static_cast<size_t>(std::ranges::find(control.suspended, false, &Path::arrived) -
                                  control.suspended.begin()));
}

/// Clears the reconvergence stack of a path, and returns true, if all its lanes are together.
bool Warp::flatten(Path& path) {
  const uint32_t lanes = path.stack.back().mask;
  if (std::ranges::any_of(path.stack,
                          [&](const ReconvergenceEntry& e) { return e.mask != lanes; })) {
    return false;
  }
  std::vector<ReconvergenceEntry> flat;
  for (size_t i = 0; i < path.frames.size(); ++i) {
    const size_t end =
        i + 1 < path.frames.size() ? path.frames[i + 1].stack_base : path.stack.size();
    flat.push_back({path.stack[end - 1].pc, lanes, kNone, lanes});
    path.frames[i].stack_base = static_cast<uint32_t>(i);
  }
  path.stack = std::move(flat);
  return true;
}

/// Merges the current path with those that wait at the same instruction of the same calls.
bool Warp::absorb_arrived() {
  const auto same_place = [](const Path& a, const Path& b) {
    if (a.stack.size() != b.stack.size() || a.frames.size() != b.frames.size()) return false;
    for (size_t i = 0; i < a.stack.size(); ++i) {
      if (a.stack[i].pc != b.stack[i].pc || !a.frames[i].frame->may_take(*b.frames[i].frame)) {
        return false;
      }
    }
    return true;
  };
  Path own = suspend_path();
  const bool flat = flatten(own);
  bool joined = false;
  for (size_t i = 0; i < control.suspended.size() && flat;) {
    if (!control.suspended[i].arrived || !flatten(control.suspended[i]) ||
        !same_place(own, control.suspended[i])) {
      ++i;
      continue;
    }
    const uint32_t lanes = control.suspended[i].stack.back().mask;
    for (ReconvergenceEntry& entry : own.stack) {
      entry.mask |= lanes;
      entry.due |= lanes;
    }
    for (size_t level = 0; level < own.frames.size(); ++level) {
      own.frames[level].frame->take_lanes(*control.suspended[i].frames[level].frame, lanes);
    }
    control.suspended.erase(control.suspended.begin() + static_cast<std::ptrdiff_t>(i));
    joined = true;
  }
  control.suspended.push_back(std::move(own));
  resume_path(control.suspended.size() - 1);
  return joined;
}

bool Warp::await_lanes(const Step& next, uint32_t wanted) {
  const bool alone = std::exchange(alone_, false);
  if ((wanted & masks.alive & ~masks.running) == 0) return false;
  const uint32_t after = pc;
  pc = static_cast<uint32_t>(&next - function.steps);
  save_top();
  if ((lanes_of(control.stack) & wanted & ~masks.running) != 0 && split_waiting()) {
    control.suspended.back().arrived = true;
    control.suspended.back().waits_for = wanted;
    return true;
  }
  if (alone || control.suspended.empty()) {
    pc = after;
    return false;
  }
  if (absorb_arrived()) return true;
  const size_t turn = next_path();
  control.suspended.push_back(suspend_path());
  control.suspended.back().arrived = true;
  control.suspended.back().waits_for = wanted;
  resume_path(turn);
  return true;
}

/// Returns the suspended path to run next: one that waits for no other. If all wait for each other,
/// the first one, whose .sync instruction names lanes that are not there.
size_t Warp::next_path() const {
  const auto ready = [this](const Path& path) {
    return !path.arrived || (path.waits_for & masks.alive & ~lanes_of(path.stack)) == 0;
  };
  const auto next = std::ranges::find_if(control.suspended, ready);
  return next == control.suspended.end() ? 0
                                         : static_cast<size_t>(next - control.suspended.begin());
}

/// Returns whether lanes that continue at the stack's `entry` only exit, so that they count as
/// having exited already, as after an early return.
bool Warp::ends_at(size_t entry) const {
  size_t level = control.depth;
  while (level > 1 && control.frames[level - 1].stack_base > entry) --level;
  for (;;) {
    const Code& of = *control.frames[level - 1].frame->code;
    const size_t at = control.stack[entry].pc;
    if (at >= of.steps.size()) return true;
    const Step& next = of.steps[at];
    const ptx::Instruction& in = of.source->body[next.origin];
    if (next.guard.predicate != kTrueOffset) return false;
    if (in.opcode == ptx::Opcode::Exit || (in.opcode == ptx::Opcode::Ret && level == 1)) {
      return true;
    }
    if (in.opcode != ptx::Opcode::Ret) return false;
    entry = control.frames[level - 1].stack_base - 1;
    --level;
  }
}

uint32_t Warp::gone_past(uint32_t wanted) const {
  const uint32_t exited = wanted & masks.exists & ~masks.alive;
  uint32_t gone = 0;
  for (size_t i = 0; exited != 0 && i + 1 < control.stack.size(); ++i) {
    const bool meets =
        // Otherwise it is the other side of a branch.
        (control.stack[i].mask & masks.running) != 0;
    if (meets && (control.stack[i].due & exited) != 0 && !ends_at(i)) {
      gone |= control.stack[i].due & exited;
    }
  }
  return gone;
}

/// Removes `lanes`, which exit on the current path, from the reconvergence points that expect them.
void Warp::forget_due(uint32_t lanes) {
  for (size_t i = 0; i + 1 < control.stack.size(); ++i) {
    control.stack[i].due &= ~lanes;
    for (Path& path : control.suspended) {
      for (ReconvergenceEntry& entry : path.stack) {
        if (entry.pc == control.stack[i].pc && entry.reconverge == control.stack[i].reconverge) {
          entry.due &= ~lanes;
        }
      }
    }
  }
}

}  // namespace gpuemu::emulator
