#include "cli/report/safe_output.h"

#include <ostream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gpuemu::cli {
namespace {

std::string written(std::string_view text, size_t bytes_at_once) {
  std::stringbuf shown;
  {
    SafeOutput safe(shown);
    std::ostream out(&safe);
    for (size_t at = 0; at < text.size(); at += bytes_at_once) {
      out << text.substr(at, bytes_at_once) << std::flush;
    }
  }
  return shown.str();
}

void expect(std::string_view text, const std::string& shown) {
  for (const size_t bytes : {size_t{1}, size_t{2}, size_t{3}, size_t{1000}}) {
    EXPECT_EQ(written(text, bytes), shown) << bytes << " bytes at once";
  }
}

TEST(SafeOutput, LeavesOrdinaryTextAndColoursAsTheyAre) {
  const std::string text =
      "\x1b[32m[PASS]\x1b[0m gr\u00f6\u00dfe \u65e5\u672c \U0001f600 "
      "\u00a0\u2029\u200f\u202f\u2065\u206a\n";
  expect(text, text);
  expect("", "");
}

TEST(SafeOutput, EscapesWhatTurnsTheDirectionOfWriting) {
  expect("a\u202eb\u202a\u2066c\u2069", "a\\u202eb\\u202a\\u2066c\\u2069");
}

TEST(SafeOutput, EscapesControlsOfEightBits) {
  expect("\u009b31m \u0080\u009f", "\\u009b31m \\u0080\\u009f");
  expect(
      "\x9b"
      "31m",
      "\\x9b31m");
  expect(
      "\xe2\x80"
      "z",
      "\xe2\\x80z");
  expect("\xff\xc3\xc3\xa9", "\xff\xc3\u00e9");
}

TEST(SafeOutput, WritesWhatWasBegunAtTheEnd) { expect("a\xe2\x80", "a\xe2\\x80"); }

TEST(SafeOutput, LeavesTheMeaningOfJson) {
  const nlohmann::json document = {{"op\u202e", "a\u2066\u009b\"\\"}};
  const std::string shown = written(document.dump(), 7);
  EXPECT_EQ(nlohmann::json::parse(shown), document);
  EXPECT_EQ(shown.find("\u202e"), std::string::npos);
}

TEST(SafeOutput, TellsThatNothingCanBeWritten) {
  std::stringbuf closed(std::ios::in);
  SafeOutput safe(closed);
  std::ostream out(&safe);
  out << "text \u202e" << std::flush;
  EXPECT_FALSE(out);
}

}  // namespace
}  // namespace gpuemu::cli
