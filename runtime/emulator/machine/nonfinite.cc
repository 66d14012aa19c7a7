#include "runtime/emulator/machine/nonfinite.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {
namespace {
using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

/// Returns the type of the result (0) or of the operands (1), which differ only in conversions.
Type type_of(const Instruction& in, uint32_t which) {
  Type found = Type::None;
  uint32_t seen = 0;
  for (const std::string& modifier : in.modifiers) {
    if (const auto type = ptx::type_from_name(modifier)) {
      found = *type;
      if (seen++ == which) break;
    }
  }
  return found;
}

enum class Class : uint8_t { Finite, Infinity, NaN };

Class class_of(uint64_t bits, int mantissa, int exponent) {
  const uint64_t top = ((uint64_t{1} << exponent) - 1) << mantissa;
  if ((bits & top) != top) return Class::Finite;
  return (bits & ((uint64_t{1} << mantissa) - 1)) != 0 ? Class::NaN : Class::Infinity;
}

Class class_of(Type type, uint64_t bits) {
  const auto both = [&](int mantissa, int exponent) {
    return std::max(class_of(bits & 0xffff, mantissa, exponent),
                    class_of(bits >> 16 & 0xffff, mantissa, exponent));
  };
  switch (type) {
    case Type::F32:
      return class_of(bits, 23, 8);
    case Type::F64:
      return class_of(bits, 52, 11);
    case Type::F16:
      return class_of(bits, 10, 5);
    case Type::BF16:
      return class_of(bits, 7, 8);
    case Type::F16x2:
      return both(10, 5);
    case Type::BF16x2:
      return both(7, 8);
    default:
      return Class::Finite;
  }
}

uint64_t bits_of(Warp& warp, const Operand& operand, uint32_t lane) {
  if (operand.kind != Operand::Kind::Register) return operand.bits;
  const RegisterPlace& place = warp.code().registers[operand.reg];
  if (place.bytes == 0) return 0;
  return place.bytes == 8 ? warp.u64(place.offset)[lane] : warp.u32(place.offset)[lane];
}

bool is_value(const Operand& operand) {
  return operand.kind == Operand::Kind::Register || operand.kind == Operand::Kind::Float;
}
}  // namespace

void Nonfinite::before(Warp& warp, const Step& step) {
  finish(warp);
  const Instruction& in = instruction_of(warp, step);
  if (!in.has(ptx::Trait::MakesNonFinite) || in.operands.size() < 2) return;
  if (in.operands[0].kind != Operand::Kind::Register) return;
  step_ = &step;
  code_ = &warp.code();
  lanes_ = warp.masks.running;
  const Type type = type_of(in, 1);
  for (size_t i = 1; i < in.operands.size(); ++i) {
    if (!is_value(in.operands[i])) continue;
    for (uint32_t left = lanes_; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      if (class_of(type, bits_of(warp, in.operands[i], lane)) != Class::Finite) {
        lanes_ &= ~(uint32_t{1} << lane);
      }
    }
  }
}

void Nonfinite::finish(Warp& warp) {
  if (step_ == nullptr) return;
  const Step& step = *step_;
  step_ = nullptr;
  if (code_ != &warp.code()) return;
  const Instruction& in = instruction_of(warp, step);
  const Type type = type_of(in, 0);
  for (uint32_t left = lanes_; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const Class made = class_of(type, bits_of(warp, in.operands[0], lane));
    if (made == Class::Finite) continue;
    const uint32_t bit = made == Class::NaN ? 1 : 2;
    if (!warp.launch->report.note_nonfinite(bit)) continue;
    report_check(warp, step,
                 {.kind = made == Class::NaN ? DeviceFindingKind::NonfiniteNan
                                             : DeviceFindingKind::NonfiniteInf,
                  .message = fmt::format("the first {} of this launch comes from finite operands",
                                         made == Class::NaN ? "NaN" : "infinity"),
                  .lane = lane});
  }
}

}  // namespace gpuemu::emulator
