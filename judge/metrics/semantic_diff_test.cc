// Tests which kernels count as the same, and how differences are named.
#include "judge/metrics/semantic_diff.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "judge/metrics/align.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

constexpr const char* kBody = R"(
ld.param.u64 %d1, [x];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
setp.lt.s32 %p1, %r2, %r1;
@!%p1 bra DONE;
mul.wide.s32 %d2, %r2, 4;
add.s64 %d3, %d1, %d2;
ld.global.f32 %f1, [%d3];
fma.rn.f32 %f2, %f1, 0f3F000000, %f1;
bar.sync 0;
sub.f32 %f3, %f2, %f1;
st.global.f32 [%d3], %f3;
DONE:
ret;)";

ptx::Module module_of(const std::string& body, const std::string& entry = "k") {
  auto module =
      ptx::parse(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry " + entry +
                     "(.param .u64 x, .param .u32 n)\n{\n.reg .pred %p<9>;\n.reg .f32 %f<9>;\n"
                     ".reg .b32 %r<9>;\n.reg .b64 %d<9>;\n" +
                     body + "\n}\n",
                 "k.ptx");
  EXPECT_TRUE(module) << module.error().message;
  return module ? *std::move(module) : ptx::Module{};
}

std::string with(const std::string& from, const std::string& to) {
  std::string body = kBody;
  const size_t at = body.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return body.replace(at, from.size(), to);
}

EntryDifference difference(const std::string& after) {
  const KernelComparisonReply reply = compare_modules(module_of(kBody), module_of(after));
  EXPECT_EQ(reply.entries.size(), 1u);
  EXPECT_EQ(reply.verdict, reply.entries.front().verdict);
  return reply.entries.front();
}

std::vector<DifferenceKind> kinds(const EntryDifference& one) {
  std::vector<DifferenceKind> all;
  for (const KernelDifference& each : one.differences) all.push_back(each.kind);
  return all;
}

using Kinds = std::vector<DifferenceKind>;

TEST(SemanticDiff, RenamedRegistersLabelsAndEntriesAreTheSameKernel) {
  std::string renamed = kBody;
  for (const auto& [from, to] : {std::pair{"%f1", "%f7"}, {"%r2", "%r8"}, {"DONE", "$L__BB0_2"}}) {
    for (size_t at; (at = renamed.find(from)) != std::string::npos;) {
      renamed.replace(at, strlen(from), to);
    }
  }
  const auto reply = compare_modules(module_of(kBody), module_of(renamed, "other"));
  EXPECT_EQ(reply.verdict, EntryVerdict::None);
  ASSERT_EQ(reply.entries.size(), 1u);
  EXPECT_TRUE(reply.entries.front().differences.empty());
}

TEST(SemanticDiff, AConstantIsShownAsTheNumberItIs) {
  const EntryDifference found = difference(with("0f3F000000", "0f3F800000"));
  EXPECT_EQ(found.verdict, EntryVerdict::Constant);
  EXPECT_EQ(kinds(found), Kinds{DifferenceKind::Constant});
  EXPECT_NE(found.differences[0].text.find("0.5 -> 1"), std::string::npos)
      << found.differences[0].text;
  EXPECT_TRUE(found.opcodes.empty());
}

TEST(SemanticDiff, AnOffsetIsAConstant) {
  const EntryDifference found =
      difference(with("ld.global.f32 %f1, [%d3]", "ld.global.f32 %f1, [%d3+4]"));
  EXPECT_EQ(found.verdict, EntryVerdict::Constant);
  EXPECT_NE(found.differences[0].text.find("offset 0 -> 4"), std::string::npos);
}

TEST(SemanticDiff, AMissingBarrierIsSync) {
  const EntryDifference found = difference(with("bar.sync 0;", ""));
  EXPECT_EQ(found.verdict, EntryVerdict::Sync);
  EXPECT_EQ(kinds(found), Kinds{DifferenceKind::Sync});
  EXPECT_EQ(found.opcodes, (std::map<std::string, int64_t>{{"bar.sync", -1}}));
}

TEST(SemanticDiff, AnotherConditionIsNamed) {
  const EntryDifference found = difference(with("setp.lt.s32", "setp.le.s32"));
  EXPECT_EQ(found.verdict, EntryVerdict::Structural);
  EXPECT_EQ(kinds(found), Kinds{DifferenceKind::Predicate});
  EXPECT_NE(found.differences[0].text.find("tests lt -> le"), std::string::npos);
}

TEST(SemanticDiff, ANegatedGuardIsNamed) {
  EXPECT_EQ(kinds(difference(with("@!%p1", "@%p1"))), Kinds{DifferenceKind::Predicate});
}

TEST(SemanticDiff, ExchangedOperandsAreSeen) {
  const EntryDifference found = difference(with("%f2, %f1;\nst", "%f1, %f2;\nst"));
  EXPECT_EQ(found.verdict, EntryVerdict::Structural);
  EXPECT_NE(found.differences[0].text.find("other operands"), std::string::npos);
}

TEST(SemanticDiff, AnotherParameterIsSeenAlthoughNamesMayDiffer) {
  EXPECT_EQ(difference(with("[n]", "[x]")).verdict, EntryVerdict::Structural);
}

TEST(SemanticDiff, AnotherOperationIsARemovalAndAnAddition) {
  const EntryDifference found = difference(with("sub.f32", "add.f32"));
  EXPECT_EQ(found.verdict, EntryVerdict::Structural);
  EXPECT_EQ(found.opcodes, (std::map<std::string, int64_t>{{"add.f32", 1}, {"sub.f32", -1}}));
  EXPECT_EQ(found.differences.size(), 2u);
}

TEST(SemanticDiff, AMemoryAccessIsCalledOne) {
  EXPECT_EQ(kinds(difference(with("st.global.f32 [%d3], %f3;", ""))),
            Kinds{DifferenceKind::Memory});
}

TEST(SemanticDiff, EntriesOfOneSideAreNamed) {
  std::string both = ".version 8.0\n.target sm_80\n.address_size 64\n";
  both += ".visible .entry a()\n{\nret;\n}\n.visible .entry b()\n{\nret;\n}\n";
  const auto two = ptx::parse(both, "two.ptx");
  ASSERT_TRUE(two) << two.error().message;
  const auto reply = compare_modules(*two, ptx::Module{});
  EXPECT_EQ(reply.verdict, EntryVerdict::Structural);
  EXPECT_EQ(reply.entries.size(), 2u);
  EXPECT_EQ(reply.entries[0].verdict, EntryVerdict::OnlyBefore);
}

TEST(Align, FindsTheShortestScript) {
  const auto pairs = align({1, 2, 3, 4, 5}, {1, 3, 4, 6, 5});
  const std::vector<AlignedPair> expected = {{0, 0}, {1, std::nullopt}, {2, 1},
                                             {3, 2}, {std::nullopt, 3}, {4, 4}};
  EXPECT_EQ(pairs, expected);
}

TEST(Align, KeepsBothSidesWholeAndInOrderWhateverTheyAre) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint64_t> left(random() % 12), right(random() % 12);
    for (auto* side : {&left, &right}) {
      for (uint64_t& value : *side) value = random() % 3;
    }
    size_t row = 0, column = 0, alike = 0;
    for (const AlignedPair& pair : align(left, right)) {
      if (pair.before) {
        ASSERT_EQ(*pair.before, row++);
      }
      if (pair.after) {
        ASSERT_EQ(*pair.after, column++);
      }
      if (!pair.before || !pair.after) continue;
      ASSERT_EQ(left[*pair.before], right[*pair.after]);
      ++alike;
    }
    ASSERT_EQ(row, left.size());
    ASSERT_EQ(column, right.size());
    // The longest common subsequence, by its definition.
    std::vector<std::vector<size_t>> longest(left.size() + 1,
                                             std::vector<size_t>(right.size() + 1));
    for (size_t i = left.size(); i-- > 0;) {
      for (size_t j = right.size(); j-- > 0;) {
        longest[i][j] = left[i] == right[j] ? longest[i + 1][j + 1] + 1
                                            : std::max(longest[i + 1][j], longest[i][j + 1]);
      }
    }
    ASSERT_EQ(alike, longest[0][0]);
  }
}

TEST(Align, ManyChangesCountAsReplacement) {
  std::vector<uint64_t> left(5000), right(5000);
  for (size_t i = 0; i < left.size(); ++i) {
    left[i] = 2 * i;
    right[i] = 2 * i + 1;
  }
  EXPECT_EQ(align(left, right).size(), 10'000u);
}

}  // namespace
}  // namespace gpuemu
