// Tests the line-based counts that existing tools use; they involve no parser.
#include "judge/metrics/plain_metrics.h"

#include <random>

#include <gtest/gtest.h>

#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

constexpr char kKernel[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry first(
	.param .u64 p
)
{
	.local .align 16 .b8 	__local_depot0[32];
	.shared .align 4 .b8 tile[256];
	.shared .align 4 .f32 sums[8];
	.reg .pred 	%p<2>;
	.reg .f32 	%f<4>;
	.reg .b32 	%r<7>;

	ld.param.u64 	%rd1, [p];
	st.local.f32 	[%rd1], %f1;
	ld.local.f32 	%f2, [%rd1];
	@%p1 bra 	$L__BB0_2;
add.f32 %f1, %f2, %f3;
	add.f32 	%f1, %f2, %f3;
	ld.shared::cta.f32 %f1, [tile];
$L__BB0_2:
	ret;
}
)";

TEST(PlainMetrics, AddUpDeclarationsAsWritten) {
  const ArtifactMetrics metrics = plain_metrics(kKernel);
  EXPECT_EQ(metrics.kernel_name, "first");
  EXPECT_EQ(metrics.register_count, 13u);
  EXPECT_EQ(metrics.local_memory_bytes, 32u);
  EXPECT_EQ(metrics.shared_memory_bytes, 264u);  // The element size is not multiplied in.
  EXPECT_EQ(metrics.spill_count, 2u);
}

TEST(PlainMetrics, CountNeitherGuardedLinesNorThoseInColumnOne) {
  const ArtifactMetrics metrics = plain_metrics(kKernel);
  EXPECT_EQ(metrics.instruction_count, 5u);
  const std::vector<std::string> expected = {"ld.param.u64", "st.local.f32", "ld.local.f32",
                                             "add.f32", "ret"};
  EXPECT_EQ(metrics.patterns_found, expected);
}

TEST(PlainMetrics, OfTheExampleOfTheProtocolAreThoseItShows) {
  const ArtifactMetrics metrics = plain_metrics(
      ".visible .entry k (\n)\n{\n\t.reg .f32 %f<4>;\n\tadd.f32 %f1, %f2, %f3;\n\tret;\n}\n");
  EXPECT_EQ(metrics.kernel_name, "k");
  EXPECT_EQ(metrics.register_count, 4u);
  EXPECT_EQ(metrics.instruction_count, 2u);
  EXPECT_EQ(metrics.patterns_found, (std::vector<std::string>{"add.f32", "ret"}));
}

TEST(PlainMetrics, OfTextWithoutAKernelAreOfAnUnknownOne) {
  EXPECT_EQ(plain_metrics(".version 7.0").kernel_name, "unknown");
  EXPECT_EQ(plain_metrics("").instruction_count, 0u);
  EXPECT_TRUE(looks_like_ptx(".version 7.0"));
  EXPECT_FALSE(looks_like_ptx("the quick brown fox"));
  EXPECT_FALSE(looks_like_ptx(""));
}

TEST(PlainMetrics, StopAtTheLargestNumberInsteadOfWrapping) {
  const ArtifactMetrics metrics =
      plain_metrics("\t.reg .b32 %r<4294967295>;\n\t.reg .b32 %q<99999999999999999999999>;\n");
  EXPECT_EQ(metrics.register_count, UINT32_MAX);
}

TEST(PlainMetrics, ReadAnyBytesWithoutHarm) {
  std::mt19937 random(7);
  std::string text = kKernel;
  for (int round = 0; round < 300; ++round) {
    std::string changed = text;
    for (int i = 0; i < 8; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    changed.resize(random() % changed.size());
    EXPECT_LE(plain_metrics(changed).instruction_count, text.size());
  }
}

/// A kernel as nvcc lays one out, with random declarations and instructions.
struct Generated {
  std::string text;
  uint32_t registers = 0, plain = 0, guarded = 0;
};
Generated generate(uint32_t seed) {
  std::mt19937 random(seed);
  Generated made;
  made.text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n";
  const auto declare = [&](const char* type, const char* prefix) {
    const uint32_t count = 2 + static_cast<uint32_t>(random() % 30);
    made.text += fmt::format("\t.reg .{} \t%{}<{}>;\n", type, prefix, count);
    made.registers += count;
  };
  declare("pred", "p");
  declare("f32", "f");
  declare("b32", "r");
  for (auto left = random() % 40; left > 0; --left) {
    const bool guard = random() % 3 == 0;
    const char* lines[] = {"add.rn.f32 %f1, %f0, %f1;", "mov.u32 %r0, %tid.x;",
                           "setp.lt.s32 %p1, %r0, %r1;", "fma.rn.f32 %f1, %f0, %f1, %f0;"};
    made.text += fmt::format("\t{}{}\n", guard ? "@%p1 " : "", lines[random() % 4]);
    ++(guard ? made.guarded : made.plain);
  }
  made.text += "\tret;\n}\n";
  ++made.plain;
  return made;
}

TEST(PlainMetrics, AgreeWithTheParserUpToGuardedInstructions) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Generated made = generate(seed);
    const auto module = ptx::parse(made.text, "k.ptx");
    ASSERT_TRUE(module) << module.error().message;
    const ArtifactMetrics metrics = plain_metrics(made.text);
    EXPECT_EQ(metrics.register_count, made.registers) << "seed " << seed;
    EXPECT_EQ(module->functions[0].registers.size(), made.registers) << "seed " << seed;
    EXPECT_EQ(metrics.instruction_count, made.plain) << "seed " << seed;
    EXPECT_EQ(module->functions[0].body.size(), made.plain + made.guarded) << "seed " << seed;
  }
}

}  // namespace
}  // namespace gpuemu
