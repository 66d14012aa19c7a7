// Tests which mistakes are planted where, and that every mutant still parses.
#include "judge/mutants/mutants.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "judge/mutants/mutations.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

constexpr const char* kHead =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u32 "
    "n)\n{\n.reg .pred %p<9>;\n.reg .f32 %f<9>;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n.reg .b16 "
    "%h<9>;\n.shared .align 4 .b8 tile[1024];\n";

struct Text {
  std::string ptx;
  ptx::Module module;
};

Text text_of(const std::string& body) {
  Text made{kHead + body + "\nret;\n}\n", {}};
  auto module = ptx::parse(made.ptx, "k.ptx");
  EXPECT_TRUE(module) << module.error().message;
  if (module) made.module = *std::move(module);
  return made;
}

/// Returns the statements that one kind of mistake changes a body to.
std::vector<std::string> made_by(const std::string& mutation, const std::string& body) {
  const Text text = text_of(body);
  std::vector<std::string> after;
  for (const Mutant& mutant : find_mutants(text.ptx, text.module, {"k"}, {mutation})) {
    const std::string changed = with_mutant(text.ptx, mutant);
    const auto parsed = ptx::parse(changed, "mutant.ptx");
    EXPECT_TRUE(parsed) << parsed.error().message << "\n" << mutant.after;
    EXPECT_EQ(std::ranges::count(changed, '\n'), std::ranges::count(text.ptx, '\n'));
    after.push_back(mutant.after);
  }
  return after;
}

using Texts = std::vector<std::string>;

TEST(Mutants, SwapIdentitiesHalvesAndDigits) {
  EXPECT_EQ(made_by("swap_constant", "mov.f32 %f1, 0fFF800000;"), Texts{"mov.f32 %f1, 0f00000000"});
  EXPECT_EQ(made_by("swap_constant", "mov.f32 %f1, 0f00000000;"), Texts{"mov.f32 %f1, 0fFF800000"});
  EXPECT_EQ(made_by("swap_constant", "mul.f32 %f1, %f2, 0f3F000000;"),
            Texts{"mul.f32 %f1, %f2, 0f3F800000"});
  EXPECT_EQ(made_by("swap_constant", "add.s32 %r1, %r2, 1;"), Texts{});
}

TEST(Mutants, DropBarriersFencesAndWaits) {
  EXPECT_EQ(
      made_by(
          "drop_barrier",
          "bar.sync 0;\nmembar.gl;\nbar.warp.sync -1;\ncp.async.wait_group 0;\nbar.arrive 1, 64;"),
      (Texts{"", "", "", ""}));
}

TEST(Mutants, NegateGuardsAndLoosenComparisons) {
  EXPECT_EQ(made_by("negate_predicate", "@%p1 add.s32 %r1, %r1, 1;\n@!%p2 bra L;\nL:"),
            (Texts{"@!%p1 add.s32 %r1, %r1, 1", "@%p2 bra L"}));
  EXPECT_EQ(made_by("loosen_predicate", "setp.lt.s32 %p1, %r1, %r2;\nsetp.eq.f32 %p1, %f1, %f2;"),
            (Texts{"setp.le.s32 %p1, %r1, %r2", "setp.ne.f32 %p1, %f1, %f2"}));
}

TEST(Mutants, LoseSumsAndFactors) {
  EXPECT_EQ(made_by("add_to_sub", "add.rn.f32 %f1, %f2, %f3;\nadd.s64 %d1, %d1, 4;"),
            Texts{"sub.rn.f32 %f1, %f2, %f3"});
  EXPECT_EQ(
      made_by("drop_accumulate",
              "fma.rn.f32 %f1, %f2, %f3, %f1;\nadd.f32 %f1, %f1, %f2;\nadd.f32 %f1, %f2, %f1;\n"
              "add.f32 %f1, %f2, %f3;"),
      (Texts{"mul.rn.f32 %f1, %f2, %f3", "mov.f32 %f1, %f2", "mov.f32 %f1, %f2"}));
  EXPECT_EQ(made_by("drop_mul", "mul.f32 %f1, %f2, %f3;\nmul.f32 %f1, 0f40000000, %f3;"),
            (Texts{"mov.f32 %f1, %f2", "mov.f32 %f1, %f3"}));
  EXPECT_EQ(made_by("swap_extreme", "max.f32 %f1, %f2, %f3;\nmin.s32 %r1, %r2, %r3;"),
            (Texts{"min.f32 %f1, %f2, %f3", "max.s32 %r1, %r2, %r3"}));
}

TEST(Mutants, RoundThroughHalf) {
  EXPECT_EQ(
      made_by("through_half", "fma.rn.f32 %f1, %f2, %f3, %f4;\n@%p1 mul.f32 %f1, %f1, %f2;").size(),
      1u);
}

TEST(Mutants, ShiftAddressesByOneElementEitherWay) {
  EXPECT_EQ(made_by("shift_index",
                    "ld.global.f32 %f1, [%d1+8];\nst.shared.u16 [tile], %h1;\n"
                    "ld.param.u32 %r1, [n];\nld.global.f32 %f1, [%d1+-4];"),
            (Texts{"ld.global.f32 %f1, [%d1+12]", "ld.global.f32 %f1, [%d1+4]",
                   "st.shared.u16 [tile+2], %h1", "st.shared.u16 [tile-2], %h1",
                   "ld.global.f32 %f1, [%d1+0]", "ld.global.f32 %f1, [%d1-8]"}));
}

TEST(Mutants, DropStoresAndMakeAtomicsPlain) {
  EXPECT_EQ(made_by("drop_store", "st.global.f32 [%d1], %f1;\nst.local.f32 [%d1], %f1;"),
            Texts{""});
  EXPECT_EQ(
      made_by("atomic_to_plain",
              "atom.global.add.f32 %f1, [%d1], %f2;\nred.shared.max.s32 [tile], %r1;\n"
              "atom.global.cas.b32 %r1, [%d1], %r2, %r3;\natom.global.and.b32 %r1, [%d1], %r2;")
          .size(),
      3u);
}

TEST(Mutants, ChangeWhomLanesTalkTo) {
  const std::string shuffle = "shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;";
  EXPECT_EQ(made_by("shuffle_mask", shuffle),
            Texts{"shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, 65535"});
  EXPECT_EQ(made_by("shuffle_lane", shuffle), Texts{"shfl.sync.down.b32 %r1|%p1, %r2, 8, 31, -1"});
}

constexpr const char* kBody =
    "ld.global.f32 %f1, [%d1];\nbar.sync 0;\nadd.f32 %f1, %f1, 0f3F800000;\n"
    "mul.f32 %f2, %f1, %f1;\nsetp.lt.s32 %p1, %r1, %r2;\n@%p1 st.global.f32 [%d1], %f2;";

TEST(Mutants, KeepTheirNumbersWhateverKindsAreAskedFor) {
  const Text text = text_of(kBody);
  const auto all = find_mutants(text.ptx, text.module, {"k"}, {});
  const auto some = find_mutants(text.ptx, text.module, {"k"}, {"drop_store"});
  ASSERT_EQ(some.size(), 1u);
  const auto same = std::ranges::find(all, some.front().id, &Mutant::id);
  ASSERT_NE(same, all.end());
  EXPECT_EQ(same->mutation, "drop_store");
  EXPECT_EQ(same->before, "@%p1 st.global.f32 [%d1], %f2");
}

TEST(Mutants, OfOtherEntriesAreLeftAlone) {
  const Text text = text_of(kBody);
  EXPECT_TRUE(find_mutants(text.ptx, text.module, {"other"}, {}).empty());
}

TEST(Mutants, AreChosenByTheSeedWithEveryKindAmongThem) {
  const Text text = text_of(kBody);
  const auto all = find_mutants(text.ptx, text.module, {"k"}, {});
  std::set<std::string> kinds;
  for (const Mutant& one : all) kinds.insert(one.mutation);
  const auto ids = [&](uint64_t seed) {
    std::vector<uint64_t> numbers;
    for (const Mutant& one : choose_mutants(all, kinds.size(), seed)) numbers.push_back(one.id);
    return numbers;
  };
  EXPECT_EQ(ids(3), ids(3));
  EXPECT_TRUE(std::ranges::is_sorted(ids(3)));
  std::set<std::string> chosen;
  for (const Mutant& one : choose_mutants(all, kinds.size(), 3)) chosen.insert(one.mutation);
  EXPECT_EQ(chosen, kinds);
  EXPECT_EQ(choose_mutants(all, 0, 3).size(), all.size());
  std::set<std::vector<uint64_t>> choices;
  for (uint64_t seed = 0; seed < 8; ++seed) choices.insert(ids(seed));
  EXPECT_GT(choices.size(), 1u);
}

TEST(Mutants, AnUnknownKindIsRefusedWithThoseThereAre) {
  EXPECT_TRUE(check_mutations({"drop_store"}));
  const Status refused = check_mutations({"drop_everything"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("drop_barrier"), std::string::npos);
}

}  // namespace
}  // namespace gpuemu
