// Tests the sizes for trying kernels, and the description of those that work.
#include "cli/trials/sizes.h"

#include <functional>
#include <set>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "cli/trials/size_notes.h"

namespace gpuemu::cli {
namespace {

/// A copy that a program launches with "cdiv(n, 2048)" blocks, 8 elements to a thread, and that ran
/// with multiples of 2048.
ProposedKernel kernel_of_whole_blocks(const std::string& body) {
  ProposedKernel kernel;
  kernel.params = {{"n", ParamRole::Dim, "int32", "i32", "n"}};
  kernel.launches = {{.grid = {"cdiv(n, 2048)"}, .block = {"256"}, .each = 8}};
  kernel.sizes = {{"n", "[2048, 6144]"}};
  kernel.body = body;
  return kernel;
}

TEST(SettleTails, KeepsMultiplesOfWhatAThreadTakesAtOnce) {
  ProposedKernel kernel = kernel_of_whole_blocks("if (i <= n) y[i] = x[i];");
  EXPECT_EQ(settle_tails({"n"}, kernel).size(), 1u);
  EXPECT_EQ(kernel.sizes["n"], "{ range = [8, 6144], multiple_of = 8 }");
  ASSERT_EQ(kernel.doubts.size(), 1u);
  EXPECT_NE(kernel.doubts[0].find("its launch rounds n up, and each thread takes 8 elements at "
                                  "once. If n is always such a multiple"),
            std::string::npos);
  kernel.launches[0].each = 1;
  kernel.sizes = {{"n", "{ range = [2048, 6144], multiple_of = 2048 }"}};
  EXPECT_EQ(settle_tails({"n"}, kernel).size(), 1u);
  EXPECT_EQ(kernel.sizes["n"], "[1, 6144]");
  EXPECT_TRUE(kernel.notes.empty());
  kernel.sizes = {{"n", "[1, 300]"}};
  EXPECT_TRUE(settle_tails({"n"}, kernel).empty());
}

TEST(SettleTails, TakesWholeBlocksWhereNoIndexIsComparedAndNoHostCodeRoundsUp) {
  ProposedKernel kernel = kernel_of_whole_blocks("y[i] = x[i];");
  kernel.launches[0].each = 1;
  EXPECT_EQ(settle_tails({"n"}, kernel).size(), 1u);
  EXPECT_EQ(kernel.sizes["n"], "{ range = [2048, 6144], multiple_of = 2048 }");
  EXPECT_TRUE(kernel.doubts.empty());
  ASSERT_EQ(kernel.notes.size(), 1u);
  EXPECT_EQ(kernel.notes[0],
            "n is limited to multiples of the block size, 2048, because the kernel does not "
            "compare an index with n. If your program passes other sizes, write n = [1, 6144]: a "
            "test then shows what goes wrong.");
}

TEST(SettleTails, FollowsWhatHostCodeDoes) {
  ProposedKernel rounded = kernel_of_whole_blocks("y[i] = x[i];");
  rounded.rounded_up = {{"n", "main.cu:12"}};
  EXPECT_EQ(settle_tails({"n"}, rounded).size(), 1u);
  EXPECT_EQ(rounded.sizes["n"], "{ range = [8, 6144], multiple_of = 8 }");
  ASSERT_EQ(rounded.doubts.size(), 1u);
  EXPECT_NE(rounded.doubts[0].find("but the launch at main.cu:12 rounds n up"), std::string::npos);
  ProposedKernel whole = kernel_of_whole_blocks("if (i <= n) y[i] = x[i];");
  whole.whole_blocks = {{"n", "main.cu:12"}};
  EXPECT_EQ(settle_tails({"n"}, whole).size(), 1u);
  EXPECT_EQ(whole.sizes["n"], "{ range = [2048, 6144], multiple_of = 2048 }");
  EXPECT_TRUE(whole.doubts.empty());
  ASSERT_EQ(whole.notes.size(), 1u);
  EXPECT_EQ(
      whole.notes[0],
      "main.cu:12 launches it only with multiples of its block size, 2048; other sizes fail.");
  // A number that a program passes proves nothing about a kernel with a check of its own.
  ProposedKernel sample = kernel_of_whole_blocks("if (i <= n) y[i] = x[i];");
  sample.sample_blocks = {{"n", "main.cu:12"}};
  EXPECT_EQ(settle_tails({"n"}, sample).size(), 1u);
  EXPECT_EQ(sample.sizes["n"], "{ range = [8, 6144], multiple_of = 8 }");
  ASSERT_EQ(sample.doubts.size(), 1u);
  EXPECT_NE(sample.doubts[0].find("but the launch at main.cu:12 rounds n up"), std::string::npos);
  sample.whole_blocks = {{"n", "main.cu:5"}};
  sample.sizes = {{"n", "[2048, 6144]"}};
  settle_tails({"n"}, sample);
  EXPECT_EQ(sample.sizes["n"], "{ range = [8, 6144], multiple_of = 8 }")
      << "one launch checks, another does not";
  ProposedKernel unchecked = kernel_of_whole_blocks("y[i] = x[i];");
  unchecked.sample_blocks = {{"n", "main.cu:12"}};
  settle_tails({"n"}, unchecked);
  EXPECT_EQ(unchecked.sizes["n"], "{ range = [2048, 6144], multiple_of = 2048 }");
}

TEST(SettleTails, SaysOnceWhatHoldsForTwoSizes) {
  ProposedKernel kernel = kernel_of_whole_blocks("c[row * N + col] = 0;");
  kernel.params = {{"M", ParamRole::Dim, "int32", "i32", "M"},
                   {"N", ParamRole::Dim, "int32", "i32", "N"}};
  kernel.launches = {{.grid = {"cdiv(N, 16)", "cdiv(M, 16)"}, .block = {"16", "16"}}};
  kernel.sizes = {{"M", "{ range = [16, 128], multiple_of = 16 }"}, {"N", "[32, 64]"}};
  ProposedKernel rounded = kernel;
  EXPECT_EQ(settle_tails({"M", "N"}, kernel), (std::set<std::string>{"M", "N"}));
  ASSERT_EQ(kernel.notes.size(), 1u);
  EXPECT_EQ(kernel.notes[0],
            "M and N are limited to multiples of the block size, 16, because the kernel does not "
            "compare an index with them. If your program passes other sizes, write M = [1, 128] "
            "and N = [1, 64]: a test then shows what goes wrong.");
  rounded.rounded_up = {{"M", "a.cu:3"}, {"N", "a.cu:3"}};
  settle_tails({"M", "N"}, rounded);
  ASSERT_EQ(rounded.doubts.size(), 1u);
  EXPECT_EQ(rounded.doubts[0],
            "Only multiples of 16 ran without a finding, but the launch at a.cu:3 rounds M and N "
            "up. If they are always such multiples, write M = { range = [16, 128], multiple_of = "
            "16 } and N = { range = [16, 64], multiple_of = 16 }.");
}

TEST(TellOneMore, DoubtsAnElementMoreThanTheSizeAndKeepsTheBlock) {
  for (const char* body :
       {"if (i <= n) y[i] = x[i];", "if (i > n) return;", "if (!(i > n)) y[i] = x[i];",
        "if (n >= i) y[i] = x[i];", "if (n < i) return;", "if (i > (int)n) return;"}) {
    ProposedKernel kernel = kernel_of_whole_blocks(body);
    kernel.launches[0].each = 1;
    kernel.params.push_back({"y", ParamRole::Output, "float32", "", "y"});
    kernel.params.back().shape = {"n + 1"};
    kernel.sizes = {{"n", "[1, 2, 1000, 2047]"}};
    EXPECT_EQ(tell_one_more(kernel), std::set<std::string>{"n"}) << body;
    EXPECT_TRUE(kernel.notes.empty()) << body;
    ASSERT_EQ(kernel.doubts.size(), 1u) << body;
    EXPECT_EQ(kernel.doubts[0],
              "An index can equal n, so y is declared with n + 1 elements. If your y has n, the "
              "access is out of bounds: write shape = [\"n\"], and a test shows it.");
    EXPECT_EQ(kernel.sizes["n"], "[1, 1025, 2047, 2048, 2049, 4096]") << body;
  }
  // Begins of rows have one more than there are rows.
  for (const char* body : {"for (int e = y[i]; e < y[i + 1]; ++e) {}", "if (i >= n) return;",
                           "if (i < n) y[i + 1] = p->n;", "if (n > i) y[i + 1] = i >> n;"}) {
    ProposedKernel kernel = kernel_of_whole_blocks(body);
    kernel.params.push_back({"y", ParamRole::Output, "float32", "", "y"});
    kernel.params.back().shape = {"n + 1"};
    EXPECT_TRUE(tell_one_more(kernel).empty()) << body;
    EXPECT_TRUE(kernel.doubts.empty()) << body;
    EXPECT_EQ(kernel.sizes["n"], "[2048, 6144]") << body;
  }
}

TEST(TellRefused, SaysWhichSizeWentWrongAndHow) {
  ProposedKernel kernel;
  kernel.launches = {{.each = 4}};
  kernel.sizes = {{"n", "{ range = [4, 300], multiple_of = 4 }"}};
  tell_refused("n", 5, "it leaves the last elements of 'y' unwritten\nmore", kernel);
  ASSERT_EQ(kernel.notes.size(), 1u);
  EXPECT_EQ(kernel.notes[0],
            "n has the sizes that ran: each thread takes 4 elements at once, and with n = 5, it "
            "leaves the last elements of 'y' unwritten. Give it others if it should take them.");
  tell_refused("n", 5, "", kernel);
  EXPECT_EQ(kernel.notes.size(), 1u);
}

TEST(TellRefused, KeepsASizeForWhichTheKernelProvidesButUsesMemoryThatNothingWrote) {
  ProposedKernel kernel;
  kernel.params = {{"n", ParamRole::Dim, "int32", "i32", "n"}};
  kernel.launches = {{.grid = {"cdiv(n, 256)"}, .block = {"256"}}};
  kernel.body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) sums[i] = tile[5];";
  kernel.sizes = {{"n", "[1, 2, 256, 1024]"}};
  tell_refused("n", 300, "it reads shared memory offset 532 before anything was written there",
               kernel);
  EXPECT_TRUE(kernel.notes.empty());
  EXPECT_EQ(kernel.sizes["n"], "[1, 1024]");
  ASSERT_EQ(kernel.doubts.size(), 1u);
  EXPECT_NE(kernel.doubts[0].find("write n = [1, 2, 256, 1024]."), std::string::npos);
}

TEST(TellRefused, TakesTheStepOfSizesForNoSize) {
  ProposedKernel kernel;
  kernel.params = {{"n", ParamRole::Dim, "int32", "i32", "n"}};
  kernel.launches = {{.grid = {"cdiv(n, 256)"}, .block = {"256"}}};
  kernel.body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) sums[i] = tile[5];";
  const char* unwritten = "it reads shared memory offset 532 before anything was written there";
  kernel.sizes = {{"n", "{ range = [512, 1024], multiple_of = 256 }"}};
  tell_refused("n", 600, unwritten, kernel);
  EXPECT_EQ(kernel.sizes["n"], "[512, 1024]");
  kernel.sizes = {{"n", "\"m\""}};
  tell_refused("n", 600, unwritten, kernel);
  EXPECT_EQ(kernel.sizes["n"], "\"m\"");
}

TEST(SizesToTry, AreMultiplesOfLargeTiles) {
  const auto tiled = tiles_to_try({"M", "N", "K"}, {{"M", 128}, {"N", 128}});
  ASSERT_EQ(tiled.size(), 2u);
  for (size_t family = 0; family < 2; ++family) {
    for (const Sizes& sizes : tiled[family]) {
      EXPECT_EQ(sizes.at("M") % 128, 0);
      EXPECT_EQ(sizes.at("N") % 128, 0);
      EXPECT_EQ(sizes.at("K") % (family == 0 ? 16 : 32), 0);
    }
  }
  EXPECT_EQ(tiles_to_try({"M", "N"}, {{"M", 32}, {"N", 32}}).size(), 1u);
  EXPECT_TRUE(tiles_to_try({"M", "N"}, {{"M", 16}, {"N", 16}}).empty());
}

TEST(SizesToTry, AreSomeForAnyNumberOfDims) {
  std::vector<std::string> dims;
  for (int count = 0; count <= 16; ++count) {
    const auto all = sizes_to_try(dims);
    ASSERT_FALSE(all.empty()) << count;
    for (const auto& together : all) EXPECT_FALSE(together.empty()) << count;
    dims.push_back(fmt::format("d{}", count));
  }
}

TEST(AllowedSizes, TellsRangesMultiplesAndPowersApart) {
  const std::vector<std::string> dims = {"n"};
  const auto text = [&](int64_t base, const std::function<bool(int64_t)>& works) {
    return allowed_sizes(dims, {{"n", base}}, [&](const Sizes& at) { return works(at.at("n")); })
        .values.at("n");
  };
  EXPECT_EQ(text(37, [](int64_t) { return true; }), "[1, 3000]");
  EXPECT_EQ(text(37, [](int64_t n) { return n >= 3 && n <= 1000; }), "[3, 1000]");
  EXPECT_EQ(text(64, [](int64_t n) { return n % 32 == 0 && n <= 128; }),
            "{ range = [32, 128], multiple_of = 32 }");
  EXPECT_EQ(text(64, [](int64_t n) { return n >= 16 && (n & (n - 1)) == 0; }),
            "{ range = [16, 2048], power_of_two = true }");
  EXPECT_EQ(text(64, [](int64_t n) { return n == 64 || n == 48 || n == 100; }), "[48, 64, 100]");
  EXPECT_EQ(text(64, [](int64_t n) { return n == 64 || n == 256; }), "{ values = [64, 256] }");
  EXPECT_EQ(text(64, [](int64_t n) { return n == 64; }), "64");
  // Returns a size between those that work, and none if all work.
  const auto some =
      allowed_sizes(dims, {{"n", 64}}, [](const Sizes& at) { return at.at("n") % 4 == 0; });
  EXPECT_EQ(some.refused.at("n"), 5);
  // Tiles of 48, which occurs only once in the usual sizes.
  const auto tiles = allowed_sizes(
      {"a", "b", "c", "n"}, {{"a", 2}, {"b", 2}, {"c", 2}, {"n", 48}},
      [](const Sizes& at) { return at.at("n") % 48 == 0; }, [](const Sizes&) { return true; },
      {{"n", 48}});
  EXPECT_EQ(tiles.values.at("n"), "{ range = [48, 192], multiple_of = 48 }");
  const auto all = allowed_sizes(dims, {{"n", 64}}, [](const Sizes&) { return true; });
  EXPECT_TRUE(all.refused.empty());
}

}  // namespace
}  // namespace gpuemu::cli
