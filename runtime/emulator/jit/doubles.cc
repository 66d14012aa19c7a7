// f64. A NaN keeps the payload of one operand, quieted; the chip has its own order of operands.
#include "runtime/emulator/jit/operations.h"

namespace gpuemu::emulator {
namespace {
using Xbyak::CodeGenerator;
using Xbyak::Zmm;

constexpr uint64_t kQuiet = uint64_t{1} << 51, kSign = uint64_t{1} << 63;

using Arithmetic = void (CodeGenerator::*)(const Xbyak::Xmm&, const Xbyak::Operand&,
                                           const Xbyak::Operand&);

/// Where `operand` is no number, `out` becomes it.
void prefer_nan(Emitter& e, const Zmm& out, const Zmm& operand) {
  e.vcmppd(e.k7, operand, operand, kUnordered);
  e.vporq(out | e.k7, operand, e.splat64(kQuiet));
}

/// Swaps the operands: the GPU keeps the second of two NaNs, the processor the first.
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

/// The second operand's NaN goes first, then the third's.
void fused(Emitter& e, const Step& step) {
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

/// From the half of a vector of 32-bit values.
using Widening = void (CodeGenerator::*)(const Xbyak::Xmm&, const Xbyak::Operand&);
Emit widened(Widening instruction) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                  out = e.write(step.dst, RegisterClass::Wide);
    const Xbyak::Ymm half(e.scratch(0).getIdx());
    for (uint32_t i = 0; i < out.count; ++i) {
      e.vextracti64x4(half, a.at[i / 2], static_cast<uint8_t>(i % 2));
      (e.*instruction)(out.at[i], half);
    }
  };
}
}  // namespace

void add_doubles(Operations& all) {
  all.add("add.f64", swapped(&CodeGenerator::vaddpd));
  all.add("mul.f64", swapped(&CodeGenerator::vmulpd));
  all.add("sub.f64", subtract);
  all.add("div.f64", divide);
  all.add("fma.f64", fused);
  all.add("neg.f64", with_bits(&CodeGenerator::vpxorq, kSign));
  all.add("abs.f64", with_bits(&CodeGenerator::vpandq, ~kSign));
  all.add("cvt.f64.f32", widened(&CodeGenerator::vcvtps2pd));
  all.add("cvt.f64.s32", widened(&CodeGenerator::vcvtdq2pd));
  all.add("cvt.f64.u32", widened(&CodeGenerator::vcvtudq2pd));
}

}  // namespace gpuemu::emulator
