// Wrong command lines: each names the mistake and the nearest right word.
#include "cli/commands/options.h"

#include <gtest/gtest.h>

#include "cli/commands/usage.h"

namespace gpuemu::cli {
namespace {

/// A small program of the same parts as ours.
struct Program {
  Program() {
    app.require_subcommand(1);
    app.fallthrough();
    CLI::App* test = app.add_subcommand("test", "");
    test->add_flag("--quick", quick, "");
    test->add_option("--cases", cases, "")->check(whole_number(1, 100));
    add_base_seed(*test, seed);
    app.add_subcommand("baseline", "")->require_subcommand(1)->add_subcommand("store", "");
  }

  /// "" when the line is right.
  std::string problem(const std::string& line) {
    try {
      app.parse(line);
    } catch (const CLI::ParseError& wrong) {
      return usage_problem(app, wrong);
    }
    return "";
  }

  CLI::App app{"", "gpuemu"};
  bool quick = false;
  uint64_t cases = 0;
  std::optional<uint64_t> seed;
};

TEST(Usage, NamesAnUnknownCommandAndTheNearest) {
  const std::string said = Program().problem("tets");
  EXPECT_NE(said.find("gpuemu: no command 'tets'; there are: test, baseline"), std::string::npos)
      << said;
  EXPECT_NE(said.find("did you mean 'test'?"), std::string::npos) << said;
}

TEST(Usage, KnowsWhatOtherToolsCallACommand) {
  EXPECT_NE(Program().problem("run").find("did you mean 'test'?"), std::string::npos);
  // Nothing that this program does not have.
  EXPECT_EQ(Program().problem("replay").find("reproduce"), std::string::npos);
}

TEST(Usage, NamesAnUnknownOptionAndTheNearest) {
  const std::string said = Program().problem("test --quik");
  EXPECT_NE(said.find("gpuemu test: unknown option --quik; did you mean '--quick'?"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("`gpuemu test --help`"), std::string::npos) << said;
}

TEST(Usage, SaysWhichCommandIsMissing) {
  EXPECT_NE(Program().problem("").find("a command is missing; there are: test, baseline"),
            std::string::npos);
  EXPECT_NE(
      Program().problem("baseline").find("gpuemu baseline: a command is missing; there are: store"),
      std::string::npos);
}

TEST(WholeNumber, RefusesSignsFractionsWordsAndWhatIsOutOfRange) {
  for (const char* wrong : {"-1", "0", "101", "1.5", "ten", "0x10", "+3", "18446744073709551616"}) {
    const std::string said = Program().problem(std::string("test --cases=") + wrong);
    EXPECT_NE(said.find("is not a whole number from 1 to 100"), std::string::npos)
        << wrong << ": " << said;
  }
  Program program;
  EXPECT_EQ(program.problem("test --cases=100"), "");
  EXPECT_EQ(program.cases, 100U);
}

TEST(WholeNumber, TakesEverySeedOf64Bits) {
  Program program;
  EXPECT_EQ(program.problem("test --seed 18446744073709551615"), "");
  EXPECT_EQ(program.seed, 18446744073709551615U);
}

TEST(OneOf, NamesTheChoicesAndTheNearest) {
  std::string strategy;
  CLI::App app;
  check_one_of(*app.add_option("--strategy", strategy), {"dims", "values"});
  try {
    app.parse("--strategy dim");
    FAIL() << "accepted";
  } catch (const CLI::ParseError& wrong) {
    EXPECT_STREQ(wrong.what(),
                 "--strategy: 'dim' is not one of dims, values; did you mean 'dims'?");
  }
}

}  // namespace
}  // namespace gpuemu::cli
