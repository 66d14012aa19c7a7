// Tensor cores: single elements against the model of each generation, whole tiles against sums.
#include <array>
#include <bit>
#include <span>

#include "runtime/emulator/numerics/dot.h"
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {
using ptx::Type;

float dot(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, float c, Type type,
          int sm) {
  std::vector<Factor> x, y;
  for (const uint32_t bits : a) x.push_back(factor_of(bits, type));
  for (const uint32_t bits : b) y.push_back(factor_of(bits, type));
  return std::bit_cast<float>(
      dot_float(x, y, std::bit_cast<uint32_t>(c), dot_model(sm, type, DotUnit::Mma)));
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
  for (const uint32_t other : {uint32_t{0}, uint32_t{0x7e00}}) {
    EXPECT_EQ(std::bit_cast<uint32_t>(dot({kInfinite}, {other}, 1.0f, Type::F16, 90)), 0x7fffffffu);
  }
}

TEST(TensorDot, GivesNoNegativeZero) {
  const Factor tiny = factor_of(0x0001, Type::BF16), minus_tiny = factor_of(0x8001, Type::BF16);
  const DotModel model = dot_model(90, Type::BF16, DotUnit::Mma);
  EXPECT_EQ(dot_float(std::span(&tiny, 1), std::span(&minus_tiny, 1), 0x80000000, model), 0u);
  EXPECT_EQ(dot_float({}, {}, 0x80000000, model), 0x80000000u);
  const Factor half = factor_of(0x0001, Type::F16), minus_half = factor_of(0x8001, Type::F16);
  EXPECT_EQ(dot_half(std::span(&half, 1), std::span(&minus_half, 1), 0x8000, model), 0u);
}
TEST(TensorDot, RoundsAnAccumulatorOfHalvesOnce) {
  // 1 + 2^-11 + 2^-24: the cut to f32 would leave a tie.
  const std::vector<uint32_t> ones(3, kOne), terms = {kOne, 0x1000, 0x0001};
  std::vector<Factor> x, y;
  for (size_t i = 0; i < ones.size(); ++i) {
    x.push_back(factor_of(terms[i], Type::F16));
    y.push_back(factor_of(ones[i], Type::F16));
  }
  EXPECT_EQ(dot_half(x, y, 0, dot_model(90, Type::F16, DotUnit::Mma)), 0x3c01u);
}
TEST(TensorDot, KeepsFourteenBitsOfEightBitFloatsInAWarpGroup) {
  const DotModel model = dot_model(90, Type::E4M3, DotUnit::Wgmma);
  const Factor one = factor_of(0x38, Type::E4M3);
  EXPECT_EQ(std::bit_cast<float>(dot_float(std::span(&one, 1), std::span(&one, 1),
                                           std::bit_cast<uint32_t>(8192.0f), model)),
            8193.0f);
  EXPECT_EQ(std::bit_cast<float>(dot_float(std::span(&one, 1), std::span(&one, 1),
                                           std::bit_cast<uint32_t>(16384.0f), model)),
            16384.0f);
}

TEST(TensorInstructions, MultiplyIntegersOfEightBits) {
  TestKernel kernel(with_header(R"(.visible .entry k(.param .u64 p) {
 .reg .b32 %a, %b, %c, %d<4>, %t; .reg .b64 %r, %o;
 ld.param.u64 %r, [p]; mov.u32 %t, %tid.x; mov.u32 %a, 0x01ff0203; mov.u32 %b, 0x01010101;
 mov.u32 %c, 7;
 mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
   {%d0,%d1,%d2,%d3}, {%a,%a,%a,%a}, {%b,%b}, {%c,%c,%c,%c};
 mul.wide.u32 %o, %t, 16; add.s64 %r, %r, %o; st.global.v4.u32 [%r], {%d0,%d1,%d2,%d3}; ret; })"));
  const uint64_t at = kernel.buffer(std::vector<int32_t>(128));
  kernel.arg(at).run();
  EXPECT_EQ(kernel.read<int32_t>(at, 128), std::vector<int32_t>(128, 8 * (1 - 1 + 2 + 3) + 7));
}
TEST(TensorInstructions, RefuseWhatTheyDoNotKnow) {
  TestKernel kernel(
      with_header(".visible .entry k() { .reg .b32 %a; mma.sync.aligned.m16n8k32.row.col.kind::"
                  "f8f6f4.f32.e2m1.e2m1.f32 {%a,%a,%a,%a}, {%a,%a,%a,%a}, {%a,%a}, {%a,%a,%a,%a}; "
                  "ret; }"));
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "unsupported_instruction");
}

/// What `warps` warps find when each does `body` with the matrix at %P in global or %S in shared
/// memory.
std::vector<DeviceFinding> fragments(const std::string& body, uint32_t warps, uint32_t blocks) {
  // On one host thread: fragments that two blocks store alike at the same moment are taken for a
  // race.
  TestKernel kernel(
      with_header(
          ".visible .entry k(.param .u64 p) {\n .reg .b32 %h<8>; .reg .b64 %P, %S; .reg .b32 %t; "
          ".reg .pred %p;\n .shared .align 32 .b8 tile[512];\n"
          " ld.param.u64 %P, [p]; mov.u64 %S, tile; mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 32;\n"
          " mov.b32 %h0, %t; mov.b32 %h1, %t; mov.b32 %h2, %t; mov.b32 %h3, %t;\n" +
          body + "\n ret;\n}\n"),
      80, 1);
  kernel.config().block = {32 * warps, 1, 1};
  kernel.config().grid = {blocks, 1, 1};
  kernel.arg(kernel.buffer(std::vector<uint32_t>(512, 0), "m"));
  return kernel.run(false).findings;
}
const std::string kStoreHalves = "wmma.store.d.sync.aligned.row.m16n16k16.";
const std::string kLoadHalves =
    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%h0,%h1,%h2,%h3,%h4,%h5,%h6,%h7}, [%P], "
    "16;";

TEST(Fragments, ThatBlocksWriteToOnePlaceAreARace) {
  const auto found = fragments(kStoreHalves + "global.f16 [%P], {%h0,%h1,%h2,%h3}, 16;", 1, 16);
  EXPECT_TRUE(found.empty()) << "the same values";
  const auto differ = fragments("mov.u32 %t, %ctaid.x; mov.b32 %h0, %t; add.u32 %h0, %h0, 1;" +
                                    kStoreHalves + "global.f16 [%P], {%h0,%h1,%h2,%h3}, 16;",
                                1, 16);
  ASSERT_EQ(differ.size(), 1u);
  EXPECT_EQ(name_of(differ[0].kind), "race_global") << differ[0].message;
  EXPECT_EQ(differ[0].tensor, "m");
}
TEST(Fragments, ThatAnotherWarpWritesNeedABarrier) {
  const std::string store =
      "@!%p bra NEXT; " + kStoreHalves + "global.f16 [%P], {%h0,%h1,%h2,%h3}, 16;\nNEXT: ";
  const auto found = fragments(store + "@%p bra END; " + kLoadHalves + "\nEND:", 2, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(name_of(found[0].kind), "race_global") << found[0].message;
  EXPECT_TRUE(
      fragments(store + "bar.sync 0; @%p bra END; " + kLoadHalves + "\nEND:", 2, 1).empty());
}
TEST(Fragments, InSharedMemoryNeedABarrierToo) {
  const auto with = [](const std::string& barrier) {
    return fragments("@!%p bra NEXT; " + kStoreHalves +
                         "shared.f16 [%S], {%h0,%h1,%h2,%h3}, 16;\nNEXT: " + barrier +
                         " @%p bra END; ld.shared.u32 %t, [%S]; st.global.u32 [%P], %t;\nEND:",
                     2, 1);
  };
  EXPECT_TRUE(with("bar.sync 0;").empty());
  ASSERT_EQ(with("").size(), 1u);
  EXPECT_EQ(name_of(with("")[0].kind), "race_shared");
}

}  // namespace
}  // namespace gpuemu::emulator
