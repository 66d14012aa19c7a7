#include "judge/inbounds/prove.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "runtime/ptx/parse.h"

namespace gpuemu::inbounds {
namespace {

/// entry k(float* x, int n), launched as cdiv(n, 256) blocks of 256 for n from 1 to 100000; x has n
/// elements.
class Entry {
 public:
  explicit Entry(const std::string& body, int64_t most = 100000) {
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 x, .param .u32 n) {\n"
        ".reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<9>;\n"
        ".shared .align 4 .b8 tile[1024];\n"
        "ld.param.u64 %rd1, [x]; ld.param.u32 %r1, [n];\n"
        "mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n"
        "mad.lo.s32 %r5, %r3, %r4, %r2;\n" +
        body + "\nDONE: ret;\n}\n";
    auto parsed = ptx::parse(text, "test.ptx");
    EXPECT_TRUE(parsed) << parsed.error().message;
    module_ = *std::move(parsed);
    const Polynomial n = Polynomial::symbol(space_.symbols.add({.name = "n", .range = {1, most}}));
    space_.grid = {space_.symbols.floor_of(n + Polynomial(255), 256), Polynomial(1), Polynomial(1)};
    space_.block = {Polynomial(256), Polynomial(1), Polynomial(1)};
    space_.add_threads();
    space_.params = {space_.add_region({"x", ptx::Space::Global, Polynomial(4) * n}), n};
  }

  std::vector<Access> accesses() const {
    return prove_accesses(module_, *module_.find("k"), space_);
  }
  /// The reason why the only access is not proved; "" when it is.
  std::string reason() const {
    const std::vector<Access> all = accesses();
    EXPECT_EQ(all.size(), 1u);
    if (all.empty()) return "no access";
    EXPECT_EQ(all[0].proved, all[0].reason.empty());
    return all[0].reason;
  }

 private:
  ptx::Module module_;
  LaunchDomain space_;
};

const std::string kAddress = "mul.wide.s32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2;";

TEST(Prove, AGuardedElement) {
  EXPECT_EQ(
      Entry("setp.ge.s32 %p1, %r5, %r1; @%p1 bra DONE;" + kAddress + "ld.global.f32 %f1, [%rd3];")
          .reason(),
      "");
}

TEST(Prove, NotWithoutTheGuard) {
  EXPECT_EQ(Entry(kAddress + "ld.global.f32 %f1, [%rd3];").reason(),
            "may end behind 'x': byte 1024*blockIdx.x + 4*threadIdx.x + 4 of 4*n");
}

TEST(Prove, NotWithAGuardThatIsOneOff) {
  EXPECT_NE(
      Entry("setp.gt.s32 %p1, %r5, %r1; @%p1 bra DONE;" + kAddress + "ld.global.f32 %f1, [%rd3];")
          .reason(),
      "");
  EXPECT_NE(
      Entry("setp.ge.s32 %p1, %r5, %r1; @%p1 bra DONE;" + kAddress + "ld.global.f32 %f1, [%rd3+4];")
          .reason(),
      "");
  EXPECT_NE(Entry("setp.ge.s32 %p1, %r5, %r1; @%p1 bra DONE;" + kAddress +
                  "ld.global.f32 %f1, [%rd3+-4];")
                .reason(),
            "");
  EXPECT_NE(Entry("setp.ge.s32 %p1, %r5, %r1; @%p1 bra DONE;" + kAddress +
                  "ld.global.v2.f32 {%f1, %f2}, [%rd3];")
                .reason(),
            "");
}

TEST(Prove, APredicatedElement) {
  EXPECT_EQ(
      Entry("setp.lt.s32 %p1, %r5, %r1;" + kAddress + "@%p1 ld.global.f32 %f1, [%rd3];").reason(),
      "");
  EXPECT_NE(
      Entry("setp.lt.s32 %p1, %r5, %r1;" + kAddress + "@!%p1 ld.global.f32 %f1, [%rd3];").reason(),
      "");
}

TEST(Prove, NotWhatWraps) {
  // 2^20 * i leaves 32 bits; the guard on the wrapped number says nothing of i.
  const std::string wraps =
      "shl.b32 %r6, %r5, 20; setp.lt.u32 %p1, %r6, %r1; @!%p1 bra DONE;"
      "mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f1, [%rd3];";
  EXPECT_NE(Entry(wraps).reason(), "");
  // Where n is 2^31 - 1 the last thread's i + 1 is -2^31, which is below n.
  const std::string next = "add.s32 %r5, %r5, 1; setp.ge.s32 %p1, %r5, %r1; @%p1 bra DONE;" +
                           kAddress + "ld.global.f32 %f1, [%rd3];";
  EXPECT_NE(Entry(next, INT32_MAX).reason(), "");
  EXPECT_EQ(Entry(next, INT32_MAX - 255).reason(), "");
}

TEST(Prove, NotWhatDataDecides) {
  EXPECT_EQ(Entry("ld.shared.u32 %r6, [tile]; mul.wide.u32 %rd2, %r6, 4; add.s64 %rd3, %rd1, %rd2;"
                  "ld.global.f32 %f1, [%rd3];")
                .accesses()[1]
                .reason,
            "the index: %r6 is read from memory at PTX line 10");
}

TEST(Prove, ALoopOverTheRow) {
  const auto loop = [](const std::string& first, const std::string& how) {
    return Entry("mov.u32 %r6, %r2; " + first +
                 " LOOP: mul.wide.s32 %rd2, %r6, 4; add.s64 %rd3, %rd1, %rd2;"
                 "ld.global.f32 %f1, [%rd3]; add.s32 %r6, %r6, %r4;"
                 "setp." +
                 how + ".s32 %p2, %r6, %r1; @%p2 bra LOOP;")
        .reason();
  };
  const std::string guard = "setp.ge.s32 %p1, %r6, %r1; @%p1 bra DONE;";
  EXPECT_EQ(loop(guard, "lt"), "");
  EXPECT_NE(loop(guard, "le"), "");
  EXPECT_NE(loop("", "lt"), "");
}

TEST(Prove, ALoopThatCountsDownToZero) {
  const auto loop = [](const std::string& count, const std::string& step) {
    return Entry(
               "and.b32 %r6, %r1, -4; setp.lt.s32 %p1, %r1, 4; @%p1 bra DONE; mov.u64 %rd3, %rd1;" +
               count +
               " LOOP: ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd3];"
               "add.s64 %rd3, %rd3, 16; add.s32 %r6, %r6, " +
               step + "; setp.ne.s32 %p2, %r6, 0; @%p2 bra LOOP;")
        .reason();
  };
  EXPECT_EQ(loop("", "-4"), "");
  EXPECT_NE(loop("add.s32 %r6, %r6, 4;", "-4"), "");
  EXPECT_NE(loop("", "-2"), "");
  EXPECT_NE(loop("", "-3"), "");
}

/// Steps of 256 over a row of n from the thread's own element on, as compilers unroll them: the
/// rest of a division by four one by one, then four at a time.
std::string unrolled(const std::string& rest, const std::string& last) {
  return "setp.ge.s32 %p1, %r2, %r1; @%p1 bra DONE;"
         "not.b32 %r14, %r2; add.s32 %r6, %r14, %r1; shr.u32 %r15, %r6, 8; add.s32 %r16, %r15, 1;"
         "and.b32 %r20, %r16, " +
         rest +
         "; setp.eq.s32 %p2, %r20, 0; mov.u32 %r21, %r2; @%p2 bra REST;"
         "mul.wide.s32 %rd5, %r2, 4; add.s64 %rd6, %rd1, %rd5; mov.u32 %r21, %r2;"
         "ONE: ld.global.f32 %f1, [%rd6]; add.s32 %r21, %r21, 256; add.s64 %rd6, %rd6, 1024;"
         "add.s32 %r20, %r20, -1; setp.ne.s32 %p3, %r20, 0; @%p3 bra ONE;"
         "REST: setp.lt.u32 %p4, %r6, 768; @%p4 bra DONE;"
         "mul.wide.s32 %rd7, %r21, 4; add.s64 %rd8, %rd1, %rd7;"
         "FOUR: ld.global.f32 %f1, [%rd8]; ld.global.f32 %f2, [%rd8+1024];"
         "ld.global.f32 %f3, [%rd8+2048]; ld.global.f32 %f4, [%rd8+" +
         last +
         "]; add.s64 %rd8, %rd8, 4096; add.s32 %r21, %r21, 1024;"
         "setp.lt.s32 %p5, %r21, %r1; @%p5 bra FOUR;";
}

TEST(Prove, ALoopUnrolledByFourAndItsRest) {
  for (const Access& access : Entry(unrolled("3", "3072")).accesses()) {
    EXPECT_EQ(access.reason, "") << access.instruction;
  }
  const auto proved = [](const std::string& body) {
    const std::vector<Access> all = Entry(body).accesses();
    return std::ranges::count(all, true, &Access::proved);
  };
  EXPECT_EQ(proved(unrolled("3", "3076")), 4) << "one element beside";
  EXPECT_LT(proved(unrolled("1", "3072")), 5) << "what is left need not be a multiple of four";
}

/// sum over depth elements of a tile, 1 to 16 of them: four at a time, then one to three.
std::string unrolled_tile(const std::string& third) {
  return "min.s32 %r13, %r1, 16; max.s32 %r13, %r13, 1;"
         "and.b32 %r16, %r13, 3; add.s32 %r15, %r13, -1; setp.lt.u32 %p1, %r15, 3;"
         "mov.u32 %r20, 0; mov.u32 %r10, tile; @%p1 bra REST;"
         "sub.s32 %r21, %r13, %r16; mov.u32 %r20, 0; mov.u32 %r22, %r10;"
         "FOUR: ld.shared.f32 %f1, [%r22]; ld.shared.f32 %f2, [%r22+192];"
         "add.s32 %r20, %r20, 4; add.s32 %r22, %r22, 256; add.s32 %r21, %r21, -4;"
         "setp.ne.s32 %p2, %r21, 0; @%p2 bra FOUR;"
         "REST: setp.eq.s32 %p3, %r16, 0; @%p3 bra DONE;"
         "shl.b32 %r23, %r20, 6; add.s32 %r24, %r10, %r23; ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, "
         "[%r24+48];"
         "setp.eq.s32 %p4, %r16, 1; @%p4 bra DONE; ld.shared.f32 %f1, [%r24+124];"
         "setp.eq.s32 %p5, %r16, 2; @%p5 bra DONE; ld.shared.f32 %f1, [%r24+" +
         third + "];";
}

TEST(Prove, TheRestOfAnUnrolledTile) {
  for (const Access& access : Entry(unrolled_tile("188")).accesses()) {
    EXPECT_EQ(access.reason, "") << access.instruction;
  }
  EXPECT_NE(Entry(unrolled_tile("256")).accesses().back().reason, "");
}

TEST(Prove, AReductionTree) {
  const auto tree = [](const std::string& how) {
    return Entry("shr.u32 %r6, %r4, 1; LOOP: setp." + how +
                 ".u32 %p1, %r2, %r6; @!%p1 bra NEXT;"
                 "add.s32 %r7, %r2, %r6; shl.b32 %r8, %r7, 2; mov.u32 %r9, tile; add.s32 %r10, "
                 "%r9, %r8;"
                 "ld.shared.f32 %f1, [%r10]; NEXT: bar.sync 0; shr.u32 %r6, %r6, 1;"
                 "setp.ne.s32 %p2, %r6, 0; @%p2 bra LOOP;")
        .reason();
  };
  EXPECT_EQ(tree("lt"), "");
  EXPECT_NE(tree("le"), "");
}

TEST(Prove, WhatSelpAndMinChoose) {
  const std::string last = "add.s32 %r6, %r1, -1;";
  const std::string use =
      "mul.wide.s32 %rd2, %r7, 4; add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f1, [%rd3];";
  EXPECT_EQ(Entry(last + "min.s32 %r7, %r5, %r6;" + use).reason(), "");
  EXPECT_NE(Entry(last + "max.s32 %r7, %r5, %r6;" + use).reason(), "");
  EXPECT_EQ(Entry("setp.lt.s32 %p1, %r5, %r1; selp.b32 %r7, %r5, 0, %p1;" + use).reason(), "");
  EXPECT_NE(Entry("setp.lt.s32 %p1, %r5, %r1; selp.b32 %r7, 0, %r5, %p1;" + use).reason(), "");
}

TEST(Prove, ARemainderOfADivision) {
  const std::string use =
      "mul.wide.u32 %rd2, %r6, 4; add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f1, [%rd3];";
  EXPECT_EQ(Entry("rem.u32 %r6, %r5, %r1;" + use).reason(), "");
  EXPECT_NE(Entry("div.u32 %r6, %r5, %r1; add.s32 %r6, %r6, %r1;" + use).reason(), "");
}

TEST(Prove, NotARegisterThatIsNeverSet) {
  EXPECT_NE(
      Entry("mul.wide.u32 %rd2, %r30, 4; add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f1, [%rd3];")
          .reason(),
      "");
}

TEST(Prove, NotAnIrreducibleLoop) {
  EXPECT_EQ(
      Entry("setp.ge.s32 %p1, %r5, %r1; @%p1 bra B; A: ld.global.f32 %f1, [%rd1]; B: bar.sync 0;"
            "setp.ne.s32 %p2, %r5, 7; @%p2 bra A;")
          .reason(),
      "a loop of the kernel has several entries");
}

TEST(Prove, SharedTilesByTheirSize) {
  const std::string use = "mov.u32 %r7, tile; add.s32 %r8, %r7, %r6; st.shared.f32 [%r8], %f1;";
  EXPECT_EQ(Entry("shl.b32 %r6, %r2, 2;" + use).reason(), "");
  EXPECT_NE(Entry("shl.b32 %r6, %r2, 3;" + use).reason(), "");
  EXPECT_NE(Entry("shl.b32 %r6, %r5, 2;" + use).reason(), "");
}

}  // namespace
}  // namespace gpuemu::inbounds
