// Detects livelocks. A loop that returns to the same registers, private memory and control flow
// repeats forever, unless another thread changes the memory that it reads.
#include "runtime/emulator/machine/livelock.h"

#include <algorithm>
#include <cstring>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/mbarrier.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {
namespace {
using ptx::Instruction;
using ptx::Opcode;
using ptx::Space;

class Hash {
 public:
  void add(uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15u;
    value_ ^= value_ >> 29;
  }
  void add(const void* data, size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, from + at, std::min(sizeof word, bytes - at));
      add(word);
    }
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0x243f6a8885a308d3u;
};

/// Hashes the state that decides what the path does next, except memory shared with other threads.
uint64_t state_of(const Warp& warp) {
  Hash hash;
  for (const uint64_t word :
       {uint64_t{warp.pc}, uint64_t{warp.masks.active}, uint64_t{warp.control.reconverge},
        uint64_t{warp.registers.carry}, uint64_t{warp.masks.alive}, uint64_t{warp.control.depth},
        uint64_t{warp.control.suspended.size()}, uint64_t{warp.control.stack.size()}}) {
    hash.add(word);
  }
  // The position of the top entry is kept in the warp; the copy in the entry is out of date.
  for (size_t i = 0; i + 1 < warp.control.stack.size(); ++i) {
    hash.add(uint64_t{warp.control.stack[i].pc} << 32 | warp.control.stack[i].mask);
  }
  for (uint32_t i = 0; i < warp.control.depth; ++i) {
    const Frame& frame = *warp.control.frames[i].frame;
    hash.add(frame.registers, frame.code->frame_bytes);
    hash.add(frame.params.data(), frame.params.size());
  }
  hash.add(warp.local.storage.data(), warp.local.storage.size());
  for (const auto& [offset, word] : warp.block->barriers.mbarriers) hash.add(offset ^ word);
  hash.add(warp.block->barriers.bulk_copies.size());
  return hash.value();
}

/// A memory access by the first lane.
struct Look {
  const Instruction* at = nullptr;
  uint64_t address = 0, value = 0;
  uint32_t bytes = 0;
  bool shared = false;
};

/// The operand of an access or of an mbarrier instruction.
struct Target {
  int64_t offset = 0;
  bool is_wide = true;
  Space space = Space::Generic;
};
Target target_of(const Step& step) {
  if (const MemoryOperands* memory = step.memory()) {
    return {memory->offset, memory->is_wide, memory->space};
  }
  const MbarrierAddress* barrier = step.operands.find<MbarrierOperands>();
  if (barrier == nullptr) barrier = step.operands.find<MbarrierWaitOperands>();
  return barrier == nullptr ? Target() : Target{barrier->offset, barrier->is_wide};
}

uint64_t address_in(Warp& warp, const Step& step, uint32_t lane) {
  const Target target = target_of(step);
  const uint64_t base = target.is_wide ? warp.u64(step.src[0])[lane] : warp.u32(step.src[0])[lane];
  return base + static_cast<uint64_t>(target.offset);
}

/// Returns whether the access is to private or parameter memory.
bool is_private(const Step& step, uint64_t address) {
  const Space space = target_of(step).space;
  const uint64_t window = address & kWindowMask;
  return space == Space::Local || space == Space::Param || space == Space::Const ||
         (space == Space::Generic && (window == kLocalWindow || window == kParamWindow));
}

bool is_shared(const Step& step, uint64_t address) {
  const Space space = target_of(step).space;
  return space == Space::Shared ||
         (space == Space::Generic && (address & kWindowMask) == kSharedWindow);
}

/// Returns the host address of an atomic's operand; null if it need not be checked.
const std::byte* host_of(Warp& warp, const Step& step, uint64_t address, uint32_t bytes) {
  if (is_shared(step, address)) {
    const uint64_t offset = address & ~kWindowMask;
    return offset + bytes <= warp.launch->inputs.shared_bytes
               ? warp.block->shared.bytes.data() + offset
               : nullptr;
  }
  if (is_private(step, address) || warp.launch->memory->find(address, bytes) == nullptr) {
    return nullptr;
  }
  return reinterpret_cast<const std::byte*>(address);
}

/// Returns whether the atomic left memory unchanged, by its old value in the destination register.
bool left_alone(Warp& warp, const Step& step) {
  if (step.dst == kTrueOffset) return false;
  const uint32_t bytes = step.memory()->bytes;
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const std::byte* now = host_of(warp, step, address_in(warp, step, lane), bytes);
    const uint64_t found = bytes == 8 ? warp.u64(step.dst)[lane] : warp.u32(step.dst)[lane];
    if (now == nullptr || std::memcmp(now, &found, bytes) != 0) return false;
  }
  return true;
}

/// Returns whether a later step of the straight line has overwritten the register at `offset`.
bool overwritten(Warp& warp, const Step* from, const Step* end, uint32_t offset) {
  for (const Step* step = from; step != end; ++step) {
    if (step->dst == offset) return true;
    if (instruction_of(warp, *step).opcode != Opcode::Ld) continue;
    const RegisterList loaded = step->elements();
    const uint32_t* list = warp.function.lists + loaded.first;
    if (std::find(list, list + loaded.count, offset) != list + loaded.count) return true;
  }
  return false;
}

/// Returns whether the instruction changes neither memory nor what other threads wait for.
bool only_computes(const Instruction& in) {
  using Class = ptx::OpcodeClass;
  switch (ptx::info(in.opcode).what) {
    case Class::Arithmetic:
    case Class::Compare:
    case Class::Logic:
    case Class::Convert:
    case Class::Control:
    case Class::Warp:
    case Class::Misc:
    case Class::Video:
      return true;
    case Class::Memory:
      return in.opcode != Opcode::St;
    case Class::Barrier:
      return in.opcode == Opcode::Membar || in.opcode == Opcode::Fence ||
             in.has(ptx::Modifier::Warp);
    case Class::Async:
      return in.opcode == Opcode::Mbarrier &&
             (in.has(ptx::Modifier::TryWait) || in.has(ptx::Modifier::TestWait));
    case Class::Atomic:
    case Class::Matrix:
    case Class::Texture:
    case Class::Unknown:
      return false;
  }
  return false;
}

class Watch {
 public:
  explicit Watch(Warp& warp) : warp_(warp) {}
  SpinWait run(uint32_t steps_max);

 private:
  SpinWait step(uint32_t steps_max);
  /// Called after the steps [first, end). Returns whether memory is unchanged, and records their
  /// reads.
  bool changed_nothing(const Step* first, const Step* end);
  void note_read(const Step& step, const Instruction& in);
  std::string text() const;

  Warp& warp_;
  Look look_;
};

bool Watch::changed_nothing(const Step* first, const Step* end) {
  if (warp_.masks.running == 0) return true;
  const auto lead = static_cast<uint32_t>(std::countr_zero(warp_.masks.running));
  for (const Step* step = first; step != end; ++step) {
    const Instruction& in = instruction_of(warp_, *step);
    const bool accesses = step->memory() != nullptr;  // Otherwise the step only prepares operands.
    if (in.opcode == Opcode::Atom && accesses) {
      if (overwritten(warp_, step + 1, end, step->dst) ||
          overwritten(warp_, step + 1, end, step->src[0]) || !left_alone(warp_, *step)) {
        return false;
      }
    } else if (in.opcode == Opcode::St && accesses) {
      if (!is_private(*step, address_in(warp_, *step, lead))) return false;
    } else if (in.opcode != Opcode::Atom && in.opcode != Opcode::St && !only_computes(in)) {
      return false;
    }
    note_read(*step, in);
  }
  return true;
}

void Watch::note_read(const Step& step, const Instruction& in) {
  const bool loads = in.opcode == Opcode::Ld;
  if ((!loads && in.opcode != Opcode::Atom && in.opcode != Opcode::Mbarrier) ||
      (step.memory() == nullptr && in.opcode != Opcode::Mbarrier)) {
    return;
  }
  const auto lane = static_cast<uint32_t>(std::countr_zero(warp_.masks.running));
  const uint64_t address = address_in(warp_, step, lane);
  if (is_private(step, address)) return;
  if (in.opcode == Opcode::Mbarrier &&
      mbarrier_state(*warp_.block, static_cast<uint32_t>(address & ~kWindowMask)) !=
          MbarrierState::Valid) {
    return;
  }
  look_ = {&in, address, 0, std::max(1u, element_bytes(in)), is_shared(step, address)};
  if (in.opcode == Opcode::Mbarrier) {
    look_.shared = true;
    look_.address &= ~kWindowMask;
    return;
  }
  const uint32_t to = loads ? warp_.function.lists[step.access().list] : step.dst;
  if (to == kNone) return;
  look_.value = look_.bytes == 8 ? warp_.u64(to)[lane] : warp_.u32(to)[lane];
  if (look_.bytes < 4) look_.value &= (uint64_t{1} << 8 * look_.bytes) - 1;
}

std::string Watch::text() const {
  if (look_.at == nullptr) return "";
  const uint64_t offset = look_.address & ~kWindowMask;
  if (look_.at->opcode == Opcode::Mbarrier) {
    const Mbarrier state = read_mbarrier(*warp_.block, static_cast<uint32_t>(offset));
    return fmt::format(
        "waits for the mbarrier at shared memory {}, whose phase {} still needs {} "
        "arrivals and {} bytes",
        shared_place(warp_, offset, 8), state.odd ? 1 : 0, state.pending, state.bytes);
  }
  if (look_.shared) {
    return fmt::format("reads shared memory {}, which is {}",
                       shared_place(warp_, offset, look_.bytes), look_.value);
  }
  const Allocation* in = warp_.launch->memory->find(look_.address, look_.bytes);
  if (in == nullptr) return "";
  return fmt::format("reads '{}' element {}, which is {}", in->name,
                     (look_.address - in->base) / look_.bytes, look_.value);
}

SpinWait Watch::run(uint32_t steps_max) {
  if (warp_.control.depth == 0) return {};
  const SpinWait seen = step(steps_max);
  if (warp_.control.depth != 0) warp_.load_function();  // With its compiled code.
  return seen;
}

SpinWait Watch::step(uint32_t steps_max) {
  uint32_t saved_pc = kNone, since = 0, power = 1;
  uint64_t saved = 0;
  for (uint32_t step = 0; step < steps_max; ++step) {
    if (saved_pc == kNone || since == power) {
      saved_pc = warp_.pc;
      saved = state_of(warp_);
      power *= 2;
      since = 0;
    }
    const Step* const first = warp_.function.steps + warp_.pc;
    const Code* const code = &warp_.code();
    const bool meets = warp_.pc == warp_.control.reconverge;
    warp_.function.compiled =
        nullptr;  // It goes on beyond the straight-line run, to what would not be looked at.
    warp_.run(1);
    if (warp_.control.state != WarpState::Running || warp_.launch->clock.stop.load()) return {};
    // A call or return changes no memory.
    if (!meets && &warp_.code() == code &&
        !changed_nothing(first, first + std::max(first->straight_line.steps, 1u))) {
      return {};
    }
    ++since;
    if (warp_.pc == saved_pc && state_of(warp_) == saved) return {true, look_.at, text()};
  }
  return {false, look_.at, text()};
}
}  // namespace

SpinWait watch(Warp& warp, uint32_t steps_max) { return Watch(warp).run(steps_max); }

bool all_paths_repeat(Warp& warp) {
  bool repeats = true;
  warp.block->clock.stopped = true;
  for (size_t turn = 0; repeats && turn <= warp.control.suspended.size() + 1; ++turn) {
    repeats = watch(warp).repeats;
    if (repeats) warp.yield();
  }
  warp.block->clock.stopped = false;
  return repeats;
}

}  // namespace gpuemu::emulator
