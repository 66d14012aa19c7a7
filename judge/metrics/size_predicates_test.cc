// Tests the sizes that rarely taken branches on a parameter need.
#include "judge/metrics/size_predicates.h"

#include <gtest/gtest.h>

#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

using Classes = std::vector<std::vector<int64_t>>;

RareSizes found_in(const std::string& body, uint32_t block) {
  const std::string text =
      ".version 7.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u32 n, .param .u64 p, .param .u32 m)\n{\n"
      ".reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<8>;\n" +
      body + "\nret;\n}\n";
  const auto module = ptx::parse(text, "test");
  EXPECT_TRUE(module) << module.error().message;
  return module ? rare_sizes(module->functions.front(), block) : RareSizes();
}
Classes of(const std::string& body, uint32_t block = 0) { return found_in(body, block).classes; }
std::vector<int64_t> thresholds(const std::string& body) { return found_in(body, 0).thresholds; }

TEST(RareSizes, ARemainderOfASignedDivisionByAPowerOfTwo) {
  // n % 256 == 1 as nvcc writes it.
  const Classes found = of(
      "ld.param.u32 %r1, [n]; shr.s32 %r2, %r1, 31; shr.u32 %r3, %r2, 24; add.s32 %r4, %r1, %r3; "
      "and.b32 %r5, %r4, -256; sub.s32 %r6, %r1, %r5; setp.eq.s32 %p1, %r6, 1;");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0], (std::vector<int64_t>{257, 513, 769, 1025, 1281, 1537}));
}

TEST(RareSizes, ARemainderByMultiplication) {
  // n % 48 == 47, unsigned: n - 48 * (n * 0xaaaaaaab >> 37).
  const Classes found =
      of("ld.param.u32 %r1, [n]; mul.hi.u32 %r2, %r1, -1431655765; shr.u32 %r3, %r2, 5; mul.lo.s32 "
         "%r4, %r3, 48; sub.s32 %r5, %r1, %r4; setp.eq.s32 %p1, %r5, 47;");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0][0], 47);
  EXPECT_EQ(found[0][1], 95);
}

TEST(RareSizes, TheBlockIsAConstantWhereItIsKnown) {
  const std::string body =
      "ld.param.u32 %r1, [n]; mov.u32 %r2, %ntid.x; rem.u32 %r3, %r1, %r2; setp.ne.s32 %p1, %r3, "
      "1;";
  EXPECT_TRUE(of(body).empty());
  EXPECT_EQ(of(body, 128)[0][0], 129);
}

TEST(RareSizes, ThresholdsAreSizesOnBothSides) {
  EXPECT_EQ(thresholds("ld.param.u32 %r1, [n]; setp.gt.s32 %p1, %r1, 1024;"),
            (std::vector<int64_t>{1025, 1024}));
  EXPECT_EQ(thresholds("ld.param.u32 %r1, [n]; setp.gt.s32 %p1, %r1, 5000;"),
            (std::vector<int64_t>{5001, 5000}));
  EXPECT_TRUE(thresholds("ld.param.u32 %r1, [n]; setp.gt.s32 %p1, %r1, 3;").empty());
}

TEST(RareSizes, TheRarestComeFirst) {
  const Classes found =
      of("ld.param.u32 %r1, [n]; and.b32 %r2, %r1, 31; setp.eq.s32 %p1, %r2, 7; add.s32 %r3, %r1, "
         "-300; setp.eq.s32 %p2, %r3, 0;");
  EXPECT_EQ(found, (Classes{{300}, {7, 39, 71, 103, 135, 167}}));
}

TEST(RareSizes, WhatManySizesFulfilNeedsNoCase) {
  EXPECT_TRUE(of("ld.param.u32 %r1, [n]; and.b32 %r2, %r1, 3; setp.eq.s32 %p1, %r2, 0;").empty());
}

TEST(RareSizes, WhatFollowsFromThreadsDataOrTwoParametersIsLeftOut) {
  EXPECT_TRUE(of("mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 77;").empty());
  EXPECT_TRUE(of("ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1]; add.s32 %r2, %r1, 1; "
                 "setp.eq.s32 %p1, %r2, 77;")
                  .empty());
  EXPECT_TRUE(of("ld.param.u32 %r1, [n]; ld.param.u32 %r2, [m]; sub.s32 %r3, %r1, %r2; setp.eq.s32 "
                 "%p1, %r3, 77;")
                  .empty());
  EXPECT_TRUE(of("ld.param.u32 %r1, [n]; setp.eq.s32 %p1, %r1, 77;").empty())
      << "harvest.h has those";
}

TEST(RareSizes, ARegisterOfALoopHasNoValue) {
  EXPECT_TRUE(of("ld.param.u32 %r1, [n];\nL: add.s32 %r1, %r1, -1; setp.eq.s32 %p1, %r1, 77; @%p1 "
                 "bra L;")
                  .empty());
}

}  // namespace
}  // namespace gpuemu
