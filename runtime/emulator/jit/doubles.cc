// Compiles f64 arithmetic. A NaN result keeps the payload of one operand, made quiet; GPU and x86
// differ in which operand that is.
#include "runtime/emulator/jit/operations.h"

namespace gpuemu::emulator {
namespace {
using Xbyak::CodeGenerator;

constexpr uint64_t kQuiet = uint64_t{1} << 51;

using Arithmetic = void (CodeGenerator::*)(const Xbyak::Xmm&, const Xbyak::Operand&,
                                           const Xbyak::Operand&);

/// Replaces `out` by `operand` where that is NaN.
void prefer_nan(Emitter& e, const Vector& out, const Vector& operand) {
  e.flag_doubles(operand, operand, kUnordered);
  e.take_flagged64(out, operand, kQuiet);
}

/// Swaps the operands: of two NaNs the GPU keeps the second, x86 the first.
Emit swapped(Arithmetic instruction) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Wide),
                  b = e.read(step.src[1], RegisterClass::Wide),
                  out = e.write(step.dst, RegisterClass::Wide);
    for (uint32_t i = 0; i < out.count; ++i) (e.*instruction)(out.at[i], b.at[i], a.at[i]);
  };
}

void subtract(Emitter& e, const Step& step) {
  const Vectors a = e.read(step.src[0], RegisterClass::Wide),
                b = e.read(step.src[1], RegisterClass::Wide),
                out = e.write(step.dst, RegisterClass::Wide);
  for (uint32_t i = 0; i < out.count; ++i) {
    e.vsubpd(out.at[i], a.at[i], b.at[i]);
    prefer_nan(e, out.at[i], b.at[i]);
  }
}

void divide(Emitter& e, const Step& step) {
  const Vectors a = e.read(step.src[0], RegisterClass::Wide),
                b = e.read(step.src[1], RegisterClass::Wide),
                out = e.write(step.dst, RegisterClass::Wide);
  for (uint32_t i = 0; i < out.count; ++i) e.vdivpd(out.at[i], a.at[i], b.at[i]);
}

/// A NaN in the second operand takes precedence, then one in the third.
void fused_double(Emitter& e, const Step& step) {
  const Vectors a = e.read(step.src[0], RegisterClass::Wide),
                b = e.read(step.src[1], RegisterClass::Wide),
                c = e.read(step.src[2], RegisterClass::Wide),
                out = e.write(step.dst, RegisterClass::Wide);
  for (uint32_t i = 0; i < out.count; ++i) {
    e.vmovapd(out.at[i], a.at[i]);
    e.vfmadd213pd(out.at[i], b.at[i], c.at[i]);
    prefer_nan(e, out.at[i], c.at[i]);
    prefer_nan(e, out.at[i], b.at[i]);
  }
}

/// A NaN keeps its sign.
Emit with_bits(Ternary instruction, uint64_t bits) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Wide),
                  out = e.write(step.dst, RegisterClass::Wide);
    for (uint32_t i = 0; i < out.count; ++i) {
      (e.*instruction)(out.at[i], a.at[i], e.splat64(bits));
      prefer_nan(e, out.at[i], a.at[i]);
    }
  };
}

/// Conversions from the lower or upper half of a vector of 32-bit values.
template <typename Widening>
Emit widened(Widening instruction) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                  out = e.write(step.dst, RegisterClass::Wide);
    for (uint32_t i = 0; i < out.count; ++i) {
      (e.*instruction)(out.at[i], e.half_of(a.at[i / 2], i % 2 != 0, e.scratch(0)));
    }
  };
}
}  // namespace

void add_doubles(Operations& all) {
  all.add("add.f64", swapped(&CodeGenerator::vaddpd));
  all.add("mul.f64", swapped(&CodeGenerator::vmulpd));
  all.add("sub.f64", subtract);
  all.add("div.f64", divide);
  all.add("fma.f64", fused_double);
  all.add("neg.f64", with_bits(&Assembler::bit_xor, kSign64));
  all.add("abs.f64", with_bits(&Assembler::bit_and, ~kSign64));
  all.add("cvt.f64.f32", widened(&CodeGenerator::vcvtps2pd));
  all.add("cvt.f64.s32", widened(&CodeGenerator::vcvtdq2pd));
  all.add("cvt.f64.u32", widened(&Assembler::unsigned_to_double));
}

}  // namespace gpuemu::emulator
