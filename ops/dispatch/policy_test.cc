// Tests policies in both languages, and the errors in wrong ones.
#include "ops/dispatch/policy.h"

#include <gtest/gtest.h>

#include "common/base/files.h"

namespace gpuemu {
namespace {

const OpRegistry& registry() {
  static const OpRegistry kRegistry = OpRegistry::with_builtins();
  return kRegistry;
}
std::string variant_of(const std::string& op) { return (*registry().find(op))->variants[0].name; }

std::string toml_problem(const std::string& text) {
  const auto policy = policy_from_toml(text, "p.toml", registry());
  return policy ? "" : policy.error().message;
}
std::string json_problem(const std::string& text) {
  const auto policy = policy_from_json(text, "p.json", registry());
  return policy ? "" : policy.error().message;
}

TEST(Policy, IsTheSameInBothLanguages) {
  const std::string wish = variant_of("matmul");
  const auto toml = policy_from_toml(
      "strategy = \"best_performance\"\n[prefer]\nmatmul = \"" + wish + "\"\n", "p", registry());
  const auto json =
      policy_from_json(R"({"strategy": "best_performance", "prefer": {"matmul": ")" + wish + "\"}}",
                       "p", registry());
  for (const auto* policy : {&toml, &json}) {
    ASSERT_TRUE(*policy) << policy->error().message;
    EXPECT_EQ((*policy)->strategy, SelectionRule::BestPerformance);
    EXPECT_EQ((*policy)->preferred, (std::map<std::string, std::string>{{"matmul", wish}}));
  }
  EXPECT_EQ(policy_from_toml("", "p", registry())->strategy, SelectionRule::FirstSupported);
}

TEST(Policy, ThatIsNoJsonIsToldWithItsPlace) {
  EXPECT_TRUE(json_problem("{").starts_with("p.json: not JSON: parse error at line 1, column 2"))
      << json_problem("{");
}

TEST(Policy, OfTheDocumentationIsOne) {
  const auto page = read_file(GPUEMU_SOURCE_DIR "/docs/reference/op-call.md", size_t{1} << 20);
  ASSERT_TRUE(page) << page.error().message;
  const std::string mark = "```toml\n";
  size_t blocks = 0;
  for (size_t at = page->find(mark); at != std::string::npos; at = page->find(mark, at)) {
    at += mark.size();
    EXPECT_EQ(toml_problem(page->substr(at, page->find("```", at) - at)), "");
    ++blocks;
  }
  EXPECT_GT(blocks, 0U);
}

TEST(Policy, ThatIsWrongSaysWhereAndWhatWasExpected) {
  EXPECT_EQ(toml_problem("strategy = \"fast\"\n"),
            "p.toml:1:1: strategy: expected \"first_supported\" or \"best_performance\"");
  EXPECT_EQ(toml_problem("\nstrategie = 1\n"),
            "p.toml:2:1: strategie: unknown key, expected strategy or prefer");
  EXPECT_NE(toml_problem("[prefer]\nmatmull = \"x\"\n").find("p.toml:2:1: matmull: no op"),
            std::string::npos);
  EXPECT_NE(toml_problem("[prefer]\ngelu = \"x\"\n").find("'gelu' has no variant 'x'; there are: "),
            std::string::npos);
  EXPECT_NE(toml_problem("[prefer]\ngelu = 3\n").find("in quotes"), std::string::npos);
  EXPECT_NE(toml_problem("prefer = 3\n").find("expected a table"), std::string::npos);
  EXPECT_NE(toml_problem("strategy = \n"), "");
  EXPECT_EQ(json_problem(R"({"strategy": 1})"),
            "p.json: strategy: expected \"first_supported\" or \"best_performance\"");
  EXPECT_NE(json_problem("[]").find("expected an object"), std::string::npos);
  EXPECT_NE(json_problem("{"), "");
  EXPECT_NE(json_problem(std::string(200000, '[')), "");
}

TEST(Policy, ComesFromAFileOfAKnownKind) {
  EXPECT_FALSE(load_policy("/nowhere/policy.toml", registry()));
  const auto other = load_policy("/nowhere/policy.yaml", registry());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message,
            "/nowhere/policy.yaml: expected a file that ends in .toml or .json");
}

}  // namespace
}  // namespace gpuemu
