// Tests which limits for compiled code take precedence, and the dtype under test of integer ops.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "common/config/config.h"
#include "common/config/names.h"
#include "common/config/pattern.h"
#include "common/config/test_config.h"

namespace gpuemu {
namespace {

constexpr char kLayers[] = R"(
[policies.artifact_checks]
max_registers = 100
max_instructions = 1000
forbidden_patterns = ["^div\\."]
[policies.artifact_checks.sm_90]
max_registers = 110
[[kernels]]
name = "a"
[kernels.artifact_checks]
max_spills = 8
[kernels.artifact_checks.sm_90]
max_registers = 120
forbidden_patterns = []
[[kernels]]
name = "b"
artifact_checks = { max_registers = 32, min_occupancy = 0.5 }
)";

TEST(ArtifactChecks, WithoutAnyAreThoseOfExistingTools) {
  const ArtifactLimits limits = good("").limits_for(nullptr, "sm_80");
  EXPECT_EQ(limits.max_registers, 64u);
  EXPECT_EQ(limits.max_spills, 0u);
  EXPECT_EQ(limits.max_local_memory, 0u);
  EXPECT_FALSE(limits.max_instructions || limits.max_shared_memory || limits.min_occupancy);
  EXPECT_FALSE(limits.required_patterns || limits.forbidden_patterns);
}

TEST(ArtifactChecks, TheNarrowerPlaceWinsKeyByKey) {
  const Config config = good(kLayers);
  const KernelConfig* a = config.find_kernel("a");
  const KernelConfig* b = config.find_kernel("b");
  EXPECT_EQ(config.limits_for(nullptr, "sm_80").max_registers, 100u);
  EXPECT_EQ(config.limits_for(nullptr, "sm_90").max_registers, 110u);
  EXPECT_EQ(config.limits_for(a, "sm_80").max_registers, 100u);
  EXPECT_EQ(config.limits_for(a, "sm_90").max_registers, 120u);
  EXPECT_EQ(config.limits_for(b, "sm_90").max_registers, 32u);
  EXPECT_EQ(config.limits_for(a, "sm_90").max_spills, 8u);
  EXPECT_EQ(config.limits_for(a, "sm_90").max_instructions, 1000u);
  EXPECT_EQ(config.limits_for(b, "sm_80").min_occupancy, 0.5);
  EXPECT_EQ(config.limits_for(b, "sm_90").forbidden_patterns, std::vector<std::string>{"^div\\."});
  EXPECT_EQ(config.limits_for(a, "sm_90").forbidden_patterns, std::vector<std::string>{});
}

TEST(ArtifactChecks, AreListedAmongTheSettingsWithTheirPlaces) {
  const Config config = good(kLayers);
  const auto listed = [&](const std::string& key) -> std::string {
    for (const Config::Setting& one : config.settings) {
      if (one.key == "policies.artifact_checks." + key) return one.value + " " + one.origin;
    }
    return "missing";
  };
  EXPECT_EQ(listed("max_registers"), "100 gpuemu.toml:3");
  EXPECT_EQ(listed("max_spills"), "0 default");
  EXPECT_EQ(listed("forbidden_patterns"), "[\"^div\\.\"] gpuemu.toml:5");
  EXPECT_EQ(listed("sm_90.max_registers"), "110 gpuemu.toml:7");
  EXPECT_EQ(listed("min_occupancy"), "missing");
}

TEST(Architectures, HaveTwoOrThreeDigitsAndAtMostOneLetter) {
  for (const char* name : {"sm_75", "sm_80", "sm_90a", "sm_100", "sm_120f"}) {
    EXPECT_TRUE(is_architecture(name)) << name;
  }
  for (const char* name : {"", "sm_", "sm_9", "sm_1000", "sm_90b", "sm_90aa", "sm_09", "sm_a0",
                           "sm_9a0", "compute_80", "auto"}) {
    EXPECT_FALSE(is_architecture(name)) << name;
  }
}

TEST(ArtifactChecks, AWrongKeyIsNamedWithItsPlace) {
  const ConfigResult result = parse_config(
      "[policies.artifact_checks.sm_90]\nmax_register = 3\n[policies.artifact_checks.volta]\n",
      "gpuemu.toml");
  ASSERT_FALSE(result.config);
  EXPECT_NE(result.text().find("2:1: policies.artifact_checks.sm_90.max_register: unknown key"),
            std::string::npos)
      << result.text();
  EXPECT_NE(result.text().find("policies.artifact_checks.volta: unknown key"), std::string::npos)
      << result.text();
}

TEST(SmallestCase, ThatIsSlowIsWarnedAbout) {
  const auto warnings = [](const std::string& size) {
    return good(R"([[kernels]]
name = "k"
source = "k.ptx"
launches = [{ entry = "k", grid = 1, block = 1, args = ["x"] }]
outputs = [{ name = "x", shape = ["n"] }]
dims = { n = )" +
                size + " }\n")
        .warnings;
  };
  EXPECT_TRUE(warnings("[1, 99999999999]").empty());
  EXPECT_TRUE(warnings("16777216").empty());
  const auto slow = warnings("99999999");
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].key, "kernels[0].dims");
  EXPECT_NE(slow[0].message.find("has 381 MiB of tensors"), std::string::npos) << slow[0].message;
}

TEST(Pattern, FindsWhatIsAnywhereInTheText) {
  const Pattern fused("fma\\.rn");
  EXPECT_TRUE(fused.found_in("fma.rn.f32 %f1, %f2"));
  EXPECT_FALSE(fused.found_in("fmaxrn"));
  EXPECT_EQ(fused.text(), "fma\\.rn");
}

TEST(Config, AnOpOfIntegersAloneIsTestedAsWhatItIs) {
  const auto dtypes = [](const std::string& tensors, const std::string& entry = "sort") {
    const Config config =
        good("[[kernels]]\nname = \"sort\"\nsource = \"builtin:softmax\"\ndims = { n = [1, 9] }\n" +
             tensors + "\nlaunches = [{ entry = \"" + entry +
             "\", grid = 1, block = 32, args = [\"x\", \"y\"] }]\n");
    return config.ops.at(0).dtypes;
  };
  const auto one = [](const char* name, const char* dtype) {
    const std::string own = *dtype != 0 ? fmt::format(", dtype = \"{}\"", dtype) : "";
    return fmt::format("{{ name = \"{}\", shape = [\"n\"]{} }}", name, own);
  };
  const auto both = [&](const char* x, const char* y) {
    return "inputs = [" + one("x", x) + "]\noutputs = [" + one("y", y) + "]";
  };
  EXPECT_EQ(dtypes(both("int32", "int32")), std::vector{DType::Int32});
  EXPECT_EQ(dtypes(both("int64", "float16")), std::vector{DType::Int64});
  EXPECT_EQ(dtypes(both("int64", "int64") + "\ndtypes = [\"float16\"]"),
            std::vector{DType::Float16});
  const std::vector usual = {DType::Float32};
  EXPECT_EQ(dtypes(both("int32", "")), usual) << "its output is of the dtype under test";
  EXPECT_EQ(dtypes(both("float16", "int32")), usual);
  EXPECT_EQ(dtypes(both("bool", "bool")), usual) << "flags have no strategies of their own";
  EXPECT_EQ(dtypes(both("int32", "int32"), "sort_{dtype}"), usual) << "its kernel asks for it";
  const auto drawn = [&](const std::string& outputs, const std::string& entry = "sort") {
    return dtypes("inputs = []\noutputs = [" + outputs + "]", entry);
  };
  const std::string x = one("x", "uint32") + ", ";
  EXPECT_EQ(drawn(x + one("y", "int32")), std::vector{DType::UInt32}) << "it has no inputs";
  EXPECT_EQ(drawn(x + one("y", "float32")), usual);
  EXPECT_EQ(drawn(x + one("y", "")), usual);
  EXPECT_EQ(drawn(x + one("y", "int32"), "sort_{dtype}"), usual);
}

}  // namespace
}  // namespace gpuemu
