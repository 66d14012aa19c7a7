// Compiles integers of 8 and 16 bits, f16 and bf16. Registers hold 8- and 16-bit integers in words
// with zero upper bits; readers use only the lower bits.
#include "common/base/check.h"
#include "runtime/emulator/jit/operations.h"

namespace gpuemu::emulator {
namespace {
using Xbyak::CodeGenerator;

constexpr uint32_t kNan16 = 0x7fff;
constexpr uint32_t kBits = 32;

/// Keeps only the lower bits of the result of `emit`.
Emit cut(uint32_t mask, const Emit& emit) {
  return [=](Emitter& e, const Step& step) {
    emit(e, step);
    const Vectors out = e.read(step.dst, RegisterClass::Narrow);
    for (uint32_t i = 0; i < out.count; ++i) e.bit_and(out.at[i], out.at[i], e.splat(mask));
  };
}

Emit zero_extend(uint32_t mask) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                  out = e.write(step.dst, RegisterClass::Narrow);
    for (uint32_t i = 0; i < out.count; ++i) e.bit_and(out.at[i], a.at[i], e.splat(mask));
  };
}

Emit sign_extend(uint32_t bits) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                  out = e.write(step.dst, RegisterClass::Narrow);
    const auto by = static_cast<uint8_t>(kBits - bits);
    for (uint32_t i = 0; i < out.count; ++i) {
      e.vpslld(out.at[i], a.at[i], by);
      e.vpsrad(out.at[i], out.at[i], by);
    }
  };
}

/// Compares the lower 16 bits for equality.
Emit equal(bool wanted) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                  b = e.read(step.src[1], RegisterClass::Narrow);
    const Masks out = e.write_masks(step.dst);
    for (uint32_t i = 0; i < out.count; ++i) {
      e.compare_low_words(out.at[i], a.at[i], b.at[i], wanted);
    }
  };
}

Emit select() {
  return [](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                  b = e.read(step.src[1], RegisterClass::Narrow);
    const Masks chosen = e.read_masks(step.src[2]);
    const Vectors out = e.write(step.dst, RegisterClass::Narrow);
    for (uint32_t i = 0; i < out.count; ++i) {
      e.select(out.at[i], chosen.at[i], a.at[i], b.at[i]);
      e.bit_and(out.at[i], out.at[i], e.splat(kLow16));
    }
  };
}

/// Inverts the lower bits; the upper ones stay zero.
void invert(Emitter& e, const Step& step) {
  const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                out = e.write(step.dst, RegisterClass::Narrow);
  for (uint32_t i = 0; i < out.count; ++i) e.bit_and_not(out.at[i], a.at[i], e.splat(kLow16));
}

void from_half(Emitter& e, const Step& step) {
  const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                out = e.write(step.dst, RegisterClass::Narrow, Nan::Any);
  for (uint32_t i = 0; i < out.count; ++i) {
    e.vcvtph2ps(out.at[i], e.pack_words(e.scratch(0), a.at[i]));
  }
}

/// Rounds to the nearest, ties to even; NaN results are canonical.
void to_half(Emitter& e, const Step& step) {
  const Vectors a = e.read(step.src[0], RegisterClass::Narrow, Nan::Any),
                out = e.write(step.dst, RegisterClass::Narrow);
  const Vector halves = e.lower(e.scratch(0));
  for (uint32_t i = 0; i < out.count; ++i) {
    e.vcvtps2ph(halves, a.at[i], 0);
    e.vpmovzxwd(out.at[i], halves);
    e.flag_floats(a.at[i], a.at[i], kUnordered);
    e.take_flagged(out.at[i], kNan16);
  }
}

/// Widens a bfloat16, which is the upper half of an f32.
void from_bfloat(Emitter& e, const Step& step) {
  const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                out = e.write(step.dst, RegisterClass::Narrow);
  for (uint32_t i = 0; i < out.count; ++i) e.vpslld(out.at[i], a.at[i], 16);
}

void to_bfloat(Emitter& e, const Step& step) {
  const Vectors a = e.read(step.src[0], RegisterClass::Narrow, Nan::Any),
                out = e.write(step.dst, RegisterClass::Narrow);
  constexpr uint32_t kBelowHalf = 0x7fff;
  const Vector odd = e.scratch(0);
  for (uint32_t i = 0; i < out.count; ++i) {
    e.vpsrld(odd, a.at[i], 16);
    e.bit_and(odd, odd, e.splat(1));
    e.vpaddd(odd, odd, a.at[i]);
    e.vpaddd(odd, odd, e.splat(kBelowHalf));
    e.vpsrld(out.at[i], odd, 16);
    e.flag_floats(a.at[i], a.at[i], kUnordered);
    e.take_flagged(out.at[i], kNan16);
  }
}

/// Nearly all selectors are constants without sign replication.
bool has_plain_selector(const Code& code, const Step& step) {
  constexpr uint32_t kSigns = 0x8888;
  const auto selector = constant_at(code, step.src[2]);
  return selector && (*selector & kSigns) == 0;
}

/// Selects bytes of two words. Requires has_plain_selector().
void permute_bytes(Emitter& e, const Step& step) {
  constexpr uint32_t kBytes = 4, kNoByte = 0x80;
  const auto selector = constant_at(e.code(), step.src[2]);
  GPUEMU_CHECK(selector.has_value());
  std::array<uint32_t, 16> of_first{}, of_second{};
  for (uint32_t lane = 0; lane < of_first.size(); ++lane) {
    for (uint32_t byte = 0; byte < kBytes; ++byte) {
      const uint32_t from = *selector >> (4 * byte) & 7, place = 8 * byte;
      const uint32_t at = lane % 4 * kBytes + from % kBytes;
      of_first[lane] |= (from < kBytes ? at : kNoByte) << place;
      of_second[lane] |= (from < kBytes ? kNoByte : at) << place;
    }
  }
  const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                b = e.read(step.src[1], RegisterClass::Narrow),
                out = e.write(step.dst, RegisterClass::Narrow);
  for (uint32_t i = 0; i < out.count; ++i) {
    e.vpshufb(out.at[i], a.at[i], e.constant(of_first));
    e.vpshufb(e.scratch(0), b.at[i], e.constant(of_second));
    e.bit_or(out.at[i], out.at[i], e.scratch(0));
  }
}

void add_half_conversions(Operations& all) {
  for (const std::string to : {"u32", "s32", "u16", "s16"}) {
    for (const std::string sign : {"u", "s"}) {
      const bool narrow = to.ends_with("16");
      const Emit from16 = sign == "u" || narrow ? zero_extend(kLow16) : sign_extend(16);
      all.add("cvt." + to + "." + sign + "16", from16);
      const Emit from8 = sign == "u" ? zero_extend(kLow8) : sign_extend(8);
      all.add("cvt." + to + "." + sign + "8", narrow ? cut(kLow16, from8) : from8);
      if (narrow) all.add("cvt." + to + "." + sign + "32", zero_extend(kLow16));
    }
  }
  for (const std::string from : {"u32", "s32", "u16", "s16"}) {
    all.add("cvt.u8." + from, zero_extend(kLow8));
    all.add("cvt.s8." + from, zero_extend(kLow8));
  }
  all.add("cvt.f32.f16", from_half);
  all.add("cvt.f16.f32", to_half);
  all.add("cvt.f32.bf16", from_bfloat);
  all.add("cvt.bf16.f32", to_bfloat);
}
}  // namespace

void add_halves(Operations& all) {
  const auto of_words = [&](const std::string& key, Ternary instruction) {
    all.add(key, cut(kLow16, lane_by_lane(RegisterClass::Narrow, instruction)));
  };
  for (const std::string type : {"u16", "s16"}) {
    of_words("add." + type, &CodeGenerator::vpaddd);
    of_words("sub." + type, &CodeGenerator::vpsubd);
    of_words("mul.lo." + type, &CodeGenerator::vpmulld);
    all.add("setp.eq." + type, equal(true));
    all.add("setp.ne." + type, equal(false));
  }
  of_words("and.b16", &Assembler::bit_and);
  of_words("or.b16", &Assembler::bit_or);
  of_words("xor.b16", &Assembler::bit_xor);
  of_words("shl.b16", &CodeGenerator::vpsllvd);
  all.add("not.b16", invert);
  all.add("mov.b16", zero_extend(kLow16));
  all.add("selp.b16", select());
  all.add("prmt.b32", permute_bytes, has_plain_selector);
  add_half_conversions(all);
}

}  // namespace gpuemu::emulator
