#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/base/files.h"
#include "daemon/campaign/campaign.h"
#include "daemon/ci/compare_results.h"
#include "daemon/ci/coverage_gain.h"
#include "daemon/ci/fingerprint.h"
#include "daemon/ci/verdict_cache.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

LineProfile line(uint32_t number, uint64_t threads, uint64_t divergent = 0) {
  LineProfile made{.file = "k.cu", .line = number};
  made.thread_instructions = threads;
  made.divergent_branches = divergent;
  return made;
}

TEST(CoverageGain, CountsNewLinesNewMagnitudesAndFirstDivergence) {
  CoverageGain gain;
  EXPECT_EQ(gain.add({line(1, 4), line(2, 0)}), 1u);
  EXPECT_EQ(gain.add({line(1, 5), line(2, 0)}), 0u) << "4 and 5 are of one magnitude";
  EXPECT_EQ(gain.add({line(1, 8)}), 1u);
  EXPECT_EQ(gain.add({line(2, 1)}), 1u);
  EXPECT_EQ(gain.add({line(2, 1, 3)}), 1u);
  EXPECT_EQ(gain.add({line(2, 1, 4)}), 0u);
}

TEST(LineCoverage, SumsHitsAndKeepsLinesThatDidNotRun) {
  LineCoverage coverage;
  coverage.add({line(7, 3), line(8, 0)}, "");
  coverage.add({line(7, 2)}, "");
  coverage.add({LineProfile{.file = "", .line = 2, .thread_instructions = 1}}, "k.ptx");
  coverage.add({LineProfile{.file = "", .line = 3, .thread_instructions = 1}}, "");
  EXPECT_EQ(coverage.lines(),
            (std::vector<CoveredLine>{{"k.cu", 7, 5}, {"k.cu", 8, 0}, {"k.ptx", 2, 1}}));
}

TEST(OpPicker, PrefersWhoFindsMoreAndForgetsNobody) {
  OpPicker picker(3);
  size_t runs[3] = {};
  for (int i = 0; i < 80; ++i) {
    const size_t turn = picker.next();
    ++runs[turn];
    picker.ran(turn, 16, turn == 1 ? 5 : 0, std::chrono::duration<double>(1));
  }
  EXPECT_GT(runs[1], runs[0] + runs[2]);
  EXPECT_GE(runs[0], 5u);
  EXPECT_GE(runs[2], 5u);
}

TEST(Shards, TakeEveryNumberExactlyOnce) {
  for (uint64_t shards = 1; shards <= 9; ++shards) {
    for (uint64_t number = 0; number < 50; ++number) {
      int owners = 0;
      for (uint64_t shard = 1; shard <= shards; ++shard) {
        owners += is_in_shard(number, shard, shards) ? 1 : 0;
      }
      EXPECT_EQ(owners, 1) << number << " of " << shards;
    }
  }
  EXPECT_TRUE(is_in_shard(5, 0, 0));
}

ValidationResult result(const std::string& op, uint64_t seed, double max_diff, bool passed = true) {
  ValidationResult made;
  made.op_name = op;
  made.seed = seed;
  made.max_diff = max_diff;
  made.passed = passed;
  return made;
}

TEST(CompareResults, TellsGrowthAndNewFailuresFromNoise) {
  const ValidationResult old = result("a", 1, 0.1);
  EXPECT_FALSE(compare_result(result("a", 1, 0.105), &old).is_regression);
  EXPECT_TRUE(compare_result(result("a", 1, 0.12), &old).is_regression);
  EXPECT_TRUE(compare_result(result("a", 1, NAN), &old).is_regression);
  EXPECT_TRUE(compare_result(result("a", 1, 0.1, false), &old).is_regression);
  EXPECT_FALSE(compare_result(result("a", 1, 9), nullptr).is_regression);
}

TEST(CompareResults, FindsTheSameCaseElseTheFirstOfTheOp) {
  std::vector<ValidationResult> baseline = {result("b", 4, 0), result("a", 9, 0),
                                            result("b", 2, 0)};
  sort_baseline(baseline);
  EXPECT_EQ(matching_result(baseline, result("b", 4, 0))->seed, 4u);
  EXPECT_EQ(matching_result(baseline, result("b", 3, 0))->seed, 2u);
  EXPECT_EQ(same_case(baseline, result("b", 3, 0)), nullptr);
  EXPECT_EQ(matching_result(baseline, result("c", 4, 0)), nullptr);
}

TEST(VerdictCache, AnswersUnderTheSameKeyOnly) {
  const auto store = make_memory_store();
  VerdictCache cache(*store);
  CiOp op{.op_name = "gelu", .dtype = DType::Float16, .cases = 64, .passed = 64};
  const ValidationResult result{.seed = 7, .op_name = "gelu", .max_rel_diff = 0.25};
  ASSERT_TRUE(cache.keep(KeptVerdict{op, {result}, {"fast ran"}}, "key", {}));
  EXPECT_FALSE(cache.op("gelu", DType::Float16, "other"));
  EXPECT_FALSE(cache.op("gelu", DType::Float32, "key"));
  const auto kept = cache.op("gelu", DType::Float16, "key");
  ASSERT_TRUE(kept);
  EXPECT_TRUE(kept->op.cached);
  EXPECT_EQ(kept->op.cases, 64u);
  ASSERT_EQ(kept->results.size(), 1u);
  EXPECT_EQ(kept->results.front().max_rel_diff, 0.25);
  EXPECT_EQ(kept->notes, std::vector<std::string>{"fast ran"});
  ASSERT_TRUE(cache.keep(KeptVerdict{op, {}}, "key", {}));
  EXPECT_FALSE(cache.op("gelu", DType::Float16, "key")) << "counts alone make no report";
  ASSERT_TRUE(cache.keep("gelu", {LintResult{.kernel_name = "gelu"}}, "key"));
  EXPECT_EQ(cache.kernel("gelu", "key")->front().kernel_name, "gelu");
  EXPECT_FALSE(cache.kernel("gelu", "ke"));
}

/// A project with one op in PTX, in a private folder.
class FingerprintTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "gpuemu-ci-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
    write("k.ptx", ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n");
    write("refs/ref.py", "import helper\ndef reference(x):\n    return x\n");
    write("refs/helper.py", "FACTOR = 1\n");
    write("gpuemu.toml", text_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    ASSERT_TRUE(write_file(folder_ / name, text));
  }
  std::optional<std::string> key(const std::string& identity = "v1") {
    ConfigSources sources;
    sources.working_folder = folder_;
    sources.environment = {{"HOME", folder_}};
    ConfigResult loaded = load_config(sources);
    EXPECT_TRUE(loaded.config) << loaded.text();
    if (!loaded.config) return std::nullopt;
    InspectOptions options;
    options.archs = {"sm_80"};
    return fingerprint_of(*loaded.config, loaded.config->ops.front(), options, {identity});
  }
  fs::path folder_;
  std::string text_ = R"([validation]
cases = 4
[[ops]]
name = "a"
kernel = "k"
reference = "refs/ref.py"
inputs = [{ name = "x", shape = ["n"], dtype = "float32" }]
outputs = [{ name = "y", shape = ["n"], dtype = "float32" }]
dims = { n = [1, 8] }
[[kernels]]
name = "k"
source = "k.ptx"
launches = [{ entry = "k", grid = ["1"], block = ["1"], args = [] }]
[ci]
parallel_jobs = 2
)";
};

TEST_F(FingerprintTest, ChangesWithEverythingThatTheVerdictDependsOn) {
  const auto first = key();
  ASSERT_TRUE(first);
  EXPECT_EQ(key(), first);
  EXPECT_NE(key("v2"), first);
  write("refs/helper.py", "FACTOR = 2\n");
  const auto helper = key();
  EXPECT_NE(helper, first);
  write("k.ptx",
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { trap; ret; }\n");
  const auto kernel = key();
  EXPECT_NE(kernel, helper);
  std::string other = text_;
  other.replace(other.find("cases = 4"), 9, "cases = 5");
  write("gpuemu.toml", other);
  EXPECT_NE(key(), kernel);
}

TEST_F(FingerprintTest, ChangesWithTheProjectsLimitsForCompiledCode) {
  const auto first = key();
  ASSERT_TRUE(first);
  write("gpuemu.toml", text_ + "[policies.artifact_checks]\nmax_registers = 63\n");
  const auto limited = key();
  EXPECT_NE(limited, first);
  write("gpuemu.toml", text_ + "[policies.artifact_checks.sm_90]\nmax_registers = 63\n");
  EXPECT_NE(key(), limited);
  EXPECT_NE(key(), first);
}

TEST_F(FingerprintTest, StaysWhenOnlyOtherThingsChange) {
  const auto first = key();
  ASSERT_TRUE(first);
  std::string other = text_;
  other.replace(other.find("parallel_jobs = 2"), 17, "parallel_jobs = 1");
  write("gpuemu.toml", other + R"([[ops]]
name = "b"
reference = "refs/ref.py"
)");
  write("notes.txt", "nothing");
  EXPECT_EQ(key(), first);
}

TEST_F(FingerprintTest, IsNothingWhereTheKernelIsGone) {
  const auto first = key();
  ASSERT_TRUE(first);
  ConfigSources sources;
  sources.working_folder = folder_;
  sources.environment = {{"HOME", folder_}};
  const ConfigResult loaded = load_config(sources);
  fs::remove(folder_ / "k.ptx");
  InspectOptions options;
  options.archs = {"sm_80"};
  EXPECT_FALSE(fingerprint_of(*loaded.config, loaded.config->ops.front(), options, {"v1"}));
}

}  // namespace
}  // namespace gpuemu
