#include "cli/cluster/cluster_lines.h"

#include <gtest/gtest.h>

namespace gpuemu::cli {
namespace {

TEST(ClusterLines, AWordAndWhatItIsAbout) {
  const auto result = cluster_line(R"(result {"type":"FuzzResults"})");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->word, ClusterWord::Result);
  EXPECT_EQ(result->text, R"({"type":"FuzzResults"})");
  EXPECT_EQ(cluster_line("done")->word, ClusterWord::Done);
  EXPECT_EQ(cluster_line("done")->text, "");
}

TEST(ClusterLines, WhatAProgramPrintsBesideIsNoLine) {
  for (const char* other : {"", "resultant", "2026-11-28 INFO worker.py", "Result {}"}) {
    EXPECT_FALSE(cluster_line(other)) << other;
  }
}

TEST(ClusterLines, ArriveInPieces) {
  LineReader reader;
  EXPECT_TRUE(reader.add("resu").empty());
  EXPECT_EQ(reader.add("lt {}\nno"), std::vector<std::string>{"result {}"});
  EXPECT_EQ(reader.add("te a\n\nx\n"), (std::vector<std::string>{"note a", "", "x"}));
}

TEST(ClusterAddress, FourForms) {
  for (const char* right : {"auto", "local:1", "local:64", "head:6379", "10.0.0.1:6379",
                            "[::1]:6379", "ray://head:10001"}) {
    EXPECT_EQ(cluster_address_problem(right), "") << right;
  }
  for (const char* wrong : {"", "automatic", "local", "local:0", "local:x", "local:65", "head",
                            ":6379", "head:", "head:0", "head:65536", "ray://", "ray://head",
                            "http://head:1", "::1:6379", "a b:1", "local:-1"}) {
    EXPECT_NE(cluster_address_problem(wrong), "") << wrong;
  }
}

}  // namespace
}  // namespace gpuemu::cli
