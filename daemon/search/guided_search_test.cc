// Which entries of a corpus are kept, and which are followed.
#include "daemon/search/guided_search.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

CorpusEntry entry(int64_t elements, std::vector<uint64_t> features, DType dtype = DType::Float32) {
  CorpusEntry made;
  made.plan.dtype = dtype;
  made.plan.inputs = {{.name = "x", .dtype = dtype, .shape = {elements}, .layout = {}}};
  made.features = std::move(features);
  return made;
}

std::vector<int64_t> sizes(const std::vector<CorpusEntry>& entries) {
  std::vector<int64_t> all;
  for (const CorpusEntry& one : entries) all.push_back(one.plan.inputs[0].shape[0]);
  return all;
}

TEST(SmallestCover, KeepsSmallCasesThatReachAllOfIt) {
  const auto kept =
      smallest_cover({entry(100, {1, 2, 3}), entry(4, {1, 2}), entry(9, {2}), entry(2, {1})}, 10);
  EXPECT_EQ(sizes(kept), (std::vector<int64_t>{2, 4, 100}));
}

TEST(SmallestCover, DropsWhatAddsNothing) {
  EXPECT_EQ(sizes(smallest_cover({entry(50, {1, 2}), entry(5, {1, 2})}, 10)),
            std::vector<int64_t>{5});
  EXPECT_TRUE(smallest_cover({entry(5, {})}, 10).empty());
}

TEST(SmallestCover, DTypesAreKernelsOfTheirOwn) {
  EXPECT_EQ(smallest_cover({entry(5, {1}), entry(5, {1}, DType::Float16)}, 10).size(), 2u);
}

TEST(SmallestCover, IsBounded) {
  std::vector<CorpusEntry> many;
  for (uint64_t i = 0; i < 30; ++i) many.push_back(entry(static_cast<int64_t>(i), {i}));
  EXPECT_EQ(smallest_cover(std::move(many), 7).size(), 7u);
}

size_t followers(uint64_t first, uint64_t since_growth) {
  size_t count = 0;
  for (uint64_t number = first; number < first + 80; ++number) {
    count += follows_corpus(number, number, since_growth) ? 1U : 0U;
  }
  return count;
}

TEST(FollowsCorpus, EveryOtherCaseWhileItGrowsAndFewerWhenItDoesNot) {
  EXPECT_EQ(followers(1000, 0), 40u);
  EXPECT_EQ(followers(1000, 127), 40u);
  EXPECT_EQ(followers(1000, 128), 10u);
  EXPECT_FALSE(follows_corpus(31, 31, 0));
  EXPECT_TRUE(follows_corpus(33, 33, 0));
}

TEST(OneToFollow, IsTheSmallerOfTwoAndAnyOfThemAtTimes) {
  std::vector<CorpusEntry> entries;
  for (const int64_t size : {4000, 70, 900}) entries.push_back(entry(size, {}));
  const std::vector<const CorpusEntry*> all = {&entries[0], &entries[1], &entries[2]};
  std::vector<size_t> chosen(entries.size());
  for (uint64_t number = 0; number < 2000; ++number) {
    ++chosen[static_cast<size_t>(one_to_follow(all, 7, number) - entries.data())];
  }
  EXPECT_GT(chosen[1], chosen[2]);
  EXPECT_GT(chosen[2], chosen[0]);
  EXPECT_GT(chosen[0], 0u);
  EXPECT_EQ(one_to_follow(all, 7, 5), one_to_follow(all, 7, 5));
}

}  // namespace
}  // namespace gpuemu
