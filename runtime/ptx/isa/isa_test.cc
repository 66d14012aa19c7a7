// Tests the tables of instructions and modifiers: lookup by text, and consistency of rows.
#include <gtest/gtest.h>

#include "runtime/ptx/isa/modifier.h"
#include "runtime/ptx/isa/opcode.h"

namespace gpuemu::ptx {
namespace {

TEST(InstructionTable, FindsEveryInstructionByItsText) {
  for (size_t i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    EXPECT_EQ(opcode_of(info(opcode).text), opcode) << info(opcode).text;
  }
  EXPECT_EQ(info(Opcode::Ld).text, "ld");
}

TEST(InstructionTable, GivesOtherTextsNoOpcode) {
  for (const std::string_view text : {"", "l", "ldx", "LD", "ld.global", "zzz", "%ld"}) {
    EXPECT_EQ(opcode_of(text), Opcode::Unknown) << text;
  }
  EXPECT_EQ(info(Opcode::Unknown).text, "");
  EXPECT_EQ(info(Opcode::Unknown).what, OpcodeClass::Unknown);
}

TEST(InstructionTable, TellsInstructionsWithoutARowFromMistakes) {
  for (const std::string_view text : {"add", "tensormap", "vadd", "vset4"}) {
    EXPECT_TRUE(is_instruction(text)) << text;
  }
  for (const std::string_view text : {"", "ad", "tensormaps", "vadd3"}) {
    EXPECT_FALSE(is_instruction(text)) << text;
  }
}

TEST(InstructionTable, AllowsAtLeastAsManyOperandsAsItRequires) {
  for (const InstructionInfo& row : kInstructions) {
    EXPECT_LE(row.operands_min, row.operands_max) << row.text;
  }
}

TEST(InstructionTable, HasTraitsThatAgree) {
  for (const InstructionInfo& row : kInstructions) {
    const auto both = [&](Trait a, Trait b) { return row.traits.has(a) && row.traits.has(b); };
    // Instructions that only write a register must have one to write, and no other effect.
    EXPECT_FALSE(both(Trait::OnlyAssigns, Trait::NoResult)) << row.text;
    EXPECT_FALSE(both(Trait::OnlyAssigns, Trait::UseIsVisible)) << row.text;
    EXPECT_FALSE(both(Trait::OnlyAssigns, Trait::Reads)) << row.text;
    EXPECT_FALSE(both(Trait::UniformResult, Trait::VaryingResult)) << row.text;
    EXPECT_FALSE(both(Trait::Reads, Trait::NoResult)) << row.text;
    const auto follows = [&](Trait a, Trait b) { return !row.traits.has(a) || row.traits.has(b); };
    EXPECT_TRUE(follows(Trait::Writes, Trait::UseIsVisible)) << row.text;
    EXPECT_TRUE(follows(Trait::RegisterMatrix, Trait::MatrixProduct)) << row.text;
  }
}

TEST(ModifierTable, FindsEveryModifierByItsText) {
  for (size_t i = 0; i < kModifierCount; ++i) {
    const auto modifier = static_cast<Modifier>(i);
    EXPECT_EQ(modifier_of(name_of(modifier)), modifier) << name_of(modifier);
  }
  for (const std::string_view text : {"", "acq", "shared::", "zzz", ".cta"}) {
    EXPECT_EQ(modifier_of(text), std::nullopt) << text;
  }
}

TEST(Modifiers, KeepTheirOrderAndAnswerForThoseOfTheTable) {
  Modifiers modifiers{"global", "made_up", "f32"};
  modifiers.insert(2, "nc");
  modifiers.insert(0, "volatile");
  const std::vector<std::string> expected{"volatile", "global", "made_up", "nc", "f32"};
  EXPECT_EQ(std::vector<std::string>(modifiers.begin(), modifiers.end()), expected);
  EXPECT_TRUE(modifiers.has(Modifier::Volatile) && modifiers.has(Modifier::Nc));
  EXPECT_FALSE(modifiers.has(Modifier::Shared));
}

TEST(PerOpcode, HasARowForTheOpcodesThatWereGiven) {
  constexpr PerOpcode<int> kRows({{Opcode::Add, 7}, {Opcode::Xor, 0}});
  EXPECT_EQ(*kRows.find(Opcode::Add), 7);
  EXPECT_EQ(*kRows.find(Opcode::Xor), 0);
  EXPECT_EQ(kRows.find(Opcode::Sub), nullptr);
  EXPECT_EQ(kRows.find(Opcode::Unknown), nullptr);
}

}  // namespace
}  // namespace gpuemu::ptx
