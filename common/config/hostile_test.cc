// gpuemu.toml that nobody wrote in good faith: it is refused with its place, and nothing falls
// over.
#include <gtest/gtest.h>

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

TEST(Config, NamesCannotForgeLinesOfAReport) {
  const auto told = [](const std::string& name) {
    return parse_config("[[kernels]]\nname = \"" + name + "\"\nsource = \"k.cu\"\n", "f.toml")
        .text();
  };
  EXPECT_NE(told("a\\n[PASS] b").find("2:8: kernels[0].name: expected a name without tabs"),
            std::string::npos);
  EXPECT_NE(told("a\\u001b[31m").find("2:8: kernels[0].name: expected text without control"),
            std::string::npos);
}

}  // namespace
}  // namespace gpuemu
