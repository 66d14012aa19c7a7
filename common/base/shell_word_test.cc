#include "common/base/shell_word.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TEST(ShellWord, LeavesPlainNamesAndQuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_word("softmax_v2"), "softmax_v2");
  EXPECT_EQ(shell_word("a.b/c:d-e"), "a.b/c:d-e");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("x; rm -rf ~"), "'x; rm -rf ~'");
  EXPECT_EQ(shell_word("$(id) `id`"), "'$(id) `id`'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace gpuemu
