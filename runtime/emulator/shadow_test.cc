// Tests the reports of shadow execution on small kernels with known losses.
#include "runtime/shadow/shadow.h"

#include <cmath>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {
using Kind = ShadowStep::Kind;

/// Runs an entry (pointer to the output, pointer to the input) with shadows; then again with the
/// history of the first element.
struct Shadowed {
  std::vector<float> computed;
  ShadowReport all, first;
  double exact(size_t i) const { return all.regions[0][i].high + all.regions[0][i].low; }
  double gap(size_t i) const { return std::fabs(computed[i] - exact(i)); }
};

Shadowed run_shadowed(const std::string& ptx, const std::vector<float>& in, size_t outputs,
                      uint32_t threads = 32) {
  TestKernel kernel(with_header(ptx));
  const uint64_t out = *kernel.device().allocate(outputs * 4, "y"), from = kernel.buffer(in, "x");
  kernel.arg(out).arg(from);
  kernel.config().block = {threads, 1, 1};
  ShadowConfig wanted{.regions = {{out, outputs, 4}}, .target = {}};
  kernel.config().shadow = std::make_shared<ShadowConfig>(wanted);
  Shadowed made;
  made.all = *kernel.run().shadow;
  wanted.target = {out, 4, made.all.regions[0][0].block};
  kernel.config().shadow = std::make_shared<ShadowConfig>(wanted);
  made.first = *kernel.run().shadow;
  made.computed = kernel.read<float>(out, outputs);
  return made;
}

std::string entry(const std::string& body) {
  return ".visible .entry k(.param .u64 py, .param .u64 px) {\n"
         " .reg .pred %p; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .f32 %f<32>;\n"
         " .reg .f64 %d<8>;\n ld.param.u64 %rd1, [py]; ld.param.u64 %rd2, [px];\n"
         " mov.u32 %r1, %tid.x; mad.wide.u32 %rd3, %r1, 4, %rd1;\n" +
         body + " ret;\n}\n";
}

/// Reads n floats one after the other into %f1 and does `step` with each.
std::string over(uint32_t n, const std::string& before, const std::string& step,
                 const std::string& after) {
  return entry(before +
               " mov.u32 %r2, 0; mov.u64 %rd4, %rd2;\nLOOP:\n ld.global.f32 %f1, [%rd4];\n" + step +
               " add.u64 %rd4, %rd4, 4; add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, " +
               std::to_string(n) + "; @%p bra LOOP;\n" + after);
}

TEST(Shadow, SeesWhatANaiveSumLosesToCancellation) {
  const Shadowed run =
      run_shadowed(over(3, " mov.f32 %f2, 0f00000000;\n", " add.rn.f32 %f2, %f2, %f1;\n",
                        " st.global.f32 [%rd3], %f2;\n"),
                   {1e8F, 1.25F, -1e8F}, 32);
  EXPECT_EQ(run.computed[0], 0.0F);
  EXPECT_EQ(run.exact(0), 1.25);
  EXPECT_GE(run.all.regions[0][0].bound, run.gap(0));
  ASSERT_TRUE(run.all.divergence);
  EXPECT_EQ(run.all.divergence->kind, Kind::Cancels);
  EXPECT_EQ(run.all.divergence->visit, 3U);
  EXPECT_EQ(run.all.divergence->result.exact, 1.25);
  ASSERT_EQ(run.all.divergence->operands.size(), 2U);
  EXPECT_EQ(run.all.divergence->operands[0].computed, 1e8);
  EXPECT_NE(run.all.divergence->instruction.find("add.rn.f32"), std::string::npos);
  ASSERT_TRUE(run.first.origin);
  EXPECT_EQ(run.first.origin->kind, Kind::Cancels);
}

/// Returns the bound of one thread's result, for underflow only.
double underflow_of(const std::string& body, const std::vector<float>& in,
                    ShadowErrors errors = ShadowErrors::Underflow) {
  TestKernel kernel(
      with_header(entry(" ld.global.f32 %f1, [%rd2];\n" + body + " st.global.f32 [%rd1], %f9;\n")));
  const uint64_t out = *kernel.device().allocate(4, "y"), from = kernel.buffer(in, "x");
  kernel.arg(out).arg(from);
  kernel.config().block = {1, 1, 1};
  kernel.config().shadow = std::make_shared<ShadowConfig>(
      ShadowConfig{.regions = {{out, 1, 4}}, .target = {}, .errors = errors});
  return kernel.run().shadow->regions[0][0].bound;
}

TEST(Shadow, BoundsWhatUnderflowAloneMayDo) {
  const std::vector<float> tiny = {0x1.8p-140F};
  // A product that is rounded to a multiple of 2^-149, then divided by 2^-27.
  const std::string amplified =
      " mul.rn.f32 %f2, %f1, 0f3C23D70A; div.rn.f32 %f9, %f2, 0f32000000;\n";
  EXPECT_NEAR(underflow_of(amplified, tiny), 0x1p-150 * 0x1p27, 0x1p-130);
  EXPECT_EQ(underflow_of(" add.rn.f32 %f9, %f1, %f1;\n", tiny), 0) << "such sums are exact";
  const double ordinary = underflow_of(" mul.rn.f32 %f9, %f1, %f1;\n", {3.3F});
  EXPECT_LE(ordinary, 0x1p-149) << "its relative error counts as none";
  const std::string flushed = " mul.rn.ftz.f32 %f9, %f1, 0f3C23D70A;\n";
  EXPECT_EQ(underflow_of(flushed, tiny), 0x1p-150);
  EXPECT_EQ(underflow_of(flushed, tiny, ShadowErrors::UnderflowOrFlush), 0x1p-126);
}

TEST(Shadow, BoundsWhatADivisorOfAFewSubnormalUnitsMayDo) {
  // 189 units by 127 are 1.49, of which 1 is left: 127 becomes 189.
  const std::vector<float> tiny = {189 * 0x1p-149F};
  EXPECT_GE(underflow_of(" div.rn.f32 %f2, %f1, 0f42FE0000; div.rn.f32 %f9, %f1, %f2;\n", tiny),
            62);
}

TEST(Shadow, BoundsWhatFusingAProductWithASumMayDo) {
  const std::vector<float> in = {1.1F};
  const auto fused = [&](const std::string& body) {
    return underflow_of(body, in, ShadowErrors::Fusable);
  };
  EXPECT_NEAR(fused(" mul.f32 %f2, %f1, %f1; sub.f32 %f9, %f2, %f1;\n"), 1.21 * 0x1p-24, 1e-12);
  EXPECT_EQ(fused(" mul.rn.f32 %f2, %f1, %f1; sub.f32 %f9, %f2, %f1;\n"), 0) << "it may not fuse";
  EXPECT_EQ(fused(" fma.rn.f32 %f9, %f1, %f1, %f1;\n"), 0) << "it is fused";
}

TEST(Shadow, SeesTheCancellationOfAVarianceInOnePass) {
  std::vector<float> in;
  for (int i = 0; i < 64; ++i) in.push_back(1000.0F + static_cast<float>(i % 7) * 0.125F);
  const Shadowed run = run_shadowed(
      over(64, " mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;\n",
           " add.rn.f32 %f2, %f2, %f1; fma.rn.f32 %f3, %f1, %f1, %f3;\n",
           " mul.rn.f32 %f4, %f2, 0f3C800000; mul.rn.f32 %f5, %f3, 0f3C800000;\n"
           " mul.rn.f32 %f6, %f4, %f4; sub.rn.f32 %f7, %f5, %f6; st.global.f32 [%rd3], %f7;\n"),
      in, 32);
  double mean = 0, square = 0;
  for (const float x : in) mean += x / 64.0, square += double{x} * x / 64.0;
  EXPECT_NEAR(run.exact(0), square - mean * mean, 1e-6);
  EXPECT_GT(run.gap(0), 0.01);
  ASSERT_TRUE(run.first.origin);
  EXPECT_EQ(run.first.origin->kind, Kind::Cancels);
  EXPECT_NE(run.first.origin->instruction.find("sub.rn.f32"), std::string::npos);
  ASSERT_FALSE(run.first.slice.empty());
  EXPECT_EQ(run.first.slice.back().kind, Kind::Load);
  EXPECT_EQ(run.first.slice.back().count, 64U);
}

TEST(Shadow, SeesWhereASoftmaxWithoutItsMaximumOverflows) {
  const std::string ex2 = " mul.rn.f32 %f1, %f1, 0f3FB8AA3B; ex2.approx.f32 %f3, %f1;\n";
  const Shadowed run =
      run_shadowed(over(4, " mov.f32 %f2, 0f00000000;\n", ex2 + " add.rn.f32 %f2, %f2, %f3;\n",
                        " div.rn.f32 %f4, %f3, %f2; st.global.f32 [%rd3], %f4;\n"),
                   {100, 101, 102, 103}, 32);
  EXPECT_TRUE(std::isnan(run.computed[0]));
  EXPECT_NEAR(run.exact(0), 0.6439, 1e-3);
  ASSERT_TRUE(run.first.origin);
  EXPECT_EQ(run.first.origin->kind, Kind::Overflows);
  EXPECT_NE(run.first.origin->instruction.find("ex2.approx"), std::string::npos);
}

// The maximum of a row begins at -infinity: what is made of that is no overflow, and a NaN that was
// loaded comes from there.
TEST(Shadow, CallsNeitherALoadedNanNorAConstantInfinityAnOverflow) {
  const std::string maximum =
      " max.f32 %f3, %f2, %f1; sub.rn.f32 %f4, %f2, %f3; ex2.approx.f32 %f5, %f4;\n"
      " fma.rn.f32 %f6, %f6, %f5, %f1; mov.f32 %f2, %f3;\n";
  const Shadowed run = run_shadowed(over(4, " mov.f32 %f2, 0fFF800000; mov.f32 %f6, 0f00000000;\n",
                                         maximum, " st.global.f32 [%rd3], %f6;\n"),
                                    {1, 2, NAN, 3}, 32);
  ASSERT_TRUE(std::isnan(run.computed[0]));
  ASSERT_TRUE(run.first.origin);
  EXPECT_EQ(run.first.origin->kind, Kind::Load) << run.first.origin->instruction;
}

TEST(Shadow, FindsNothingWhereAConstantIsWrong) {
  const Shadowed run =
      run_shadowed(entry(" mad.wide.u32 %rd4, %r1, 4, %rd2; ld.global.f32 %f1, [%rd4];\n"
                         " mul.rn.f32 %f2, %f1, 0f3D372713; st.global.f32 [%rd3], %f2;\n"),
                   std::vector<float>(32, 3.0F), 32);
  EXPECT_FALSE(run.all.divergence);
  EXPECT_FALSE(run.all.first_other_decision);
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_LE(run.gap(i), run.all.regions[0][i].bound);
    EXPECT_LT(run.all.regions[0][i].bound, 1e-7);
  }
}

TEST(Shadow, SeesWhatASumInHalfPrecisionAbsorbs) {
  const Shadowed run = run_shadowed(
      over(4096, " mov.b16 %h1, 0x0000;\n", " cvt.rn.f16.f32 %h2, %f1; add.rn.f16 %h1, %h1, %h2;\n",
           " cvt.f32.f16 %f2, %h1; st.global.f32 [%rd3], %f2;\n"),
      std::vector<float>(4096, 1.0F), 32, 1);
  EXPECT_EQ(run.computed[0], 2048.0F);
  EXPECT_EQ(run.exact(0), 4096.0);
  ASSERT_TRUE(run.first.origin);
  EXPECT_EQ(run.first.origin->kind, Kind::Absorbs);
  EXPECT_NE(run.first.origin->instruction.find("add.rn.f16"), std::string::npos);
}

TEST(Shadow, KeepsToTheLanesOfTheMask) {
  const Shadowed run =
      run_shadowed(entry(" mad.wide.u32 %rd4, %r1, 4, %rd2; ld.global.f32 %f1, [%rd4];\n"
                         " mov.f32 %f2, 0f3F800000; and.b32 %r2, %r1, 1; setp.eq.u32 %p, %r2, 0;\n"
                         " @%p add.rn.f32 %f2, %f2, %f1; st.global.f32 [%rd3], %f2;\n"),
                   std::vector<float>(32, 1e-10F), 32);
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(run.computed[i], 1.0F);
    if (i % 2 == 0) {
      EXPECT_EQ(run.exact(i), 1.0 + double{1e-10F});
    } else {
      EXPECT_FALSE(run.all.regions[0][i].known);
    }
  }
}

TEST(Shadow, FollowsValuesThroughSharedMemoryShufflesAndSelections) {
  const Shadowed run = run_shadowed(
      " .shared .align 4 .b8 tile[128];\n" +
          entry(" mad.wide.u32 %rd4, %r1, 4, %rd2; ld.global.f32 %f1, [%rd4];\n"
                " add.rn.f32 %f2, %f1, 0f4B800000;\n"  // 2^24: the half is lost.
                " mov.u32 %r3, tile; shl.b32 %r4, %r1, 2; add.u32 %r3, %r3, %r4;\n"
                " st.shared.f32 [%r3], %f2; bar.sync 0; ld.shared.b32 %r5, [%r3];\n"
                " shfl.sync.bfly.b32 %r6, %r5, 1, 31, 0xffffffff; mov.b32 %f3, %r6;\n"
                " setp.lt.u32 %p, %r1, 16; selp.f32 %f4, %f3, %f2, %p;\n"
                " neg.f32 %f4, %f4; st.global.f32 [%rd3], %f4;\n"),
      [] {
        std::vector<float> in(32);
        for (size_t i = 0; i < 32; ++i) in[i] = 0.5F + static_cast<float>(i) * 0x1p-10F;
        return in;
      }(),
      32);
  for (size_t i = 0; i < 32; ++i) {
    const size_t from = i < 16 ? i ^ 1 : i;
    EXPECT_EQ(run.exact(i), -(0x1p24 + 0.5 + static_cast<double>(from) * 0x1p-10)) << i;
  }
}

/// Numbers that float16 rounds, 256 of them in shared memory at `tile`: 64 by lane and half, four
/// times.
std::string halves_in_shared() {
  std::string stores;
  for (const int at : {0, 128, 256, 384}) {
    stores += " st.shared.b16 [%r4+" + std::to_string(at) + "], %h1; st.shared.b16 [%r4+" +
              std::to_string(at + 2) + "], %h2;\n";
  }
  return " mad.wide.u32 %rd4, %r1, 4, %rd2; ld.global.f32 %f1, [%rd4]; add.rn.f32 %f2, %f1, %f1;\n"
         " cvt.rn.f16.f32 %h1, %f1; cvt.rn.f16.f32 %h2, %f2;\n"
         " mov.u32 %r3, tile; shl.b32 %r4, %r1, 2; add.u32 %r4, %r3, %r4;\n" +
         stores + " bar.sync 0;\n";
}

std::vector<float> thirds() {
  std::vector<float> in(32);
  for (size_t i = 0; i < 32; ++i) in[i] = static_cast<float>(i + 1) / 3.0F;
  return in;
}

/// Returns what `move` stored in %r5 of each lane: the first of two halves.
std::string after_rows(const std::string& move) {
  return " .shared .align 16 .b8 tile[512];\n" +
         entry(halves_in_shared() + move +
               " mov.b32 {%h3, %h4}, %r5; cvt.f32.f16 %f3, %h3; st.global.f32 [%rd3], %f3;\n");
}

TEST(Shadow, FollowsHalvesThroughLdmatrix) {
  const std::vector<float> in = thirds();
  const std::string rows = " and.b32 %r6, %r1, 7; shl.b32 %r6, %r6, 4; add.u32 %r6, %r6, %r3;\n";
  const Shadowed run = run_shadowed(
      after_rows(rows + " ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r6];\n"), in, 32);
  const Shadowed turned = run_shadowed(
      after_rows(rows + " ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r5}, [%r6];\n"), in, 32);
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(run.exact(i), static_cast<double>(in[i])) << i;
    const size_t row = i % 4 * 2, column = i / 4;  // Rows hold eight halves.
    EXPECT_EQ(turned.exact(i),
              static_cast<double>(in[row * 4 + column / 2]) * (column % 2 == 0 ? 1 : 2))
        << i;
  }
}

TEST(Shadow, FollowsHalvesThroughFragmentsOfWmma) {
  // 16 x 16 halves in rows, every fourth row the same; stored by columns, read back so.
  const Shadowed run = run_shadowed(
      after_rows(
          " .reg .b32 %q<4>;\n"
          " wmma.load.c.sync.aligned.row.m16n16k16.shared.f16 {%q0, %q1, %q2, %q3}, [%r3];\n"
          " bar.sync 0;\n"
          " wmma.store.d.sync.aligned.col.m16n16k16.shared.f16 [%r3], {%q0, %q1, %q2, %q3};\n"
          " bar.sync 0; shl.b32 %r6, %r1, 5; and.b32 %r6, %r6, 511; add.u32 %r6, %r6, %r3;\n"
          " ld.shared.u16 %h5, [%r6]; cvt.u32.u16 %r5, %h5;\n"),
      thirds(), 32);
  for (size_t column = 0; column < 16; ++column) {
    EXPECT_EQ(run.exact(column),
              static_cast<double>(thirds()[column / 2]) * (column % 2 == 0 ? 1 : 2))
        << column;
  }
}

TEST(Shadow, TakesRoundingByAMagicConstantForMeant) {
  // exp as compilers expand it: a whole number by addition, its bits as an exponent.
  const Shadowed run = run_shadowed(
      entry(" mad.wide.u32 %rd4, %r1, 4, %rd2; ld.global.f32 %f1, [%rd4];\n"
            " mov.f32 %f9, 0f4B400001; fma.rn.f32 %f2, %f1, 0f3FB8AA3B, %f9;\n"
            " add.f32 %f3, %f2, 0fCB400001; neg.f32 %f4, %f3;\n"
            " fma.rn.f32 %f5, %f1, 0f3FB8AA3B, %f4; fma.rn.f32 %f5, %f1, 0f32A57060, %f5;\n"
            " mov.b32 %r2, %f3; cvt.rni.s32.f32 %r3, %f3; shl.b32 %r3, %r3, 23;\n"
            " add.s32 %r3, %r3, 0x3f800000; mov.b32 %f6, %r3; ex2.approx.f32 %f7, %f5;\n"
            " mul.rn.f32 %f8, %f7, %f6; st.global.f32 [%rd3], %f8;\n"),
      [] {
        std::vector<float> in(32);
        for (size_t i = 0; i < 32; ++i) in[i] = static_cast<float>(i) * 0.7F - 11.0F;
        return in;
      }(),
      32);
  for (size_t i = 0; i < 32; ++i) {
    const double x = static_cast<double>(static_cast<float>(i) * 0.7F - 11.0F);
    EXPECT_NEAR(run.exact(i) / std::exp(x), 1.0, 1e-6) << i;
    EXPECT_LE(run.gap(i), 1e-6 * run.exact(i)) << i;
  }
}

TEST(Shadow, CountsDecisionsThatTheExactValuesTakeOtherwise) {
  const Shadowed run =
      run_shadowed(entry(" mad.wide.u32 %rd4, %r1, 4, %rd2; ld.global.f32 %f1, [%rd4];\n"
                         " add.rn.f32 %f2, %f1, 0f4B800000; setp.gt.f32 %p, %f2, 0f4B800000;\n"
                         " selp.f32 %f3, %f1, 0f00000000, %p; st.global.f32 [%rd3], %f3;\n"),
                   std::vector<float>(32, 0.25F), 32);
  EXPECT_EQ(run.all.other_decisions, 32U);
  ASSERT_TRUE(run.all.first_other_decision);
  EXPECT_NE(run.all.first_other_decision->instruction.find("setp.gt.f32"), std::string::npos);
}

TEST(Shadow, CountsCloseRoundingsToIntegersOfAnyWidth) {
  for (const std::string type : {"s8", "u8", "s16", "s32"}) {
    const Shadowed run =
        run_shadowed(entry(" mad.wide.u32 %rd4, %r1, 4, %rd2; ld.global.f32 %f1, [%rd4];\n"
                           " mul.rn.f32 %f2, %f1, 0f3EAAAAAB; cvt.rni.sat." +
                           type +
                           ".f32 %r2, %f2;\n"
                           " cvt.rn.f32.s32 %f3, %r2; st.global.f32 [%rd3], %f3;\n"),
                     std::vector<float>(32, 7.5F), 32);  // 2.5 in float32, more without rounding.
    EXPECT_EQ(run.all.close_roundings, 32U) << type;
  }
}

TEST(Shadow, AddsExactlyWhereAtomicsDoNot) {
  TestKernel kernel(with_header(
      ".visible .entry k(.param .u64 py, .param .u64 px) {\n .reg .b64 %rd<4>; .reg .b32 %r<4>; "
      ".reg .f32 %f<4>;\n ld.param.u64 %rd1, [py]; ld.param.u64 %rd2, [px]; mov.u32 %r1, %tid.x;\n"
      " mad.wide.u32 %rd3, %r1, 4, %rd2; ld.global.f32 %f1, [%rd3];\n"
      " red.global.add.f32 [%rd1], %f1;\n ret;\n}\n"));
  std::vector<float> in(32, 0.25F);
  in[0] = 0x1p24F;
  const uint64_t out = kernel.buffer(std::vector<float>{0.0F}, "y"), from = kernel.buffer(in, "x");
  kernel.arg(out).arg(from);
  const ShadowConfig wanted{.regions = {{out, 1, 4}}, .target = {}};
  kernel.config().shadow = std::make_shared<ShadowConfig>(wanted);
  const LaunchReport report = kernel.run();
  EXPECT_EQ(kernel.read<float>(out, 1)[0], 0x1p24F);
  EXPECT_EQ(report.shadow->regions[0][0].high, 0x1p24 + 31 * 0.25);
}

TEST(Shadow, DoesNotGoTogetherWithAProfile) {
  TestKernel kernel(with_header(".visible .entry k() { ret; }\n"));
  kernel.config().shadow = std::make_shared<ShadowConfig>();
  kernel.config().profile = true;
  const auto report = kernel.launch();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::InvalidArgument);
}

TEST(Shadow, LeavesTheResultsAlone) {
  const std::string body = entry(
      " mad.wide.u32 %rd4, %r1, 4, %rd2; ld.global.f32 %f1, [%rd4];\n"
      " cvt.f64.f32 %d1, %f1; div.rn.f64 %d2, %d1, 0d4008000000000000; sqrt.rn.f64 %d3, %d2;\n"
      " cvt.rn.f32.f64 %f2, %d3; sin.approx.f32 %f3, %f2; st.global.f32 [%rd3], %f3;\n");
  std::vector<float> in(32);
  for (size_t i = 0; i < 32; ++i) in[i] = static_cast<float>(i) * 0.37F;
  TestKernel plain(with_header(body));
  const uint64_t out = *plain.device().allocate(128, "y");
  plain.arg(out).arg(plain.buffer(in, "x"));
  plain.run();
  EXPECT_EQ(run_shadowed(body, in, 32).computed, plain.read<float>(out, 32));
}

}  // namespace
}  // namespace gpuemu::emulator
