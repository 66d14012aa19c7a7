// Compiles integer arithmetic, bit operations, moves and conversions between integers.
#include "common/base/check.h"
#include "runtime/emulator/jit/operations.h"

namespace gpuemu::emulator {
namespace {
using Xbyak::CodeGenerator;

/// Emits `mul` followed by `add`.
Emit multiply_add(RegisterClass slot, Ternary multiply, Ternary add) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], slot), b = e.read(step.src[1], slot),
                  c = e.read(step.src[2], slot), out = e.write(step.dst, slot);
    for (uint32_t i = 0; i < out.count; ++i) {
      (e.*multiply)(e.scratch(i), a.at[i], b.at[i]);
      (e.*add)(out.at[i], e.scratch(i), c.at[i]);
    }
  };
}

/// Emits 64-bit products of 32-bit numbers, optionally plus a third operand.
Emit multiply_wide(bool is_signed, bool adds) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                  b = e.read(step.src[1], RegisterClass::Narrow);
    const Vectors c = adds ? e.read(step.src[2], RegisterClass::Wide) : Vectors{};
    const Vectors out = e.write(step.dst, RegisterClass::Wide);
    const Vector left = e.scratch(0), right = e.scratch(1);
    for (uint32_t i = 0; i < out.count; ++i) {
      widen(e, left, a, i, is_signed);
      widen(e, right, b, i, is_signed);
      if (is_signed) {
        e.vpmuldq(out.at[i], left, right);
      } else {
        e.vpmuludq(out.at[i], left, right);
      }
      if (adds) e.vpaddq(out.at[i], out.at[i], c.at[i]);
    }
  };
}

/// For shift counts of the width or more, x86 vector shifts give the same result as PTX.
Emit shift_wide(Ternary shift) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Wide),
                  by = e.read(step.src[1], RegisterClass::Narrow);
    const Vectors out = e.write(step.dst, RegisterClass::Wide);
    for (uint32_t i = 0; i < out.count; ++i) {
      widen(e, e.scratch(0), by, i, false);
      (e.*shift)(out.at[i], a.at[i], e.scratch(0));
    }
  };
}

Emit invert(RegisterClass slot) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], slot), out = e.write(step.dst, slot);
    for (uint32_t i = 0; i < out.count; ++i) e.bit_not(out.at[i], a.at[i]);
  };
}

Emit negate(RegisterClass slot, Ternary subtract) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], slot), out = e.write(step.dst, slot);
    const Vector zero = e.scratch(0);
    e.bit_xor(zero, zero, zero);
    for (uint32_t i = 0; i < out.count; ++i) (e.*subtract)(out.at[i], zero, a.at[i]);
  };
}

Emit move(RegisterClass slot) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], slot), out = e.write(step.dst, slot);
    for (uint32_t i = 0; i < out.count; ++i) e.copy(out.at[i], a.at[i]);
  };
}

Emit extend(bool is_signed) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                  out = e.write(step.dst, RegisterClass::Wide);
    for (uint32_t i = 0; i < out.count; ++i) widen(e, out.at[i], a, i, is_signed);
  };
}

void truncate(Emitter& e, const Step& step) {
  const Vectors a = e.read(step.src[0], RegisterClass::Wide),
                out = e.write(step.dst, RegisterClass::Narrow);
  for (uint32_t i = 0; i < out.count; ++i) {
    e.truncate(out.at[i], a.at[2 * i], a.at[2 * i + 1]);
  }
}

/// The truth table is nearly always a constant.
bool has_constant_table(const Code& code, const Step& step) {
  return constant_at(code, step.src[3]).has_value();
}

/// Requires has_constant_table().
void any_logic(Emitter& e, const Step& step) {
  const auto table = constant_at(e.code(), step.src[3]);
  GPUEMU_CHECK(table.has_value());
  const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                b = e.read(step.src[1], RegisterClass::Narrow),
                c = e.read(step.src[2], RegisterClass::Narrow),
                out = e.write(step.dst, RegisterClass::Narrow);
  for (uint32_t i = 0; i < out.count; ++i) {
    e.bit_table(out.at[i], a.at[i], b.at[i], c.at[i], static_cast<uint8_t>(*table));
  }
}

void add_arithmetic(Operations& all) {
  for (const std::string sign : {"s", "u"}) {
    const bool is_signed = sign == "s";
    const std::string narrow = sign + "32", wide = sign + "64";
    all.add("add." + narrow, lane_by_lane(RegisterClass::Narrow, &CodeGenerator::vpaddd));
    all.add("add." + wide, lane_by_lane(RegisterClass::Wide, &CodeGenerator::vpaddq));
    all.add("sub." + narrow, lane_by_lane(RegisterClass::Narrow, &CodeGenerator::vpsubd));
    all.add("sub." + wide, lane_by_lane(RegisterClass::Wide, &CodeGenerator::vpsubq));
    all.add("mul.lo." + narrow, lane_by_lane(RegisterClass::Narrow, &CodeGenerator::vpmulld));
    all.add("mul.lo." + wide, lane_by_lane(RegisterClass::Wide, &Assembler::multiply64));
    all.add("mad.lo." + narrow,
            multiply_add(RegisterClass::Narrow, &CodeGenerator::vpmulld, &CodeGenerator::vpaddd));
    all.add("mad.lo." + wide,
            multiply_add(RegisterClass::Wide, &Assembler::multiply64, &CodeGenerator::vpaddq));
    all.add("mul.wide." + narrow, multiply_wide(is_signed, false));
    all.add("mad.wide." + narrow, multiply_wide(is_signed, true));
  }
  all.add("min.s32", lane_by_lane(RegisterClass::Narrow, &CodeGenerator::vpminsd));
  all.add("max.s32", lane_by_lane(RegisterClass::Narrow, &CodeGenerator::vpmaxsd));
  all.add("min.u32", lane_by_lane(RegisterClass::Narrow, &CodeGenerator::vpminud));
  all.add("max.u32", lane_by_lane(RegisterClass::Narrow, &CodeGenerator::vpmaxud));
  all.add("min.s64", lane_by_lane(RegisterClass::Wide, &Assembler::min_s64));
  all.add("max.s64", lane_by_lane(RegisterClass::Wide, &Assembler::max_s64));
  all.add("min.u64", lane_by_lane(RegisterClass::Wide, &Assembler::min_u64));
  all.add("max.u64", lane_by_lane(RegisterClass::Wide, &Assembler::max_u64));
  all.add("neg.s32", negate(RegisterClass::Narrow, &CodeGenerator::vpsubd));
  all.add("neg.s64", negate(RegisterClass::Wide, &CodeGenerator::vpsubq));
  all.add("abs.s32", [](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], RegisterClass::Narrow),
                  out = e.write(step.dst, RegisterClass::Narrow);
    for (uint32_t i = 0; i < out.count; ++i) e.vpabsd(out.at[i], a.at[i]);
  });
}

void add_bits(Operations& all) {
  for (const auto& [type, slot] :
       {std::pair("b32", RegisterClass::Narrow), std::pair("b64", RegisterClass::Wide)}) {
    const std::string suffix = std::string(".") + type;
    all.add("and" + suffix, lane_by_lane(slot, &Assembler::bit_and));
    all.add("or" + suffix, lane_by_lane(slot, &Assembler::bit_or));
    all.add("xor" + suffix, lane_by_lane(slot, &Assembler::bit_xor));
    all.add("not" + suffix, invert(slot));
    all.add("mov" + suffix, move(slot));
  }
  all.add("shl.b32", lane_by_lane(RegisterClass::Narrow, &CodeGenerator::vpsllvd));
  all.add("shl.b64", shift_wide(&CodeGenerator::vpsllvq));
  for (const char* type : {"b", "u"}) {
    all.add(std::string("shr.") + type + "32",
            lane_by_lane(RegisterClass::Narrow, &CodeGenerator::vpsrlvd));
    all.add(std::string("shr.") + type + "64", shift_wide(&CodeGenerator::vpsrlvq));
  }
  all.add("shr.s32", lane_by_lane(RegisterClass::Narrow, &CodeGenerator::vpsravd));
  all.add("shr.s64", shift_wide(&Assembler::shift_signed64));
  all.add("lop3.b32", any_logic, has_constant_table);
}

void add_integer_conversions(Operations& all) {
  for (const std::string to : {"s", "u"}) {
    for (const std::string from : {"s", "u"}) {
      all.add("cvt." + to + "64." + from + "32", extend(from == "s"));
      all.add("cvt." + to + "32." + from + "64", truncate);
      all.add("cvt." + to + "32." + from + "32", move(RegisterClass::Narrow));
      all.add("cvt." + to + "64." + from + "64", move(RegisterClass::Wide));
    }
  }
}
}  // namespace

void add_integers(Operations& all) {
  add_arithmetic(all);
  add_bits(all);
  add_integer_conversions(all);
}

}  // namespace gpuemu::emulator
