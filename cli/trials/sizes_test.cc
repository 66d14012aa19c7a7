// Tests the sizes for trying kernels, and the description of those that work.
#include "cli/trials/sizes.h"

#include <functional>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "cli/trials/size_notes.h"

namespace gpuemu::cli {
namespace {

TEST(KeepTails, KeepsMultiplesOfWhatAThreadTakesAtOnce) {
  ProposedKernel kernel;
  kernel.launches = {{.grid = {"cdiv(n, 2048)"}, .block = {"256"}, .each = 8}};
  kernel.sizes = {{"n", "[2048, 6144]"}};
  EXPECT_TRUE(keep_tails("n", kernel));
  EXPECT_EQ(kernel.sizes["n"], "{ range = [8, 6144], multiple_of = 8 }");
  ASSERT_EQ(kernel.doubts.size(), 1u);
  EXPECT_NE(kernel.doubts[0].find("each thread takes 8 elements at once"), std::string::npos);
  kernel.launches[0].each = 1;
  kernel.sizes = {{"n", "{ range = [2048, 6144], multiple_of = 2048 }"}};
  EXPECT_TRUE(keep_tails("n", kernel));
  EXPECT_EQ(kernel.sizes["n"], "[1, 6144]");
  kernel.sizes = {{"n", "[1, 300]"}};
  EXPECT_FALSE(keep_tails("n", kernel));
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
