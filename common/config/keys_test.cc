// Tests that table rows and readers have the same keys: a reader that requests a key without a row
// aborts, and this test finds rows that no reader uses.
#include "common/config/keys.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "common/config/config.h"

namespace gpuemu {
namespace {

/// The context of a table with these keys: the text around them, and its path.
struct Site {
  const KeySection& section;
  std::string before, after, path;
};

std::vector<Site> sites() {
  const std::string op = "[[ops]]\nname = \"o\"\nreference = \"o.py\"\n";
  const std::string kernel = "[[kernels]]\nname = \"k\"\n";
  return {
      {file_keys(), "", "", ""},
      {project_keys(), "[project]\n", "", "project."},
      {runtime_keys(), "[runtime]\n", "", "runtime."},
      {kernel_policy_keys(), "[runtime.kernel_policy]\n", "", "runtime.kernel_policy."},
      {daemon_keys(), "[daemon]\n", "", "daemon."},
      {listen_keys(), "[daemon.listen]\n", "", "daemon.listen."},
      {share_keys(), "[daemon.share]\n", "", "daemon.share."},
      {quota_keys(), "[daemon.share.quota.alice]\n", "", "daemon.share.quota.alice."},
      {validation_keys(), "[validation]\n", "", "validation."},
      {policies_keys(), "[policies]\n", "", "policies."},
      {ci_keys(), "[ci]\n", "", "ci."},
      {storage_keys(), "[storage]\n", "", "storage."},
      {scheduler_keys(), "[scheduler]\n", "", "scheduler."},
      {op_keys(), "[[ops]]\n", "", "ops[0]."},
      {kernel_keys(), "[[kernels]]\n", "", "kernels[0]."},
      {input_keys(), op + "inputs = [{ ", " }]", "ops[0].inputs[0]."},
      {output_keys(), op + "outputs = [{ ", " }]", "ops[0].outputs[0]."},
      {scratch_keys(), kernel + "scratch = [{ ", " }]", "kernels[0].scratch[0]."},
      {dim_keys(), op + "dims = { n = { ", " } }", "ops[0].dims.n."},
      {attr_keys(), op + "attrs = { a = { ", " } }", "ops[0].attrs.a."},
      {launch_keys(), kernel + "launches = [{ ", " }]", "kernels[0].launches[0]."},
      {artifact_limit_keys(), "[policies.artifact_checks]\n", "", "policies.artifact_checks."},
      {artifact_limit_keys(), "[kernels.artifact_checks.sm_90]\n", "", ""},
      {tolerance_keys(), "[validation.tolerances]\nfloat32 = { ", " }",
       "validation.tolerances.float32."},
  };
}

std::vector<std::string> told(const ConfigResult& result, const std::string& key) {
  std::vector<std::string> messages;
  for (const auto* list : {&result.problems, &result.warnings}) {
    for (const ConfigProblem& one : *list) {
      if (one.key == key) messages.push_back(one.message);
    }
  }
  return messages;
}

TEST(Keys, AreAllAskedForByAReader) {
  for (const Site& site : sites()) {
    if (site.path.empty() && &site.section != &file_keys()) continue;
    for (const Key* key : site.section.all()) {
      // A date is what no key holds.
      const std::string text =
          fmt::format("{}{} = 1979-05-27{}\n", site.before, key->name, site.after);
      const std::string path = site.path + std::string(key->name);
      const auto messages = told(parse_config(text, "gpuemu.toml"), path);
      ASSERT_FALSE(messages.empty()) << path << " is read by nobody:\n" << text;
      for (const std::string& message : messages) {
        EXPECT_FALSE(message.starts_with("unknown key")) << path << ": " << message;
      }
    }
  }
}

TEST(Keys, ThatAreMissingAreTold) {
  for (const Site& site : sites()) {
    for (const Key* key : site.section.all()) {
      if (!key->required) continue;
      const auto result = parse_config(site.before + site.after + "\n", "gpuemu.toml");
      EXPECT_FALSE(told(result, site.path + std::string(key->name)).empty())
          << site.path << key->name;
    }
  }
}

TEST(Keys, OfOtherNamesAreUnknown) {
  for (const Site& site : sites()) {
    if (&site.section == &kernel_policy_keys() || site.path.empty()) continue;
    const auto result =
        parse_config(site.before + "nothing = 1" + site.after + "\n", "gpuemu.toml");
    const auto messages = told(result, site.path + "nothing");
    ASSERT_EQ(messages.size(), 1u) << site.path;
    EXPECT_TRUE(messages.front().starts_with("unknown key")) << messages.front();
  }
}

TEST(Keys, HaveTheirOwnNamesAndASentence) {
  for (const Site& site : sites()) {
    std::set<std::string_view> names;
    for (const Key* key : site.section.all()) {
      EXPECT_TRUE(names.insert(key->name).second) << key->name;
      EXPECT_TRUE(key->help.ends_with('.')) << key->name;
      EXPECT_EQ(site.section.find(key->name), key);
    }
  }
}

TEST(Keys, WithoutEffectStillHaveTheirType) {
  const auto said = [](const std::string& toml) {
    return parse_config(toml, "gpuemu.toml").text();
  };
  EXPECT_EQ(said("[project]\nversion = 3\n"),
            "gpuemu.toml:2:11: project.version: expected text in quotes, found an integer; text "
            "needs quotes\n");
  EXPECT_NE(said("[project]\nframework = [1]\n").find("2:13: project.framework: expected text"),
            std::string::npos);
  EXPECT_NE(said("runtime.auto_select = 'best'\n").find("is none of first_supported"),
            std::string::npos);
  const ConfigResult right =
      parse_config("[project]\nversion = '1.0'\nframework = 'pytorch'\n", "gpuemu.toml");
  EXPECT_TRUE(right.config) << right.text();
}

TEST(Keys, OfKernelsAndTolerancesSayOneThing) {
  const auto said = [](const std::string& toml) {
    return parse_config(toml, "gpuemu.toml").text();
  };
  EXPECT_NE(said("[[ops]]\nname = 'a'\nreference = 'a.py'\nkernel = []\n")
                .find("4:10: ops[0].kernel: an empty list, expected the name of a kernel"),
            std::string::npos);
  EXPECT_NE(said("[validation.tolerances]\nf32 = 1\nfloat32 = 2\n")
                .find("means the same as 'f32'; keep one of them"),
            std::string::npos);
}

/// Sections that a key leads to, however far down.
void collect(const KeySection& section, std::set<const KeySection*>& all) {
  if (!all.insert(&section).second) return;
  for (const Key* key : section.all()) {
    if (key->section != nullptr) collect(*key->section, all);
  }
}

TEST(Keys, OfEverySectionAreLookedAtHere) {
  std::set<const KeySection*> reached, here;
  collect(file_keys(), reached);
  reached.insert(&tolerance_keys());
  for (const Site& site : sites()) here.insert(&site.section);
  EXPECT_EQ(here, reached);
}

}  // namespace
}  // namespace gpuemu
