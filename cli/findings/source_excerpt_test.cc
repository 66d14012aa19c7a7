#include "cli/findings/source_excerpt.h"

#include <filesystem>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/files.h"

namespace gpuemu::cli {
namespace {

/// A source file of the test, removed at its end.
class Source {
 public:
  explicit Source(const std::string& text)
      : folder_(std::filesystem::path(::testing::TempDir()) /
                fmt::format("gpuemu-excerpt-{}", ::getpid())) {
    std::filesystem::create_directories(folder_);
    EXPECT_TRUE(write_file(folder_ / "k.cu", text));
  }
  ~Source() { std::filesystem::remove_all(folder_); }

  std::string shown(uint32_t line, uint32_t column, const std::string& label = "",
                    size_t columns = 0) const {
    return shown(std::vector<SourceMark>{{file(), line, column, label}}, columns);
  }
  std::string shown(const std::vector<SourceMark>& marks, size_t columns = 0) const {
    size_t gutter = 0;
    return source_excerpt(marks, {folder_.string(), columns}, gutter);
  }
  std::string file() const { return (folder_ / "k.cu").string(); }

 private:
  std::filesystem::path folder_;
};

TEST(SourceExcerpt, MarksTheNameWithItsBrackets) {
  const Source source("void k() {\n  y[i] = x[i] * factor;\n}\n");
  EXPECT_EQ(source.shown(2, 10, "here"),
            "  --> k.cu:2:10\n"
            "   |\n"
            " 2 |   y[i] = x[i] * factor;\n"
            "   |          ^^^^ here\n");
}

TEST(SourceExcerpt, TabsCarriageReturnsAndForeignBytesKeepTheMarkInPlace) {
  const Source source("\ty[i] = \xff\x01 \xc3\xa9 + x[i];\r\nlast");
  EXPECT_EQ(source.shown(1, 17),
            "  --> k.cu:1:17\n"
            "   |\n"
            " 1 |     y[i] = ?? \xc3\xa9 + x[i];\n"
            "   |                   ^^^^\n");
  EXPECT_EQ(source.shown(2, 1),
            "  --> k.cu:2:1\n"
            "   |\n"
            " 2 | last\n"
            "   | ^^^^\n");
}

TEST(SourceExcerpt, LongLinesAreCutAroundTheMark) {
  const std::string far(300, 'a');
  const Source source(far + " x[i] " + far + "\n");
  const std::string text = source.shown(1, 302, "the label", 80);
  EXPECT_NE(text.find(" x[i] "), std::string::npos) << text;
  EXPECT_NE(text.find("^^^^ the label\n"), std::string::npos) << text;
  std::istringstream lines(text);
  size_t caret = 0, at = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
    if (line.find("x[i]") != line.npos) at = line.find("x[i]");
    if (line.find('^') != line.npos) caret = line.find('^');
  }
  EXPECT_EQ(caret, at) << text;
}

TEST(SourceExcerpt, WhatCannotBeReadGivesItsPlaceAlone) {
  const Source source("one line\n");
  EXPECT_EQ(source.shown(2, 1), "  --> k.cu:2:1\n");
  EXPECT_EQ(source.shown(std::vector<SourceMark>{{"/no/such/file.cu", 3, 0, "label"}}),
            "  --> /no/such/file.cu:3\n");
  EXPECT_EQ(source.shown(std::vector<SourceMark>{{"/dev/zero", 3, 0, ""}}), "  --> /dev/zero:3\n");
}

TEST(SourceExcerpt, WithoutAColumnTheWholeLineIsMarked) {
  const Source source("  x = 1;  \n");
  EXPECT_EQ(source.shown(1, 0, "thread (0,0,0)"),
            "  --> k.cu:1\n"
            "   |\n"
            " 1 |   x = 1;  \n"
            "   |   ^^^^^^ thread (0,0,0)\n");
  EXPECT_EQ(source.shown(1, 70), "  --> k.cu:1:70\n   |\n 1 |   x = 1;  \n");
}

TEST(SourceExcerpt, PairsShowBothLinesInOrder) {
  const Source source("s[t] = v;\n\n\na = s[t + 1];\n");
  EXPECT_EQ(source.shown({{source.file(), 4, 5, "reads"}, {source.file(), 1, 1, "the other"}}),
            "  --> k.cu:4:5\n"
            "   |\n"
            " 1 | s[t] = v;\n"
            "   | ---- the other\n"
            "  ...\n"
            " 4 | a = s[t + 1];\n"
            "   |     ^^^^^^^^ reads\n");
}

TEST(SourceExcerpt, ALabelThatDoesNotFitGoesBelow) {
  const Source source("y[i] = x[i];\n");
  const std::string text = source.shown(1, 8, "thread (1,0,0) of block (0,0,0) and so on", 44);
  EXPECT_EQ(text,
            "  --> k.cu:1:8\n"
            "   |\n"
            " 1 | y[i] = x[i];\n"
            "   |        ^^^^\n"
            "   | thread (1,0,0) of block (0,0,0) and so\n"
            "   | on\n");
}

}  // namespace
}  // namespace gpuemu::cli
