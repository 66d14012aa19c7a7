// Tests the constants found in PTX.
#include "judge/metrics/branch_constants.h"

#include <gtest/gtest.h>

#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

Constants constants_of(const std::string& body, const std::string& before = "") {
  const std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n" + before +
                           ".visible .entry k(.param .u32 n, .param .u64 p)\n{\n"
                           ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 "
                           "%d<4>;\n" +
                           body + "\nret;\n}\n";
  const auto module = ptx::parse(text, "test");
  EXPECT_TRUE(module) << module.error().message;
  return module ? constants_in(*module, {"k"}) : Constants();
}
using Sizes = std::vector<int64_t>;

Sizes sizes_of(const std::string& body, const std::string& before = "") {
  return constants_of(body, before).all;
}

TEST(Harvest, TakesComparisonsOfThreadsAndParameters) {
  EXPECT_EQ(sizes_of("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 100;"), Sizes{100});
  EXPECT_EQ(sizes_of("ld.param.u32 %r1, [n]; add.s32 %r2, %r1, 7; setp.ge.s32 %p1, %r2, 96;"),
            Sizes{96});
}

TEST(Harvest, FollowsValuesAroundLoops) {
  EXPECT_EQ(sizes_of("mov.u32 %r2, 0; mov.u32 %r1, %tid.x;\nL: setp.lt.u32 %p1, %r2, 48; "
                     "add.s32 %r2, %r2, %r1; @%p1 bra L;"),
            Sizes{48});
}

TEST(Harvest, LeavesWhatIsComparedWithData) {
  EXPECT_EQ(sizes_of("ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1]; setp.lt.u32 %p1, %r1, 77;"),
            Sizes{});
}

TEST(Harvest, ReadsShiftsAndMasksAsTheirPowersOfTwo) {
  EXPECT_EQ(sizes_of("mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; and.b32 %r3, %r1, 7; "
                     "rem.u32 %r4, %r1, 12;"),
            (Sizes{8, 12, 32}));
}

TEST(Harvest, TakesTheTilesOfSharedMemory) {
  EXPECT_EQ(sizes_of(".shared .f32 tile[16][17]; .shared .align 4 .b8 raw[1024];"),
            (Sizes{16, 17, 256}));
}

TEST(Harvest, SinglesOutWhatAParameterMustEqual) {
  const auto found = constants_of(
      "ld.param.u32 %r1, [n]; mov.u32 %r2, %r1; setp.eq.s32 %p1, %r2, 200; setp.lt.s32 %p1, %r1, "
      "64;"
      "and.b32 %r3, %r1, 31; setp.ne.s32 %p2, %r3, 2; mov.u32 %r4, %tid.x; setp.eq.s32 %p3, %r4, "
      "31;");
  EXPECT_EQ(found.singled, Sizes{200});
  EXPECT_EQ(found.all, (Sizes{2, 31, 32, 64, 200}));
}

TEST(Harvest, LooksAtLaunchedEntriesOnly) {
  const std::string other =
      ".visible .entry other()\n{\n.reg .pred %p<2>; .reg .b32 %r<2>;\nmov.u32 %r1, %tid.x; "
      "setp.lt.u32 %p1, %r1, 99;\nret;\n}\n";
  EXPECT_EQ(sizes_of("", other), Sizes{});
}

TEST(Harvest, KeepsTheSmallerOnesOfMany) {
  std::string body = "mov.u32 %r1, %tid.x;\n";
  for (int i = 0; i < 40; ++i) body += "setp.lt.u32 %p1, %r1, " + std::to_string(100 + i) + ";\n";
  const Sizes sizes = sizes_of(body);
  EXPECT_EQ(sizes.size(), 24u);
  EXPECT_EQ(sizes.front(), 100);
}

TEST(Harvest, TakesFloatsThatAreComparedBeforeThoseThatAreUsed) {
  const Constants found = constants_of(
      "mov.f32 %f1, 0f3E99999A; add.f32 %f2, %f3, 0f3727C5AC; setp.gt.f32 %p1, %f2, 0f40F00000; "
      "max.f32 %f2, %f2, %f1; fma.rn.f32 %f2, %f2, %f2, 0f4B400001; mul.f32 %f2, %f2, 0f00000000;");
  EXPECT_EQ(found.floats, (std::vector<double>{7.5, 0.3F, 1e-5F})) << "no 12582913 and no 0";
}

TEST(Harvest, TakesWholeNumbersThatDataIsComparedWith) {
  const Constants found = constants_of(
      "ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1]; setp.eq.s32 %p1, %r1, 48611; "
      "add.s32 %r2, %r1, -1001; setp.lt.u32 %p2, %r2, 9; mov.u32 %r3, %tid.x; "
      "setp.lt.u32 %p3, %r3, 100;");
  EXPECT_EQ(found.integers, (Sizes{48611, 1001, 1010}));
}

}  // namespace
}  // namespace gpuemu
