// Tests the findings of the relation `huge` on artificial runs.
#include <cstring>

#include <gtest/gtest.h>

#include "common/config/config.h"
#include "judge/relations/relation_checker.h"

namespace gpuemu {
namespace {

using Make = std::function<void(const DerivedCase&, WideIndexRun&)>;

Tensor twice(const Tensor& x) {
  Tensor y = x;
  auto* values = reinterpret_cast<float*>(y.data.data());
  for (int64_t i = 0; i < y.count(); ++i) values[i] *= 2;
  return y;
}

WideIndexWindow window(const Tensor& values, bool written) {
  return {values, std::vector<bool>(static_cast<size_t>(values.count()), written)};
}

/// The output of y = 2 x: the first blocks write the first copy, the last blocks the last.
void run_right(const DerivedCase& derived, WideIndexRun& run) {
  const Tensor y = twice(derived.inputs.at("x"));
  run.in_order = {{{"y", window(y, true)}}, {{"y", window(y, false)}}};
  run.reverse = {{{"y", window(y, false)}}, {{"y", window(y, true)}}};
  run.blocks_apart = true;
}

class RelateHuge : public testing::Test {
 protected:
  void SetUp() override { load("\"rows\", \"cols\""); }
  void load(const std::string& shape) {
    const ConfigResult parsed = parse_config(R"([[ops]]
name = "op"
kernel = "k"
inputs = [{ name = "x", shape = ["rows", "cols"] }]
outputs = [{ name = "y", shape = [)" + shape +
                                                 R"(] }]
dims = { rows = [1, 64], cols = [1, 64] }
[[kernels]]
name = "k"
source = "k.cu"
launches = [{ entry = "k", grid = 1, block = 32, args = [] }]
)",
                                             "gpuemu.toml");
    ASSERT_TRUE(parsed.config) << parsed.text();
    config_ = *parsed.config;
  }

  RelationVerdict check(const Make& make,
                        std::map<std::string, int64_t> dims = {{"rows", 12}, {"cols", 30}}) {
    const OpConfig& op = config_.ops[0];
    const CasePlan plan = *with_dims(op, *plan_case(op, 7, 0, {}), dims);
    NamedTensors inputs;
    inputs["x"] = make_tensor(DType::Float32, plan.inputs[0].shape);
    const DerivedCaseRunner runner = [&](const DerivedCase& derived) -> Result<NamedTensors> {
      if (derived.wide_index == nullptr) return NamedTensors{{"y", twice(derived.inputs.at("x"))}};
      sizes_.push_back(element_count(derived.plan.inputs[0].shape));
      if (refused_) return error(ErrorCode::Unsupported, "too large");
      make(derived, *derived.wide_index);
      return NamedTensors();
    };
    const NamedTensors outputs{{"y", twice(inputs["x"])}};
    RelationChecker checker(
        {op,
         plan,
         inputs,
         outputs,
         {},
         [](const std::string&, DType) { return Tolerance{.automatic = true, .ulp = {}}; },
         runner,
         [](const std::string&) { return nullptr; }});
    const auto verdict =
        checker.check({.kind = InvariantKind::Huge, .numbers = {}, .strings = {{"dim", "rows"}}});
    EXPECT_TRUE(verdict) << verdict.error().message;
    return verdict ? *verdict : RelationVerdict{};
  }

  Config config_;
  std::vector<int64_t> sizes_;  ///< Elements of the huge runs.
  bool refused_ = false;
};

TEST_F(RelateHuge, RunsALittleAboveBothLimitsAndPassesWhatIsRight) {
  const RelationVerdict verdict = check(run_right);
  EXPECT_TRUE(verdict.checked);
  EXPECT_FALSE(verdict.finding);
  ASSERT_EQ(sizes_.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_GT(sizes_[i], int64_t{1} << (31 + i));
    EXPECT_LE(sizes_[i], (int64_t{1} << (31 + i)) + 2 * 12 * 30);
  }
}

TEST_F(RelateHuge, FindsAWrongValueBehindTheLimit) {
  const RelationVerdict verdict = check([](const DerivedCase& derived, WideIndexRun& run) {
    run_right(derived, run);
    Tensor& last = run.reverse.last.at("y").values;
    const float wrong = 1e6F;
    std::memcpy(last.data.data() + 4 * sizeof wrong, &wrong, sizeof wrong);
  });
  ASSERT_TRUE(verdict.finding);
  EXPECT_EQ(verdict.finding->kind, FindingKind::RelationViolation);
  EXPECT_NE(verdict.finding->message.find("relation huge (dim rows)"), std::string::npos);
}

TEST_F(RelateHuge, FindsWhatTheFirstAndTheLastBlocksWrite) {
  const Make wraps = [](const DerivedCase& derived, WideIndexRun& run) {
    run_right(derived, run);
    run.reverse.last.at("y").written.assign(360, false);
    run.reverse.first.at("y").written[3] = true;
  };
  const RelationVerdict verdict = check(wraps);
  ASSERT_TRUE(verdict.finding);
  EXPECT_NE(verdict.finding->message.find("element 3 of 'y'"), std::string::npos);
  const RelationVerdict counted = check([&](const DerivedCase& derived, WideIndexRun& run) {
    wraps(derived, run);
    run.blocks_apart = false;
  });
  EXPECT_FALSE(counted.finding) << "one block may have run in both";
}

TEST_F(RelateHuge, SaysNothingWhereTheEndWasNotReachedOrIsRefused) {
  const RelationVerdict unreached = check([](const DerivedCase& derived, WideIndexRun& run) {
    run_right(derived, run);
    run.reverse.last.at("y").written.assign(360, false);
  });
  EXPECT_FALSE(unreached.checked);
  EXPECT_FALSE(check(run_right, {{"rows", 1}, {"cols", 3}}).checked) << "too small";
  refused_ = true;
  EXPECT_FALSE(check(run_right).checked);
}

TEST_F(RelateHuge, LeavesAloneWhatDoesNotGrowWithTheDim) {
  for (const char* shape : {"\"cols\", \"rows\"", "\"rows + 1\", \"cols\"", "\"cols\""}) {
    load(shape);
    EXPECT_FALSE(check(run_right).checked) << shape;
  }
  EXPECT_TRUE(sizes_.empty());
}

}  // namespace
}  // namespace gpuemu
