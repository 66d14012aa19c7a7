#include "runtime/emulator/machine/definedness.h"

#include <algorithm>
#include <string_view>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/strict.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/program/budget.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {
namespace {
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Trait;

constexpr size_t kOriginsMax = 256;

bool accesses_memory(const Instruction& in) {
  return in.has(Trait::Reads) || in.has(Trait::Writes);
}
/// Returns whether one operand can determine the result alone, or the operation joins parts of
/// words.
bool may_ignore_operands(const Instruction& in) {
  const bool joins = in.opcode == Opcode::Mov && in.operands.size() == 2 &&
                     in.operands[1].kind == Operand::Kind::Vector;
  const bool converts_two = in.opcode == Opcode::Cvt && in.operands.size() > 2;
  return in.has(Trait::MixesBits) || joins || converts_two;
}
/// Returns whether the result consists of the bits of its only operand, and zeros.
bool keeps_bits(const Instruction& in) {
  if (in.operands.size() != 2 || in.operands[1].kind != Operand::Kind::Register) return false;
  return in.has(Trait::KeepsBits) ||
         (in.opcode == Opcode::Cvt && in.has(ptx::Modifier::U64) && in.has(ptx::Modifier::U32));
}
/// Returns whether the result consists of the operands' bytes, possibly reordered.
bool only_moves(const Instruction& in) {
  return in.opcode == Opcode::Mov || in.opcode == Opcode::Prmt;
}
/// Returns whether it is a logical shift by a constant.
bool is_shift(const Instruction& in) {
  return in.operands.size() == 3 && in.operands[2].kind == Operand::Kind::Integer &&
         (in.opcode == Opcode::Shl || (in.opcode == Opcode::Shr && !in.has(ptx::Modifier::S16) &&
                                       !in.has(ptx::Modifier::S32) && !in.has(ptx::Modifier::S64)));
}
/// Returns the mask of the bits in the result's register.
uint64_t word_of(Warp& warp, const Instruction& in) {
  constexpr uint64_t kNarrow = 0xffffffff;
  const Operand& to = in.operands[0];
  const bool wide =
      to.kind == Operand::Kind::Register && warp.code().registers[to.reg].bytes == sizeof(uint64_t);
  return wide ? ~uint64_t{0} : kNarrow;
}
}  // namespace

void Definedness::clear() {
  origins_.clear();
  notes_.clear();
}

void Definedness::enter(Warp& warp, Frame& frame) {
  UndefinedRegisters& set = frame.undefined;
  set.lanes.clear();
  const std::vector<uint32_t>& early = frame.code->used_early;
  if (early.empty() || !warp.launch->inputs.checks.init) return;
  set.assign(frame.code->registers.size());
  Definedness& all = warp.tracking.definedness;
  if (all.origins_.empty()) all.origins_.emplace_back();
  for (const uint32_t reg : early) set.lanes[reg] = set.computed[reg] = kNone;
  if (!warp.tracking.active) warp.stop_slice();
  warp.tracking.active = true;
}

uint32_t Definedness::origin_of(Warp& warp, const Step& step, const Cause& cause) {
  if (origins_.empty()) origins_.emplace_back();
  for (size_t i = 1; i < origins_.size(); ++i) {
    const Origin& known = origins_[i];
    if (known.step == &step && known.cause.source == cause.source) return static_cast<uint32_t>(i);
  }
  if (origins_.size() < kOriginsMax) origins_.push_back({&step, &warp.code(), cause});
  return static_cast<uint32_t>(origins_.size() - 1);
}

void Definedness::note(Warp& warp, const Step& step, uint32_t reg, uint32_t lanes,
                       const Cause& cause) {
  notes_.push_back({&step, reg, lanes, origin_of(warp, step, cause)});
  if (warp.tracking.active) return;
  warp.tracking.active = true;
  warp.end_run_behind(step);
  warp.stop_slice();
}

void Definedness::note_element(Warp& warp, const Step& step, uint32_t element, uint32_t lanes,
                               const Cause& cause) {
  const Instruction& in = instruction_of(warp, step);
  if (in.operands.empty()) return;
  const Operand& to = in.operands[0];
  const Operand& part = to.elements.empty() ? to : to.elements[element % to.elements.size()];
  if (part.kind == Operand::Kind::Register) note(warp, step, part.reg, lanes, cause);
}

Definedness::Value Definedness::value_of(const UndefinedRegisters& set,
                                         const Operand& operand) const {
  if (operand.kind == Operand::Kind::Register) {
    return {set.lanes[operand.reg], set.origin[operand.reg], set.bits[operand.reg],
            set.computed[operand.reg]};
  }
  Value all;
  for (const Operand& element : operand.elements) {
    const Value one = value_of(set, element);
    if (one.lanes != 0) all.origin = one.origin;
    all.lanes |= one.lanes;
    all.computed |= one.computed;
  }
  return all;
}

Definedness::Value Definedness::any_of(const UndefinedRegisters& set, const Instruction& in) const {
  Value all;
  for (size_t i = 1; i < in.operands.size(); ++i) {
    const Value one = value_of(set, in.operands[i]);
    if (one.lanes != 0) all.origin = one.origin;
    all.lanes |= one.lanes;
  }
  return all;
}

LogicOperand Definedness::operand_of(Warp& warp, const UndefinedRegisters& set,
                                     const Operand& operand) const {
  LogicOperand made;
  if (operand.kind != Operand::Kind::Register) {
    made.values.fill(operand.bits);
    made.constant = true;
    return made;
  }
  made.undefined = value_of(set, operand);
  const RegisterPlace& place = warp.code().registers[operand.reg];
  const uint32_t truth = place.bytes == 0 ? warp.pred(place.offset) : 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    made.values[lane] = place.bytes == 0   ? (truth >> lane & 1) ^ (operand.negated ? 1 : 0)
                        : place.bytes == 8 ? warp.u64(place.offset)[lane]
                                           : warp.u32(place.offset)[lane];
  }
  if (place.bytes == 0) made.undefined.bits = 1;
  return made;
}

/// Handles `and` and `or`: one operand may determine the result alone, or both hold parts of one
/// word.
Definedness::Value Definedness::combined(Warp& warp, const UndefinedRegisters& set,
                                         const Instruction& in) const {
  if (in.operands.size() != 3 || any_of(set, in).lanes == 0) return {};
  return combine(in.opcode == Opcode::Or ? Logic::Or : Logic::And,
                 operand_of(warp, set, in.operands[1]), operand_of(warp, set, in.operands[2]),
                 word_of(warp, in));
}

/// Handles vote.sync and redux.sync.
Definedness::Value Definedness::of_lanes(Warp& warp, const UndefinedRegisters& set,
                                         const Instruction& in) const {
  if (in.operands.size() != 3) return {};
  const MaskOperation kind =
      in.has(ptx::Modifier::Ballot)                             ? MaskOperation::Ballot
      : in.opcode == Opcode::Vote && in.has(ptx::Modifier::Any) ? MaskOperation::Any
      : in.opcode == Opcode::Vote && in.has(ptx::Modifier::All) ? MaskOperation::All
                                                                : MaskOperation::Reduce;
  return gathered(kind, operand_of(warp, set, in.operands[1]),
                  operand_of(warp, set, in.operands[2]), warp.masks.running);
}

Definedness::Value Definedness::all_of(const UndefinedRegisters& set, const Instruction& in) const {
  Value all{kNone, 0};
  const auto take = [&](const Operand& operand) {
    if (operand.kind != Operand::Kind::Register && operand.kind != Operand::Kind::Special) return;
    const Value one = operand.kind == Operand::Kind::Special ? Value{} : value_of(set, operand);
    all.lanes &= one.lanes;
    all.origin = one.origin;
    all.computed |= one.computed;
  };
  bool registers = false;
  for (size_t i = 1; i < in.operands.size(); ++i) {
    const Operand& operand = in.operands[i];
    registers = registers || operand.kind == Operand::Kind::Register || !operand.elements.empty();
    take(operand);
    for (const Operand& element : operand.elements) take(element);
  }
  return registers ? all : Value{};
}

/// Handles selp and slct: the value that the condition selects.
Definedness::Value Definedness::selected(Warp& warp, const UndefinedRegisters& set,
                                         const Instruction& in) const {
  if (in.operands.size() != 4) return any_of(set, in);
  if (in.opcode != Opcode::Selp || in.operands[3].kind != Operand::Kind::Register) return {};
  if (any_of(set, in).lanes == 0) return {};
  uint32_t picked = warp.pred(warp.code().registers[in.operands[3].reg].offset);
  if (in.operands[3].negated) picked = ~picked;
  return choose(operand_of(warp, set, in.operands[1]), operand_of(warp, set, in.operands[2]),
                value_of(set, in.operands[3]), {picked, word_of(warp, in)});
}

void Definedness::assign(UndefinedRegisters& set, const Operand& to, Value value, uint32_t mask) {
  for (const Operand& element : to.elements) assign(set, element, value, mask);
  if (to.kind != Operand::Kind::Register) return;
  const uint32_t kept = set.lanes[to.reg] & ~mask;
  set.lanes[to.reg] = kept | (value.lanes & mask);
  if ((value.lanes & mask) == 0) return;
  set.origin[to.reg] = value.origin;
  set.computed[to.reg] = (set.computed[to.reg] & kept) | (value.computed & value.lanes & mask);
  const bool known = value.bits != 0 && (kept == 0 || set.bits[to.reg] != 0);
  set.bits[to.reg] = known ? value.bits | (kept == 0 ? 0 : set.bits[to.reg]) : 0;
}

void Definedness::transfer(Warp& warp, UndefinedRegisters& set, const Instruction& in) {
  const uint32_t mask = warp.masks.running;
  const Operand& to = in.operands[0];
  const bool strictly = follows_strictly(*warp.launch);
  constexpr size_t kProductOperands = 4;
  const bool by_element = (in.opcode == Opcode::Mma || in.opcode == Opcode::Wmma) &&
                          in.operands.size() >= kProductOperands;
  if (by_element && warp.launch->inputs.checks.defers) return;  // The step follows each element.
  if (!strictly && in.has(Trait::MatrixProduct)) {
    // Only the accumulator is checked: operands may have unused rows.
    const Operand& from = by_element ? in.operands[kProductOperands - 1] : in.operands.back();
    for (size_t i = 0; i < to.elements.size(); ++i) {
      assign(set, to.elements[i],
             i < from.elements.size() ? value_of(set, from.elements[i]) : Value{}, mask);
    }
    return;
  }
  const auto of = [&](const Operand& operand) { return value_of(set, operand); };
  Value value;
  if (strictly) {
    value = in.opcode == Opcode::Selp                        ? picked(warp, in, of)
            : in.has(Trait::CombinesLanes)                   ? spread(any_of(set, in), mask)
            : in.has(Trait::Reads) && !in.has(Trait::Writes) ? Value{}
                                                             : any_of(set, in);
  } else if (in.has(Trait::Selects)) {
    value = selected(warp, set, in);
  } else if (in.opcode == Opcode::And || in.opcode == Opcode::Or) {
    value = combined(warp, set, in);
  } else if (may_ignore_operands(in)) {
    value = all_of(set, in);
  } else if (keeps_bits(in)) {
    value = value_of(set, in.operands[1]);
  } else if (is_shift(in)) {
    value = shifted(value_of(set, in.operands[1]), {in.opcode == Opcode::Shl, in.operands[2].bits},
                    word_of(warp, in));
  } else if (in.has(Trait::CombinesLanes)) {
    value = of_lanes(warp, set, in);
  } else if (!in.has(Trait::FreshResult)) {
    value = any_of(set, in);
  }
  if (!only_moves(in)) value.computed = value.lanes;
  if (strictly) {
    for_each_result(to, [&](uint32_t reg) {
      if (set.bits[reg] != kStays || set.lanes[reg] == 0) return;
      if ((value.lanes & mask) == 0) value.origin = set.origin[reg];
      value.lanes |= set.lanes[reg];
      value.bits = kStays;
    });
  }
  if (in.guard) {
    const Value guard = value_of(set, *in.guard);
    value.lanes |= guard.lanes;
    value.computed |= guard.lanes;
    assign(set, to, value, mask | guard.lanes);
    return;
  }
  assign(set, to, value, mask);
}

void Definedness::check_guard(Warp& warp, const Step& step, UndefinedRegisters& set) {
  const Instruction& in = instruction_of(warp, step);
  if (!in.guard || !in.has(Trait::UseIsVisible)) return;
  Value guard = value_of(set, *in.guard);
  guard.lanes &= warp.masks.active;
  if (guard.lanes == 0) return;
  if (in.opcode == Opcode::Bra && follows_strictly(*warp.launch)) {
    const auto skipped = skipped_assignments(*warp.code().source, in);
    for (const Instruction& one : skipped) {
      for_each_result(one.operands[0], [&](uint32_t reg) {
        set.lanes[reg] |= guard.lanes;
        set.origin[reg] = guard.origin;
        set.bits[reg] = kStays;
      });
    }
    if (!skipped.empty()) return;
  }
  use(warp, step, guard,
      in.opcode == Opcode::Bra ? "decides a branch" : "decides whether an instruction is executed");
  if (in.opcode == Opcode::Bra) end_soon(*warp.launch);
  set.lanes[in.guard->reg] = 0;
}

void Definedness::check_address(Warp& warp, const Step& step, UndefinedRegisters& set) {
  const Instruction& in = instruction_of(warp, step);
  if (!accesses_memory(in) || in.has(ptx::Modifier::Param)) return;
  for (const Operand& operand : in.operands) {
    if (operand.kind != Operand::Kind::Address || operand.elements.empty()) continue;
    Value base = value_of(set, operand.elements[0]);
    base.lanes &= warp.masks.running;
    if (base.lanes == 0) continue;
    use(warp, step, base, "is an address");
    set.lanes[operand.elements[0].reg] = 0;
  }
  const bool updates = in.opcode == Opcode::Atom || in.opcode == Opcode::Red;
  if (!updates || warp.launch->inputs.checks.defers) return;
  Value operand = value_of(set, in.operands.back());
  operand.lanes &= warp.masks.running;
  if (operand.lanes != 0) use(warp, step, operand, "is the operand of an atomic");
}

void Definedness::before(Warp& warp, const Step& step) {
  UndefinedRegisters& set = warp.frame().undefined;
  if (set.lanes.empty()) return;
  const Instruction& in = instruction_of(warp, step);
  if (follows_strictly(*warp.launch)) {
    const auto of = [&](const Operand& operand) { return value_of(set, operand); };
    Value lost = lost_in(in, of);
    lost.lanes &= warp.masks.running;
    if (lost.lanes != 0) use(warp, step, lost, "is an operand");
  }
  check_guard(warp, step, set);
  check_address(warp, step, set);
  // Shuffles note their result themselves; results of mbarrier instructions are not tracked.
  const bool assigns =
      !in.has(Trait::NoResult) && in.opcode != Opcode::Shfl && in.opcode != Opcode::Mbarrier;
  if (assigns && !in.operands.empty()) transfer(warp, set, in);
}

void Definedness::after(Warp& warp, const Step& step) {
  const bool noted = !notes_.empty();
  if (!noted && step.memory() == nullptr && !warp.launch->inputs.checks.defers) return;
  Frame& frame = warp.frame();
  UndefinedRegisters& set = frame.undefined;
  if (noted && set.lanes.empty()) {
    set.assign(frame.code->registers.size());
  }
  for (const Note& note : notes_) {
    if (note.step != &step) continue;
    set.lanes[note.reg] |= note.lanes;
    set.origin[note.reg] = note.origin;
    set.bits[note.reg] = 0;
    const bool is_computed = !origins_[note.origin].cause.is_moved;
    set.computed[note.reg] =
        (set.computed[note.reg] & ~note.lanes) | (is_computed ? note.lanes : 0);
  }
  std::erase_if(notes_, [&](const Note& note) { return note.step == &step; });
  if (set.lanes.empty()) return;
  const Opcode opcode = instruction_of(warp, step).opcode;
  if (step.memory() != nullptr && opcode == Opcode::St) stored(warp, step, set);
  const bool updates = opcode == Opcode::Atom || opcode == Opcode::Red;
  if (updates && warp.launch->inputs.checks.defers) combined_in_memory(warp, step, set);
}

void Definedness::catch_up(Warp& warp) {
  if (notes_.empty()) return;
  const Step* first = notes_.front().step;
  warp.masks.running = warp.masks.active;
  for (const Step* step = first; step <= warp.step; ++step) {
    if (step != first && step->counted != 0) before(warp, *step);
    after(warp, *step);
  }
  notes_.clear();
}

void Definedness::shuffled(Warp& warp, const Step& step, const std::array<uint32_t, kLanes>& from) {
  UndefinedRegisters& set = warp.frame().undefined;
  const Instruction& in = instruction_of(warp, step);
  if (set.lanes.empty() || in.operands.size() < 2) return;
  const Value source = value_of(set, in.operands[1]);
  Value moved{0, source.origin};
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    moved.lanes |= (source.lanes >> (from[lane] & 31) & 1) << lane;
    moved.computed |= (source.computed >> (from[lane] & 31) & 1) << lane;
  }
  const Operand& to = in.operands[0];
  assign(set, to.elements.empty() ? to : to.elements[0], moved, warp.masks.running);
}

void Definedness::use(Warp& warp, const Step& step, Value value, const std::string& how) {
  const Origin& origin = origins_[value.origin];
  const auto lane = static_cast<uint32_t>(std::countr_zero(value.lanes));
  const auto count = static_cast<uint64_t>(std::popcount(value.lanes));
  const Instruction& in = instruction_of(warp, step);
  if (origin.step == nullptr) {
    return report_check(
        warp, step,
        {.kind = DeviceFindingKind::Uninitialized,
         .message = "a register that nothing wrote " + how + "; give the variable a value",
         .lane = lane,
         .count = count});
  }
  report_check(warp, *origin.step,
               {.kind = origin.cause.kind,
                .message = fmt::format("{}; the value {} in {}", origin.cause.what, how,
                                       describe(warp.launch->inputs.program->module, in)),
                .lane = lane,
                .tensor = origin.cause.tensor,
                .byte_offset = origin.cause.byte_offset,
                .count = count,
                .other = &in,
                .code = origin.code});
}

}  // namespace gpuemu::emulator
