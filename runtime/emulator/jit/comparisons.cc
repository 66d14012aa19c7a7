// Compiles instructions that produce or use predicates.
#include "runtime/emulator/jit/operations.h"

namespace gpuemu::emulator {
namespace {
using Xbyak::CodeGenerator;

/// vpcmpd and similar instructions.
using Compare = void (CodeGenerator::*)(const Xbyak::Opmask&, const Xbyak::Xmm&,
                                        const Xbyak::Operand&, uint8_t);

Emit compare(RegisterClass slot, Compare instruction, uint8_t relation, Nan nan = Nan::Exact) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], slot, nan), b = e.read(step.src[1], slot, nan);
    const Masks out = e.write_masks(step.dst);
    for (uint32_t half = 0; half < 2; ++half) {
      const Xbyak::Opmask& to = out.at[half];
      if (slot == RegisterClass::Narrow) {
        (e.*instruction)(to, a.at[half], b.at[half], relation);
        continue;
      }
      const uint32_t low = 2 * half, high = low + 1;
      (e.*instruction)(to, a.at[low], b.at[low], relation);
      (e.*instruction)(e.k7, a.at[high], b.at[high], relation);
      e.kunpckbw(to, e.k7, to);
    }
  };
}

Emit select(RegisterClass slot) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], slot), b = e.read(step.src[1], slot);
    const Masks chosen = e.read_masks(step.src[2]);
    const Vectors out = e.write(step.dst, slot);
    constexpr uint8_t kUpperLanes = 8;
    for (uint32_t i = 0; i < out.count; ++i) {
      if (slot == RegisterClass::Narrow) {
        e.vpblendmd(out.at[i] | chosen.at[i], b.at[i], a.at[i]);
        continue;
      }
      if (i % 2 != 0) e.kshiftrw(e.k7, chosen.at[i / 2], kUpperLanes);
      e.vpblendmq(out.at[i] | (i % 2 != 0 ? e.k7 : chosen.at[i / 2]), b.at[i], a.at[i]);
    }
  };
}

using MaskTernary = void (CodeGenerator::*)(const Xbyak::Opmask&, const Xbyak::Opmask&,
                                            const Xbyak::Opmask&);
Emit combine(MaskTernary instruction) {
  return [=](Emitter& e, const Step& step) {
    const Masks a = e.read_masks(step.src[0]), b = e.read_masks(step.src[1]);
    const Masks out = e.write_masks(step.dst);
    for (uint32_t half = 0; half < 2; ++half) {
      (e.*instruction)(out.at[half], a.at[half], b.at[half]);
    }
  };
}

void add_predicates(Operations& all) {
  all.add("and.pred", combine(&CodeGenerator::kandw));
  all.add("or.pred", combine(&CodeGenerator::korw));
  all.add("xor.pred", combine(&CodeGenerator::kxorw));
  all.add("not.pred", [](Emitter& e, const Step& step) {
    const Masks a = e.read_masks(step.src[0]), out = e.write_masks(step.dst);
    for (uint32_t half = 0; half < 2; ++half) e.knotw(out.at[half], a.at[half]);
  });
  all.add("mov.pred", [](Emitter& e, const Step& step) {
    const Masks a = e.read_masks(step.src[0]), out = e.write_masks(step.dst);
    for (uint32_t half = 0; half < 2; ++half) e.kmovw(out.at[half], a.at[half]);
  });
}

struct Relation {
  const char* name;
  uint8_t code;
};
/// Predicates of vpcmpd.
constexpr Relation kIntegers[] = {{"eq", 0}, {"ne", 4}, {"lt", 1}, {"le", 2}, {"gt", 6}, {"ge", 5}};
/// Predicates of vcmpps, in their non-signalling forms. "u": also true if an operand is NaN.
constexpr Relation kFloats[] = {{"eq", 0x00},  {"ne", 0x0c},  {"lt", 0x11},  {"le", 0x12},
                                {"gt", 0x1e},  {"ge", 0x1d},  {"equ", 0x08}, {"neu", 0x04},
                                {"ltu", 0x19}, {"leu", 0x1a}, {"gtu", 0x16}, {"geu", 0x15},
                                {"num", 0x07}, {"nan", 0x03}};
}  // namespace

void add_comparisons(Operations& all) {
  for (const auto& [name, relation] : kIntegers) {
    const std::string family = std::string("setp.") + name + ".";
    all.add(family + "s32", compare(RegisterClass::Narrow, &CodeGenerator::vpcmpd, relation));
    all.add(family + "u32", compare(RegisterClass::Narrow, &CodeGenerator::vpcmpud, relation));
    all.add(family + "s64", compare(RegisterClass::Wide, &CodeGenerator::vpcmpq, relation));
    all.add(family + "u64", compare(RegisterClass::Wide, &CodeGenerator::vpcmpuq, relation));
  }
  for (const auto& [name, relation] : kFloats) {
    const std::string family = std::string("setp.") + name + ".";
    all.add(family + "f32",
            compare(RegisterClass::Narrow, &CodeGenerator::vcmpps, relation, Nan::Any));
    all.add(family + "f64", compare(RegisterClass::Wide, &CodeGenerator::vcmppd, relation));
  }
  all.add("selp.b32", select(RegisterClass::Narrow));
  all.add("selp.b64", select(RegisterClass::Wide));
  add_predicates(all);
}

}  // namespace gpuemu::emulator
