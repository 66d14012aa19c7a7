#include "common/base/text.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TEST(Trimmed, RemovesBlanksAndLineEndsAtBothEnds) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \n\t "), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Counted, HasAPluralUnlessThereIsOne) {
  EXPECT_EQ(counted(0, "case"), "0 cases");
  EXPECT_EQ(counted(1, "case"), "1 case");
  EXPECT_EQ(counted(2, "running job"), "2 running jobs");
  EXPECT_EQ(counted(1, "shape class"), "1 shape class");
  EXPECT_EQ(counted(2, "shape class"), "2 shape classes");
  EXPECT_EQ(counted(2, "launch"), "2 launches");
}

}  // namespace
}  // namespace gpuemu
