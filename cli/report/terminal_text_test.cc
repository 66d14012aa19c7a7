#include "cli/report/terminal_text.h"

#include <sstream>

#include <gtest/gtest.h>

namespace gpuemu::cli {
namespace {

TEST(TerminalText, NamesBeginAndEndInOneColumn) {
  EXPECT_EQ(
      for_terminal("[PASS] gelu float32 64 cases\n[ERROR] softmax: gone\n    proof: all\n", {}),
      "[PASS]  gelu     float32 64 cases\n[ERROR] softmax: gone\n    proof: all\n");
}

TEST(TerminalText, AVeryLongNameMovesOnlyItsOwnLine) {
  const std::string name(60, 'x');
  EXPECT_EQ(for_terminal("[PASS] a 1\n[PASS] " + name + " 2\n", {}),
            "[PASS]  a 1\n[PASS]  " + name + " 2\n");
}

TEST(TerminalText, VerdictsAreColouredAndNothingElse) {
  EXPECT_EQ(for_terminal("[FAIL] a b\n[regression] k: registers 4 -> 8\nplain [PASS] text\n",
                         {.colours = true, .columns = 0}),
            "\x1b[1;31m[FAIL]\x1b[0m  a b\n\x1b[31m[regression]\x1b[0m k: registers 4 -> 8\n"
            "plain [PASS] text\n");
}

TEST(TerminalText, LinesAreBrokenAtBlanksWhereTheTerminalEnds) {
  const std::string line =
      "[FAIL] softmax (seed: 5148731190416832423): 3 of 64 float32 cases; element 17: expected "
      "0.5, got gr\xc3\xbc\xc3\x9f";
  const std::string shown = for_terminal(line + "\n", {.colours = false, .columns = 50});
  std::istringstream lines(shown);
  std::string words;
  size_t count = 0;
  for (std::string one; std::getline(lines, one); ++count) {
    EXPECT_LE(one.size(), 52u) << one;
    if (count > 0) {
      EXPECT_TRUE(one.starts_with("    ")) << one;
      one.erase(0, one.find_first_not_of(' '));
    }
    words += (count > 0 ? " " : "") + one;
  }
  EXPECT_EQ(count, 3u) << shown;
  EXPECT_EQ(words, "[FAIL]  softmax" + line.substr(14));
}

TEST(TerminalText, AWordThatFitsNowhereStaysWhole) {
  const std::string word(90, 'w');
  EXPECT_EQ(for_terminal("a " + word + " b\n", {.colours = false, .columns = 40}),
            "a\n    " + word + "\n    b\n");
  EXPECT_EQ(for_terminal(word + "\n", {.colours = false, .columns = 40}), word + "\n");
  const std::string blanks(70, ' ');
  EXPECT_EQ(for_terminal(blanks + "a\n\n", {.colours = false, .columns = 40}), blanks + "a\n\n");
}

TEST(TerminalText, ANarrowTerminalIsLeftToBreakLinesItself) {
  const std::string line = "one two three four five six seven eight nine ten eleven\n";
  EXPECT_EQ(for_terminal(line, {.colours = false, .columns = 20}), line);
  EXPECT_EQ(for_terminal(line, {.colours = false, .columns = 0}), line);
}

TEST(TerminalText, BlocksOfFindingsHaveColoursInFrontOfTheirText) {
  const std::string block =
      "error[OutOfBounds]: reads\n  --> k.cu:7\n   |\n 7 |   x[i];\n   = case: n=1\n";
  EXPECT_EQ(for_terminal(block, {.colours = true}),
            "\x1b[1;31merror[OutOfBounds]\x1b[0m: reads\n"
            "\x1b[36m  -->\x1b[0m k.cu:7\n"
            "\x1b[36m   |\x1b[0m\n"
            "\x1b[36m 7 |\x1b[0m   x[i];\n"
            "   = case: n=1\n");
  EXPECT_EQ(for_terminal(block, {}), block);
}

}  // namespace
}  // namespace gpuemu::cli
