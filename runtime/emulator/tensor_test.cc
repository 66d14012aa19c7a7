// Tensor cores: single elements against the model of each generation, whole tiles against sums.
#include <array>
#include <bit>

#include "runtime/emulator/math/dot.h"
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {
using ptx::Type;

float dot(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, float c, Type type,
          int sm) {
  std::vector<Factor> x, y;
  for (const uint32_t bits : a) x.push_back(factor_of(bits, type));
  for (const uint32_t bits : b) y.push_back(factor_of(bits, type));
  return dot_float(x, y, c, type, dot_model(sm, type));
}

constexpr uint32_t kOne = 0x3c00, kTiny = 0x0400, kInfinite = 0x7c00, kMinusOne = 0xbc00;

TEST(TensorDot, KeepsTwoBitsBelowTheLastOneOnHopperAndCutsTheSum) {
  // 2^24 + 1 * 2^-1 four times: each half survives the cut at 2^-1, and the sum is cut to 2^24 + 2.
  const std::vector<uint32_t> halves(4, 0x3800), ones(4, kOne);
  EXPECT_EQ(dot(halves, ones, 16777216.0f, Type::F16, 90), 16777218.0f);
  EXPECT_EQ(dot(halves, ones, 16777216.0f, Type::F16, 75), 16777216.0f);
}
TEST(TensorDot, IsExactWhereNothingIsCut) {
  EXPECT_EQ(dot({kOne, kMinusOne, kTiny}, {kOne, kOne, kOne}, 3.0f, Type::F16, 90),
            3.0f + 0x1p-14f);
  EXPECT_EQ(dot({0x3f80, 0x4000}, {0x4040, 0x4040}, -9.0f, Type::BF16, 80), 0.0f);
}
TEST(TensorDot, SpreadsWhatIsNotFinite) {
  EXPECT_EQ(dot({kInfinite}, {kMinusOne}, 1.0f, Type::F16, 90),
            -std::numeric_limits<float>::infinity());
  for (const uint32_t other : {uint32_t{0}, uint32_t{0x7e00}})
    EXPECT_EQ(std::bit_cast<uint32_t>(dot({kInfinite}, {other}, 1.0f, Type::F16, 90)), 0x7fffffffu);
}

TEST(TensorInstructions, MultiplyIntegersOfEightBits) {
  TestKernel kernel(with_header(R"(.visible .entry k(.param .u64 p) {
 .reg .b32 %a, %b, %c, %d<4>, %t; .reg .b64 %r, %o;
 ld.param.u64 %r, [p]; mov.u32 %t, %tid.x; mov.u32 %a, 0x01ff0203; mov.u32 %b, 0x01010101; mov.u32 %c, 7;
 mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%d0,%d1,%d2,%d3}, {%a,%a,%a,%a}, {%b,%b}, {%c,%c,%c,%c};
 mul.wide.u32 %o, %t, 16; add.s64 %r, %r, %o; st.global.v4.u32 [%r], {%d0,%d1,%d2,%d3}; ret; })"));
  const uint64_t at = kernel.buffer(std::vector<int32_t>(128));
  kernel.arg(at).run();
  EXPECT_EQ(kernel.read<int32_t>(at, 128), std::vector<int32_t>(128, 8 * (1 - 1 + 2 + 3) + 7));
}
TEST(TensorInstructions, RefuseWhatTheyDoNotKnow) {
  TestKernel kernel(with_header(
      ".visible .entry k() { .reg .b32 %a; mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
      "{%a,%a,%a,%a}, {%a,%a,%a,%a}, {%a,%a,%a,%a}, {%a,%a,%a,%a}, %a, 0; ret; }"));
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, "unsupported_instruction");
}

}  // namespace
}  // namespace gpuemu::emulator
