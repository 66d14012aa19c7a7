#include "runtime/emulator/memory/undefined_bits.h"

#include <bit>

namespace gpuemu::emulator {
namespace {

constexpr uint64_t kWordBits = 64;

/// Collects the results of single lanes.
class Collected {
 public:
  void add(uint32_t lane, uint32_t origin, uint64_t bits) {
    if (all_.lanes == 0) all_.origin = origin;
    all_.lanes |= uint32_t{1} << lane;
    all_.bits |= bits;
    known_ = known_ && bits != 0;
  }
  UndefinedValue value() const { return {all_.lanes, all_.origin, known_ ? all_.bits : 0}; }

 private:
  UndefinedValue all_;
  bool known_ = true;
};

bool has(const UndefinedValue& value, uint32_t lane) { return (value.lanes >> lane & 1) != 0; }

/// Returns the bits whose value does not depend on the undefined ones.
uint64_t decided_by(Logic logic, const LogicOperand& operand, uint32_t lane, uint64_t undefined) {
  const uint64_t value = operand.values[lane];
  return (logic == Logic::Or ? value : ~value) & ~undefined;
}

}  // namespace

UndefinedValue combine(Logic logic, const LogicOperand& a, const LogicOperand& b, uint64_t word) {
  Collected all;
  for (uint32_t left = a.undefined.lanes | b.undefined.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const bool in_a = has(a.undefined, lane), in_b = has(b.undefined, lane);
    const uint64_t bits_a = in_a ? a.undefined.bits : 0, bits_b = in_b ? b.undefined.bits : 0;
    const uint32_t origin = in_a ? a.undefined.origin : b.undefined.origin;
    if ((in_a && bits_a == 0) || (in_b && bits_b == 0)) {
      if ((in_a || a.constant) && (in_b || b.constant)) all.add(lane, origin, 0);
      continue;
    }
    const uint64_t bits = (bits_a | bits_b) & word & ~decided_by(logic, a, lane, bits_a) &
                          ~decided_by(logic, b, lane, bits_b);
    if (bits != 0) all.add(lane, origin, bits);
  }
  return all.value();
}

UndefinedValue choose(const LogicOperand& yes, const LogicOperand& no, UndefinedValue condition,
                      Choice choice) {
  Collected all;
  const uint32_t concerned = yes.undefined.lanes | no.undefined.lanes | condition.lanes;
  for (uint32_t left = concerned; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const LogicOperand& taken = (choice.picked >> lane & 1) != 0 ? yes : no;
    if (!has(condition, lane)) {
      if (has(taken.undefined, lane)) all.add(lane, taken.undefined.origin, taken.undefined.bits);
      continue;
    }
    const bool in_yes = has(yes.undefined, lane), in_no = has(no.undefined, lane);
    const bool known = (!in_yes || yes.undefined.bits != 0) && (!in_no || no.undefined.bits != 0);
    const uint64_t bits = ((yes.values[lane] ^ no.values[lane]) & choice.word) |
                          (in_yes ? yes.undefined.bits : 0) | (in_no ? no.undefined.bits : 0);
    if (known && bits == 0) continue;  // Both choices are the same.
    all.add(lane, has(taken.undefined, lane) ? taken.undefined.origin : condition.origin,
            known ? bits : 0);
  }
  return all.value();
}

UndefinedValue gathered(MaskOperation kind, const LogicOperand& source, const LogicOperand& members,
                        uint32_t executing) {
  Collected all;
  if ((source.undefined.lanes & executing) == 0) return {};
  uint32_t truths = 0;
  for (uint32_t lane = 0; lane < kUndefinedLanes; ++lane) {
    truths |= (source.values[lane] != 0 ? uint32_t{1} : 0) << lane;
  }
  for (uint32_t left = executing; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint32_t group = static_cast<uint32_t>(members.values[lane]) & executing;
    const uint32_t unknown = group & source.undefined.lanes, known = group & ~unknown;
    const bool decided = (kind == MaskOperation::Any && (known & truths) != 0) ||
                         (kind == MaskOperation::All && (known & ~truths) != 0);
    if (unknown == 0 || decided) continue;
    all.add(lane, source.undefined.origin, kind == MaskOperation::Ballot ? unknown : 0);
  }
  return all.value();
}

UndefinedValue shifted(UndefinedValue value, Shift shift, uint64_t word) {
  if (value.bits == 0) return value;
  const bool gone = shift.count >= kWordBits;
  value.bits = gone ? 0 : shift.left ? value.bits << shift.count & word : value.bits >> shift.count;
  if (value.bits == 0) value.lanes = 0;
  return value;
}

}  // namespace gpuemu::emulator
