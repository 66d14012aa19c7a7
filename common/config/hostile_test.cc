// Tests that a hostile gpuemu.toml is rejected with its location and does no harm.
#include <algorithm>
#include <ctime>
#include <filesystem>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/config/config.h"

namespace gpuemu {
namespace {

TEST(Config, RefusesDeepNestingInsteadOfOverflowingTheStack) {
  const ConfigResult result = parse_config("a = " + std::string(100000, '['), "f.toml");
  EXPECT_NE(result.text().find("not valid TOML"), std::string::npos);
}

TEST(Config, RefusesAKeyOfEndlessPartsInsteadOfOverflowingTheStack) {
  std::string key = "\na";
  for (int i = 0; i < 100'000; ++i) key += ".a";
  for (const std::string& text : {key + " = 1", "\nx = {" + key.substr(1) + " = 1}"}) {
    const ConfigResult result = parse_config(text, "f.toml");
    EXPECT_EQ(result.text().find("f.toml:2:1: not valid TOML here: more than 1000 dots"), 0u)
        << result.text();
  }
}

TEST(Config, ThousandsOfUnknownKeysAreEachReportedOnce) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "k" + std::to_string(i) + " = 1\n";
  EXPECT_EQ(parse_config(text, "f.toml").problems.size(), 20'000u);
}

/// Returns the processor time for reading this many kernels, the least of three runs.
double seconds_for(int kernels) {
  std::string text;
  for (int i = 0; i < kernels; ++i) {
    text += "[[kernels]]\nname = \"op" + std::to_string(i) +
            "\"\nsource = \"k.cu\"\nreference = \"r.py\"\n"
            "outputs = [{ name = \"y\", shape = [\"n\"] }]\ndims = { n = [1, 100] }\n"
            "launches = [{ entry = \"k\", grid = 1, block = 64, args = [\"y\"] }]\n";
  }
  double least = 1e9;
  for (int run = 0; run < 3; ++run) {
    const std::clock_t start = std::clock();
    const ConfigResult result = parse_config(text, "f.toml");
    least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    EXPECT_TRUE(result.config) << result.text();
  }
  return least;
}

TEST(Config, TimeGrowsWithTheKernelsAndNotWithTheirSquare) {
  constexpr int kFew = 1'000, kTimes = 8;
  const double few = seconds_for(kFew), many = seconds_for(kFew * kTimes);
  EXPECT_LT(many, few * kTimes * 1.7) << few << " s and " << many << " s";
}

TEST(Config, ASeedBeyondTomlsIntegersIsToldToBeWrittenInQuotes) {
  const auto large = parse_config("[validation]\nseed = 18446744073709551615\n", "f.toml");
  EXPECT_NE(large.text().find("f.toml:2:28: not valid TOML"), std::string::npos) << large.text();
  EXPECT_NE(large.text().find("write a larger seed in quotes"), std::string::npos);
}

TEST(Config, APipeIsRefusedAndNotWaitedFor) {
  char folder[] = "/tmp/gpuemu-config-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  ConfigSources sources;
  sources.file = std::string(folder) + "/pipe";
  ASSERT_EQ(::mkfifo(sources.file->c_str(), 0600), 0);
  EXPECT_NE(load_config(sources).text().find("pipe: is not a regular file"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(Config, NamesCannotForgeLinesOfAReport) {
  const auto told = [](const std::string& name) {
    return parse_config("[[kernels]]\nname = \"" + name + "\"\nsource = \"k.cu\"\n", "f.toml")
        .text();
  };
  EXPECT_NE(told("a\\n[PASS] b").find("2:8: kernels[0].name: expected a name without tabs"),
            std::string::npos);
  EXPECT_NE(told("a\\u001b[31m").find("2:8: kernels[0].name: expected text without control"),
            std::string::npos);
  EXPECT_NE(told(std::string(1'000'000, 'a')).find("a name of 1000000 bytes, the limit is 4096"),
            std::string::npos);
}

}  // namespace
}  // namespace gpuemu
