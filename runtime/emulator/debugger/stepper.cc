#include "runtime/emulator/debugger/stepper.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/emulator/debugger/listing.h"
#include "runtime/emulator/machine/block.h"

namespace gpuemu::emulator {
namespace {

std::span<const std::byte> memory_at(const DebugWatch& watch) {
  return {reinterpret_cast<const std::byte*>(watch.address), watch.bytes};
}

}  // namespace

Stepper::Stepper(Launch& launch, Debugger& debugger) : launch_(launch), debugger_(debugger) {
  renew_watches();
}

const Stepper::Function& Stepper::function_of(const Code& code) {
  const auto [found, fresh] = functions_.try_emplace(&code);
  if (!fresh) return found->second;
  Function& made = found->second;
  made.index = index_of(code);
  made.uses.resize(code.steps.size());
  for (const MemoryUse& use : code.memory_uses) {
    if (use.step < made.uses.size()) made.uses[use.step].push_back(use);
  }
  made.results = results_of(*code.source);
  made.register_types = register_types(*code.source);
  return made;
}

uint32_t Stepper::index_of(const Code& code) const {
  uint32_t index = 0;
  for (const Code& other : launch_.inputs.program->functions) {
    if (&other == &code) return index;
    ++index;
  }
  GPUEMU_UNREACHABLE();
}

DebugPlace Stepper::place_of(const Code& code, const Step& step) {
  return {function_of(code).index, step.origin};
}

/// Bytes outside every allocation are not watched, because nothing can be stored there.
void Stepper::renew_watches() {
  const std::vector<DebugWatch>& wanted = debugger_.watches();
  const auto same = [](const Watched& one, const DebugWatch& other) {
    return one.watch.number == other.number && one.watch.address == other.address;
  };
  if (std::ranges::equal(watched_, wanted, same)) return;
  watched_.clear();
  for (const DebugWatch& watch : wanted) {
    Watched made{.watch = watch};
    if (launch_.memory->find(watch.address, watch.bytes) != nullptr) {
      made.bytes.assign(memory_at(watch).begin(), memory_at(watch).end());
    }
    watched_.push_back(std::move(made));
  }
}

void Stepper::note_stores(const Warp& warp, const Step& step, const Function& in) {
  const Code& code = *warp.control.frames[warp.control.depth - 1].frame->code;
  if (step.origin >= code.source->body.size() ||
      !code.source->body[step.origin].has(ptx::Trait::Writes)) {
    return;
  }
  for (const MemoryUse& use : in.uses[static_cast<size_t>(&step - code.steps.data())]) {
    if (use.space != ptx::Space::Global && use.space != ptx::Space::Generic) continue;
    for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      const auto* narrow = reinterpret_cast<const uint32_t*>(warp.registers.data + use.base);
      const auto* wide = reinterpret_cast<const uint64_t*>(warp.registers.data + use.base);
      const uint64_t address =
          (use.wide ? wide[lane] : narrow[lane]) + static_cast<uint64_t>(use.offset);
      for (Watched& one : watched_) {
        const DebugWatch& watch = one.watch;
        if (one.bytes.empty() || address >= watch.address + watch.bytes ||
            watch.address >= address + use.bytes) {
          continue;
        }
        one.stored = true;
        one.by.place = {in.index, step.origin};
        one.by.block = warp.block->position.index;
        one.by.thread = thread_of(warp, lane);
      }
    }
  }
}

/// Called after an instruction: finds the watched bytes that it stored to.
void Stepper::compare_watched() {
  stores_.clear();
  for (Watched& one : watched_) {
    const auto now = memory_at(one.watch);
    if (one.bytes.empty() || (!one.stored && std::ranges::equal(one.bytes, now))) continue;
    DebugStore store = one.by;
    if (!one.stored) {
      store.place = last_place_;
      store.block = last_block_;
      store.thread.reset();
    }
    store.number = one.watch.number;
    store.before = one.bytes;
    store.after.assign(now.begin(), now.end());
    one.bytes = store.after;
    one.stored = false;
    stores_.push_back(std::move(store));
  }
}

void Stepper::Written::take_lanes(const ObservedRegisters& from, uint32_t taken) {
  const std::vector<uint32_t>& theirs = static_cast<const Written&>(from).lanes;
  for (size_t i = 0; i < std::min(lanes.size(), theirs.size()); ++i) {
    lanes[i] = (lanes[i] & ~taken) | (theirs[i] & taken);
  }
}

/// Records the registers that the instruction is about to write. Comes last, so that a debugger
/// sees the state before it.
void Stepper::note_written(Warp& warp, const Step& step, const Function& in) {
  Frame& frame = warp.frame();
  if (frame.observed == nullptr) frame.observed = std::make_unique<Written>();
  auto& written = static_cast<Written&>(*frame.observed);
  const bool same = written.code == frame.code && written.block == warp.block->position.linear &&
                    written.warp == warp.index;
  if (!same) written.lanes.assign(frame.code->registers.size(), 0);
  written.code = frame.code;
  written.block = warp.block->position.linear;
  written.warp = warp.index;
  // A call begins, and the frame may have served an earlier call.
  if (step.origin == 0) {
    for (uint32_t& lanes : written.lanes) lanes &= ~warp.masks.running;
  }
  for (const uint32_t reg : in.results[step.origin]) written.lanes[reg] |= warp.masks.running;
}

void Stepper::before(Warp& warp, const Step& step) {
  const Code& code = warp.code();
  const Function& in = function_of(code);
  const bool first = step.counted != 0 && step.origin < code.source->body.size();
  if (first) {
    warp_ = &warp;
    blocks_[warp.block->position.linear] = warp.block;
    place_ = {in.index, step.origin};
    if (!watched_.empty()) compare_watched();
    if (!debugger_.before(*this)) {
      launch_.clock.stop = true;
      warp.stop_slice();
    }
    stores_.clear();
    renew_watches();
    last_place_ = place_;
    last_block_ = warp.block->position.index;
    note_written(warp, step, in);
  }
  if (!watched_.empty()) note_stores(warp, step, in);
}

}  // namespace gpuemu::emulator
