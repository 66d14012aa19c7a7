// Compiles f32 arithmetic. Its NaN results are the GPU's canonical NaN, which the emitter writes
// when the value leaves the registers.
#include "runtime/emulator/jit/operations.h"

namespace gpuemu::emulator {
namespace {
using Xbyak::CodeGenerator;

constexpr uint32_t kOne = 0x3f800000, kMagnitude = 0x7fffffff;

/// Adds the step's rounding to the instruction just emitted, which must have 16 lanes and register
/// operands only. The rounding mode is in the fourth byte of EVEX, in place of the vector length
/// (Intel's manual, volume 2, 2.7.1). Xbyak supports it for some instructions, but not for fma.
void round_as(Emitter& e, const Step& step) {
  constexpr size_t kBytes = 6, kFourth = 3;
  constexpr uint32_t kModeAt = 5, kModes = 3, kRounds = 0x10;
  const size_t at = e.getSize() - kBytes + kFourth;
  const uint32_t plain = e.getCode()[at] & ~(kModes << kModeAt);
  e.rewrite(at, plain | step.operands.get<RoundingOperands>().mode << kModeAt | kRounds, 1);
}

/// vaddps and similar instructions.
using FloatTernary = void (CodeGenerator::*)(const Xbyak::Xmm&, const Xbyak::Operand&,
                                             const Xbyak::Operand&);

/// Adds the form without explicit rounding, and the form with it if instructions of the target have
/// a rounding mode of their own.
void add_both(Operations& all, const std::string& key, const std::function<Emit(bool)>& emit) {
  all.add(key, emit(false));
  if (all.target() == Target::Avx512) all.add_rounded(key, emit(true));
}

std::function<Emit(bool)> of_two(FloatTernary instruction) {
  return [=](bool rounds) {
    return [=](Emitter& e, const Step& step) {
      const Vectors a = e.read(step.src[0], RegisterClass::Narrow, Nan::Any),
                    b = e.read(step.src[1], RegisterClass::Narrow, Nan::Any),
                    out = e.write(step.dst, RegisterClass::Narrow, Nan::Any);
      for (uint32_t i = 0; i < out.count; ++i) {
        (e.*instruction)(out.at[i], a.at[i], b.at[i]);
        if (rounds) round_as(e, step);
      }
    };
  };
}

Emit fused(bool rounds) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow, Nan::Any),
                  b = e.read(step.src[1], RegisterClass::Narrow, Nan::Any),
                  c = e.read(step.src[2], RegisterClass::Narrow, Nan::Any),
                  out = e.write(step.dst, RegisterClass::Narrow, Nan::Any);
    for (uint32_t i = 0; i < out.count; ++i) {
      e.vmovaps(out.at[i], a.at[i]);
      e.vfmadd213ps(out.at[i], b.at[i], c.at[i]);
      if (rounds) round_as(e, step);
    }
  };
}

Emit root(bool rounds) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow, Nan::Any),
                  out = e.write(step.dst, RegisterClass::Narrow, Nan::Any);
    for (uint32_t i = 0; i < out.count; ++i) {
      e.vsqrtps(out.at[i], a.at[i]);
      if (rounds) round_as(e, step);
    }
  };
}

Emit inverse(bool rounds) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow, Nan::Any),
                  out = e.write(step.dst, RegisterClass::Narrow, Nan::Any);
    const Vector one = e.scratch(0);
    e.vpbroadcastd(one, e.single(kOne));
    for (uint32_t i = 0; i < out.count; ++i) {
      e.vdivps(out.at[i], one, a.at[i]);
      if (rounds) round_as(e, step);
    }
  };
}

Emit with_bits(Ternary instruction, uint32_t bits) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow, Nan::Any),
                  out = e.write(step.dst, RegisterClass::Narrow, Nan::Any);
    for (uint32_t i = 0; i < out.count; ++i) (e.*instruction)(out.at[i], a.at[i], e.splat(bits));
  };
}

/// A number takes precedence over NaN.
using Extreme = void (Assembler::*)(const Vector&, const Vector&, const Vector&);
Emit extreme(Extreme which) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow, Nan::Any),
                  b = e.read(step.src[1], RegisterClass::Narrow, Nan::Any),
                  out = e.write(step.dst, RegisterClass::Narrow, Nan::Any);
    for (uint32_t i = 0; i < out.count; ++i) {
      (e.*which)(out.at[i], a.at[i], b.at[i]);
      e.flag_floats(a.at[i], a.at[i], kUnordered);
      e.take_flagged(out.at[i], b.at[i]);
      e.flag_floats(b.at[i], b.at[i], kUnordered);
      e.take_flagged(out.at[i], a.at[i]);
    }
  };
}

/// If the first operand is NaN, vmaxps gives the second; for two zeros too.
void saturate(Emitter& e, const Step& step) {
  const Vectors a = e.read(step.src[0], RegisterClass::Narrow, Nan::Any),
                out = e.write(step.dst, RegisterClass::Narrow);
  const Vector zero = e.scratch(0);
  e.bit_xor(zero, zero, zero);
  for (uint32_t i = 0; i < out.count; ++i) {
    e.vmaxps(out.at[i], a.at[i], zero);
    e.vminps(out.at[i], out.at[i], e.splat(kOne));
  }
}

/// Rounds toward zero. x86 gives the smallest integer for NaN and for values that do not fit.
void to_integer(Emitter& e, const Step& step) {
  constexpr uint32_t kTwoTo31 = 0x4f000000, kGreatest = 0x7fffffff;
  constexpr uint8_t kAtLeast = 0x1d;  ///< Predicate of vcmpps.
  const Vectors a = e.read(step.src[0], RegisterClass::Narrow, Nan::Any),
                out = e.write(step.dst, RegisterClass::Narrow);
  for (uint32_t i = 0; i < out.count; ++i) {
    e.vcvttps2dq(out.at[i], a.at[i]);
    e.flag_floats(a.at[i], e.splat(kTwoTo31), kAtLeast);
    e.take_flagged(out.at[i], kGreatest);
    e.flag_floats(a.at[i], a.at[i], kUnordered);
    e.take_flagged(out.at[i], 0);
  }
}

void add_float_conversions(Operations& all) {
  all.add("cvt.f32.s32", [](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                  out = e.write(step.dst, RegisterClass::Narrow);
    for (uint32_t i = 0; i < out.count; ++i) e.vcvtdq2ps(out.at[i], a.at[i]);
  });
  all.add("cvt.f32.u32", [](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                  out = e.write(step.dst, RegisterClass::Narrow);
    for (uint32_t i = 0; i < out.count; ++i) e.unsigned_to_float(out.at[i], a.at[i]);
  });
  all.add("cvt.sat.f32.f32", saturate);
  all.add("cvt.rzi.s32.f32", to_integer);
}
}  // namespace

void add_floats(Operations& all) {
  add_both(all, "add.f32", of_two(&CodeGenerator::vaddps));
  add_both(all, "sub.f32", of_two(&CodeGenerator::vsubps));
  add_both(all, "mul.f32", of_two(&CodeGenerator::vmulps));
  add_both(all, "div.f32", of_two(&CodeGenerator::vdivps));
  add_both(all, "fma.f32", fused);
  add_both(all, "sqrt.f32", root);
  add_both(all, "rcp.f32", inverse);
  all.add("neg.f32", with_bits(&Assembler::bit_xor, kSign32));
  all.add("abs.f32", with_bits(&Assembler::bit_and, kMagnitude));
  all.add("min.f32", extreme(&Assembler::min_float));
  all.add("max.f32", extreme(&Assembler::max_float));
  add_float_conversions(all);
}

}  // namespace gpuemu::emulator
