// Which entries of a corpus are kept, and which are followed.
#include "daemon/search/corpus_entries.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

std::shared_ptr<const CorpusEntry> entry(int64_t elements, std::vector<uint32_t> features,
                                         DType dtype = DType::Float32) {
  CorpusEntry made;
  made.plan.dtype = dtype;
  made.plan.inputs = {{.name = "x", .dtype = dtype, .shape = {elements}, .layout = {}}};
  made.features = std::move(features);
  return std::make_shared<const CorpusEntry>(made);
}

std::vector<int64_t> sizes(const CorpusEntries& entries) {
  std::vector<int64_t> all;
  for (const auto& one : entries) all.push_back(one->plan.inputs[0].shape[0]);
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
  CorpusEntries many;
  for (uint32_t i = 0; i < 30; ++i) many.push_back(entry(i, {i}));
  EXPECT_EQ(smallest_cover(std::move(many), 7).size(), 7u);
}

size_t followers(uint64_t first, bool is_dry) {
  size_t count = 0;
  for (uint64_t number = first; number < first + 80; ++number) {
    count += follows_corpus(number, number, is_dry) ? 1U : 0U;
  }
  return count;
}

TEST(FollowsCorpus, EveryOtherCaseWhileItGrowsAndFewerWhenItDoesNot) {
  EXPECT_EQ(followers(1000, false), 40u);
  EXPECT_EQ(followers(1000, true), 10u);
  EXPECT_FALSE(follows_corpus(63, 63, false));
  EXPECT_TRUE(follows_corpus(65, 65, false));
}

TEST(OneToFollow, IsTheSmallerOfTwoAndAnyOfThemAtTimes) {
  const CorpusEntries all = {entry(4000, {}), entry(70, {}), entry(900, {})};
  std::vector<size_t> chosen(all.size());
  for (uint64_t number = 0; number < 2000; ++number) {
    const CorpusEntry* const one = &one_to_follow(all, 7, number);
    for (size_t i = 0; i < all.size(); ++i) chosen[i] += all[i].get() == one ? 1U : 0U;
  }
  EXPECT_GT(chosen[1], chosen[2]);
  EXPECT_GT(chosen[2], chosen[0]);
  EXPECT_GT(chosen[0], 0u);
  EXPECT_EQ(&one_to_follow(all, 7, 5), &one_to_follow(all, 7, 5));
}

TEST(Digest, NamesCasesAndTheirOrder) {
  ReproductionInfo one, other;
  one.seed = 1;
  other.seed = 2;
  const std::vector<ReproductionInfo> both = {one, other}, turned = {other, one};
  EXPECT_EQ(digest_of(both).size(), 32u);
  EXPECT_EQ(digest_of(both), digest_of(both));
  EXPECT_NE(digest_of(both), digest_of(turned));
  EXPECT_NE(digest_of(both), digest_of({}));
}

}  // namespace
}  // namespace gpuemu
