// Compiles instructions that produce or use predicates.
#include "runtime/emulator/jit/operations.h"

namespace gpuemu::emulator {
namespace {
Emit compare(Number of, RegisterClass slot, uint8_t relation) {
  // Comparisons of f32 values give the same results with any NaN.
  const Nan nan = of == Number::F32 ? Nan::Any : Nan::Exact;
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], slot, nan), b = e.read(step.src[1], slot, nan);
    const Masks out = e.write_masks(step.dst);
    for (uint32_t i = 0; i < out.count; ++i) {
      if (slot == RegisterClass::Narrow) {
        e.compare(of, out.at[i], a.at[i], b.at[i], relation);
      } else {
        const std::array left{a.at[2 * i], a.at[2 * i + 1]};
        const std::array right{b.at[2 * i], b.at[2 * i + 1]};
        e.compare64(of, out.at[i], left.data(), right.data(), relation);
      }
    }
  };
}

Emit select(RegisterClass slot) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], slot), b = e.read(step.src[1], slot);
    const Masks chosen = e.read_masks(step.src[2]);
    const Vectors out = e.write(step.dst, slot);
    for (uint32_t i = 0; i < out.count; ++i) {
      if (slot == RegisterClass::Narrow) {
        e.select(out.at[i], chosen.at[i], a.at[i], b.at[i]);
      } else {
        e.select64(out.at[i], chosen.at[i / 2], i % 2 != 0, a.at[i], b.at[i]);
      }
    }
  };
}

using MaskTernary = void (Assembler::*)(const Mask&, const Mask&, const Mask&);
Emit combine(MaskTernary instruction) {
  return [=](Emitter& e, const Step& step) {
    const Masks a = e.read_masks(step.src[0]), b = e.read_masks(step.src[1]);
    const Masks out = e.write_masks(step.dst);
    for (uint32_t i = 0; i < out.count; ++i) (e.*instruction)(out.at[i], a.at[i], b.at[i]);
  };
}

void add_predicates(Operations& all) {
  all.add("and.pred", combine(&Assembler::mask_and));
  all.add("or.pred", combine(&Assembler::mask_or));
  all.add("xor.pred", combine(&Assembler::mask_xor));
  all.add("not.pred", [](Emitter& e, const Step& step) {
    const Masks a = e.read_masks(step.src[0]), out = e.write_masks(step.dst);
    for (uint32_t i = 0; i < out.count; ++i) e.mask_not(out.at[i], a.at[i]);
  });
  all.add("mov.pred", [](Emitter& e, const Step& step) {
    const Masks a = e.read_masks(step.src[0]), out = e.write_masks(step.dst);
    for (uint32_t i = 0; i < out.count; ++i) e.mask_copy(out.at[i], a.at[i]);
  });
}

struct IntegerRelation {
  const char* name;
  Relation relation;
};
constexpr IntegerRelation kIntegers[] = {{"eq", Relation::Equal},   {"ne", Relation::NotEqual},
                                         {"lt", Relation::Less},    {"le", Relation::NotGreater},
                                         {"gt", Relation::Greater}, {"ge", Relation::NotLess}};
struct FloatRelation {
  const char* name;
  uint8_t predicate;
};
/// Predicates of vcmpps, in their non-signalling forms. "u": also true if an operand is NaN.
constexpr FloatRelation kFloats[] = {{"eq", 0x00},  {"ne", 0x0c},  {"lt", 0x11},  {"le", 0x12},
                                     {"gt", 0x1e},  {"ge", 0x1d},  {"equ", 0x08}, {"neu", 0x04},
                                     {"ltu", 0x19}, {"leu", 0x1a}, {"gtu", 0x16}, {"geu", 0x15},
                                     {"num", 0x07}, {"nan", 0x03}};
}  // namespace

void add_comparisons(Operations& all) {
  const auto add = [&](const char* name, const char* type, Number of, RegisterClass slot,
                       uint8_t relation) {
    all.add(std::string("setp.") + name + "." + type, compare(of, slot, relation));
  };
  for (const auto& [name, relation] : kIntegers) {
    const auto code = static_cast<uint8_t>(relation);
    add(name, "s32", Number::S32, RegisterClass::Narrow, code);
    add(name, "u32", Number::U32, RegisterClass::Narrow, code);
    add(name, "s64", Number::S64, RegisterClass::Wide, code);
    add(name, "u64", Number::U64, RegisterClass::Wide, code);
  }
  for (const auto& [name, predicate] : kFloats) {
    add(name, "f32", Number::F32, RegisterClass::Narrow, predicate);
    add(name, "f64", Number::F64, RegisterClass::Wide, predicate);
  }
  all.add("selp.b32", select(RegisterClass::Narrow));
  all.add("selp.b64", select(RegisterClass::Wide));
  add_predicates(all);
}

}  // namespace gpuemu::emulator
