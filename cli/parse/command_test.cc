// Wrong command lines: each names the mistake and the nearest right word.
#include "cli/parse/command.h"

#include <cstdint>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>
namespace gpuemu::cli {
namespace {

/// A small program of the same parts as ours.
struct Small {
  Small() {
    Command test = program.root().command("test", "Tests");
    test.flag("--quick", quick, "Less");
    test.option("--cases", cases, "How many").type_name("N").check(whole_number(1, 100));
    test.option("--seed", seed, "Which").check(whole_number(0, UINT64_MAX));
    test.option("--strategy", strategy, "How").one_of({"dims", "values"});
    test.option("-x,--ex", more, "Again and again").separated_by(',').one_word();
    test.option("OPS", ops, "Only these").type_name(" ");
    test.callback([this] { ran = true; });
    program.root().command("baseline", "Keeps").require_command().command("store", "Stores");
    program.root().command("secret", "Of old").hidden();
  }

  /// "" when the line is right.
  std::string problem(const std::string& line) {
    std::istringstream words(line);
    return program.parse({std::istream_iterator<std::string>(words), {}}).value_or("");
  }

  Program program{"gpuemu", "A small program", "v1"};
  bool quick = false, ran = false;
  uint64_t cases = 0;
  std::optional<uint64_t> seed;
  std::string strategy;
  std::vector<std::string> more, ops;
};

TEST(Usage, NamesAnUnknownCommandAndTheNearest) {
  const std::string said = Small().problem("tets");
  EXPECT_NE(said.find("gpuemu: no command 'tets'; did you mean 'test'?"), std::string::npos)
      << said;
  EXPECT_NE(said.find("did you mean 'test'?"), std::string::npos) << said;
}

TEST(Usage, KnowsWhatOtherToolsCallACommand) {
  EXPECT_NE(Small().problem("run").find("did you mean 'test'?"), std::string::npos);
  // Suggestions must exist in this program.
  EXPECT_EQ(Small().problem("replay").find("reproduce"), std::string::npos);
}

TEST(Usage, NamesAnUnknownOptionAndTheNearest) {
  const std::string said = Small().problem("test --quik");
  EXPECT_NE(said.find("gpuemu test: unknown option --quik; did you mean '--quick'?"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("`gpuemu test --help`"), std::string::npos) << said;
}

TEST(Usage, NamesTheWrongValueAlsoBeforeAnotherProgram) {
  const std::string said = Small().problem("test --cases 0 -- sleep 1");
  EXPECT_NE(said.find("--cases: '0' is not a whole number from 1 to 100"), std::string::npos)
      << said;
}

TEST(Usage, SaysWhichCommandIsMissing) {
  EXPECT_NE(Small().problem("").find("a command is missing; there are: test, baseline"),
            std::string::npos);
  EXPECT_NE(
      Small().problem("baseline").find("gpuemu baseline: a command is missing; there are: store"),
      std::string::npos);
}

TEST(WholeNumber, RefusesSignsFractionsWordsAndWhatIsOutOfRange) {
  for (const char* wrong : {"-1", "0", "101", "1.5", "ten", "0x10", "+3", "18446744073709551616"}) {
    const std::string said = Small().problem(std::string("test --cases=") + wrong);
    EXPECT_NE(said.find("is not a whole number from 1 to 100"), std::string::npos)
        << wrong << ": " << said;
  }
  Small program;
  EXPECT_EQ(program.problem("test --cases=100"), "");
  EXPECT_EQ(program.cases, 100U);
}

TEST(WholeNumber, TakesEverySeedOf64Bits) {
  Small program;
  EXPECT_EQ(program.problem("test --seed 18446744073709551615"), "");
  EXPECT_EQ(program.seed, 18446744073709551615U);
}

TEST(OneOf, NamesTheChoicesAndTheNearest) {
  const std::string said = Small().problem("test --strategy dim");
  EXPECT_NE(said.find("--strategy: 'dim' is not one of dims, values; did you mean 'dims'?"),
            std::string::npos)
      << said;
}

TEST(NotEmpty, RefusesWhatAShellMakesOfAnUnsetVariable) {
  std::string empty, word = "main";
  EXPECT_EQ(not_empty()(empty), "empty; is a variable not set?");
  EXPECT_EQ(not_empty()(word), "");
}

TEST(Command, RunsOnlyWhereTheLineIsRight) {
  Small right, wrong;
  EXPECT_EQ(right.problem("test --quick a b"), "");
  EXPECT_TRUE(right.ran && right.quick);
  EXPECT_EQ(right.ops, (std::vector<std::string>{"a", "b"}));
  EXPECT_NE(wrong.problem("test --quick --cases 0"), "");
  EXPECT_FALSE(wrong.ran);
}

TEST(Option, TakesOneWordEachTimeAndArgumentsAfterIt) {
  Small program;
  EXPECT_EQ(program.problem("test -x a,b op --ex c"), "");
  EXPECT_EQ(program.more, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(program.ops, (std::vector<std::string>{"op"}));
}

TEST(CommandText, HasWhatTheHelpShows) {
  const CommandText text = Small().program.root().text();
  ASSERT_EQ(text.commands.size(), 2U);
  const CommandText& test = text.commands.front();
  EXPECT_EQ(test.name, "test");
  ASSERT_EQ(test.options.size(), 6U);  // --help among them.
  EXPECT_FALSE(test.options[1].takes_value);
  EXPECT_TRUE(test.options[2].takes_value);
  EXPECT_EQ(test.options[2].type_name, "N");
  EXPECT_EQ(test.options[4].type_name, "dims|values");
  ASSERT_TRUE(test.first_argument);
  EXPECT_EQ(test.first_argument->help, "Only these");
}

}  // namespace
}  // namespace gpuemu::cli
