// mma.sp beyond its layouts, which tests/conformance compares: what is chosen of B, metadata that
// are not valid, undefined values, sums that a unit rounds.
#include <bit>
#include <cmath>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

constexpr uint32_t kFirstTwo = 0x44444444;  ///< Positions 0 and 1 of every chunk.
constexpr uint32_t kLastTwo = 0xeeeeeeee;   ///< Positions 2 and 3.

/// Words of A, B and metadata as every lane holds them; C is %f.
struct Operands {
  uint32_t a = 0, b = 0, metadata = kFirstTwo;
  float c = 0;
};
std::string entry(const std::string& instruction, const std::string& before = "") {
  return with_header(
      ".visible .entry k(.param .u64 out, .param .u32 pa, .param .u32 pb, .param .u32 pe, .param "
      ".f32 pc) {\n"
      " .reg .b32 %a, %b, %b2, %z, %e, %t; .reg .f32 %c, %d<4>; .reg .b64 %o, %i;\n"
      " .shared .align 4 .b32 unwritten[32];\n"
      " ld.param.u64 %o, [out]; ld.param.u32 %a, [pa]; ld.param.u32 %b, [pb]; mov.b32 %b2, %b;\n"
      " mov.b32 %z, 0;\n"
      " ld.param.u32 %e, [pe]; ld.param.f32 %c, [pc]; mov.u32 %t, %tid.x;\n" +
      before + instruction +
      " mul.wide.u32 %i, %t, 16; add.u64 %o, %o, %i; st.global.v4.f32 [%o], {%d0,%d1,%d2,%d3};\n"
      " ret; }\n");
}
std::string product(const std::string& variant, const std::string& shape, const std::string& type,
                    const std::string& b = "{%b,%b,%b2,%b2}", const std::string& selector = "0") {
  const std::string a = b.size() > 10 ? "{%a,%a,%a,%a}" : "{%a,%a}";
  return variant + ".sync.aligned." + shape + ".row.col.f32." + type + "." + type +
         ".f32 {%d0,%d1,%d2,%d3}, " + a + ", " + b + ", {%c,%c,%c,%c}, %e, " + selector + ";\n";
}
struct Outcome {
  std::vector<float> d;
  std::vector<DeviceFinding> findings;
};
Outcome run(const std::string& text, const Operands& with, int sm = 90) {
  TestKernel kernel(text, sm);
  const uint64_t out = kernel.buffer(std::vector<float>(128), "out");
  kernel.arg(out).arg(with.a).arg(with.b).arg(with.metadata).arg(with.c);
  const LaunchReport report = kernel.run(false);
  return {kernel.read<float>(out, 128), report.findings};
}

constexpr uint32_t kOnes = 0x3c003c00;  // Two halves.
constexpr uint32_t kOneAndTwo = 0x40003c00;

TEST(SparseMma, AddsOnlyWhatTheMetadataChoose) {
  // Each lane of B holds 1 and 2: positions 0 and 1 are 1, 2, and so are 2 and 3.
  const std::string text = entry(product("mma.sp", "m16n8k32", "f16"));
  const Outcome same = run(text, {.a = kOnes, .b = kOneAndTwo, .metadata = kLastTwo, .c = 0.5F});
  EXPECT_TRUE(same.findings.empty());
  EXPECT_EQ(same.d, std::vector<float>(128, 8 * 3 + 0.5F));
  // Positions 1 and 3 are 2 each.
  const Outcome odd = run(text, {.a = kOnes, .b = kOneAndTwo, .metadata = 0xdddddddd});
  EXPECT_EQ(odd.d, std::vector<float>(128, 8 * 4));
}

TEST(SparseMma, IgnoresWhatBHoldsElsewhere) {
  // Odd lanes hold positions 2 and 3 of the chunks.
  const std::string infinite =
      " and.b32 %e, %t, 1; setp.eq.u32 %p, %e, 1; @%p mov.b32 %b, 0x7c007e00;\n"
      " @%p mov.b32 %b2, 0x7e007c00; ld.param.u32 %e, [pe];\n";
  const std::string text =
      entry(product("mma.sp", "m16n8k32", "f16"), " .reg .pred %p;\n" + infinite);
  const Outcome chosen = run(text, {.a = kOnes, .b = kOneAndTwo});
  EXPECT_EQ(chosen.d, std::vector<float>(128, 8 * 3));
  const Outcome others = run(text, {.a = kOnes, .b = kOneAndTwo, .metadata = kLastTwo});
  EXPECT_TRUE(std::isnan(others.d[0]));
}

TEST(SparseMma, AddsAsManyProductsAtOnceAsADenseOne) {
  // Four halves beside 2^24, two among the first eight products: 2 if the unit of sm_90 adds all
  // sixteen at once, nothing if it cuts the sum of eight first.
  const Operands with{.a = kOnes, .b = 0x00003800, .c = 16777216.0F};
  const std::string sparse = entry(product("mma.sp", "m16n8k32", "f16", "{%b,%z,%b2,%z}"));
  const std::string dense = entry(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0,%d1,%d2,%d3}, {%a,%a,%a,%a}, "
      "{%b,%z}, {%c,%c,%c,%c};\n");
  EXPECT_EQ(run(sparse, with).d, std::vector<float>(128, 16777218.0F));
  for (const int sm : {80, 90}) {
    EXPECT_EQ(run(sparse, with, sm).d, run(dense, with, sm).d) << sm;
  }
  // With a value of B that is not finite, each row is computed by itself: the same sums.
  const std::string infinite = entry(product("mma.sp", "m16n8k32", "f16", "{%b,%z,%b2,%z}"),
                                     " .reg .pred %p; setp.eq.u32 %p, %t, 1;\n"
                                     " @%p mov.b32 %b, 0x7c007c00; @%p mov.b32 %b2, 0x7c007c00;\n");
  EXPECT_EQ(run(infinite, with).d, run(sparse, with).d);
}

TEST(SparseMma, FindsMetadataThatAreNotValid) {
  const std::string any = entry(product("mma.sp", "m16n8k16", "f16", "{%b,%b2}", "1")),
                    ordered =
                        entry(product("mma.sp::ordered_metadata", "m16n8k16", "f16", "{%b,%b2}")),
                    tf32 = entry(product("mma.sp", "m16n8k16", "tf32"));
  EXPECT_FALSE(run(any, {.metadata = 0x4b1e}).findings.empty()) << "0 for rows 8 to 15";
  EXPECT_TRUE(run(any, {.metadata = 0x4b1e4b1e}).findings.empty()) << "any order";
  struct Case {
    const std::string& text;
    uint32_t metadata;
    std::string message;
  };
  for (const Case& one :
       {Case{any, 0x44445444,
             "needs valid metadata: 0b0101 of row 0, columns 12 to 15 of A, has to have two "
             "different positions"},
        Case{
            ordered, 0x44144444,
            "needs valid metadata: 0b0001 of row 8, columns 4 to 7 of A, has to have its positions "
            "in ascending order"},
        Case{tf32, 0xe4e4e4e8,
             "needs valid metadata: 0b1000 of row 0, columns 0 to 1 of A, has to be 0b0100 or "
             "0b1110"}}) {
    const Outcome outcome = run(one.text, {.metadata = one.metadata});
    ASSERT_EQ(outcome.findings.size(), 1u) << one.message;
    EXPECT_EQ(name_of(outcome.findings[0].kind), "invalid_metadata");
    EXPECT_TRUE(outcome.findings[0].message.starts_with(one.message + ";"))
        << outcome.findings[0].message;
  }
}

TEST(SparseMma, NeedsASelectorThatTheShapeHas) {
  const Outcome outcome = run(entry(product("mma.sp", "m16n8k16", "f16", "{%b,%b2}", "4")), {});
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(name_of(outcome.findings[0].kind), "unsupported_instruction");
  EXPECT_NE(outcome.findings[0].message.find("selector has to be a constant below 4"),
            std::string::npos)
      << outcome.findings[0].message;
}

TEST(SparseMma, GivesNothingDefinedOfUndefinedMetadata) {
  // The lanes of group 3 load their metadata from what nothing wrote.
  TestKernel kernel(entry(product("mma.sp", "m16n8k16", "f16", "{%b,%b2}"),
                          " .reg .b32 %s; .reg .pred %p; shr.u32 %s, %t, 2;\n"
                          " setp.eq.u32 %p, %s, 3; @%p ld.shared.u32 %e, [unwritten];\n"));
  const uint64_t out = kernel.buffer(std::vector<float>(128), "out");
  kernel.config().defers_undefined = true;
  const LaunchReport report =
      kernel.arg(out).arg(kOnes).arg(kOnes).arg(kFirstTwo).arg(0.0F).run(false);
  ASSERT_FALSE(report.undefined.empty());
  for (const UndefinedStore& store : report.undefined) {
    EXPECT_NE(store.finding.message.find("unwritten"), std::string::npos) << store.finding.message;
  }
}

}  // namespace
}  // namespace gpuemu::emulator
