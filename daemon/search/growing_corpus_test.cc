// Tests what a search knows, what its epochs follow, and the limits of its corpus.
#include "daemon/search/growing_corpus.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

CorpusEntry entry(std::optional<uint64_t> number, std::vector<uint32_t> features = {}) {
  CorpusEntry made;
  made.plan.dtype = DType::Float32;
  made.features = std::move(features);
  made.number = number;
  return made;
}

size_t followed(const GrowingCorpus& corpus, uint64_t epoch) {
  const auto& entries = corpus.view(epoch)->entries;
  const auto found = entries.find(DType::Float32);
  return found == entries.end() ? 0 : found->second.size();
}

TEST(GrowingCorpus, LearnsOfEachDTypeByItself) {
  GrowingCorpus corpus;
  EXPECT_EQ(corpus.learn(DType::Float32, {1, 2}), 2u);
  EXPECT_EQ(corpus.learn(DType::Float32, {2, 3}), 1u);
  EXPECT_EQ(corpus.learn(DType::Float16, {2}), 1u);
  EXPECT_TRUE(corpus.known(DType::Float32)->has_all(std::vector<uint32_t>{1, 2, 3}));
  EXPECT_FALSE(corpus.known(DType::Float16)->has_all(std::vector<uint32_t>{1}));
}

TEST(GrowingCorpus, WhatIsKnownDoesNotChangeForWhoeverHasAsked) {
  GrowingCorpus corpus;
  corpus.learn(DType::Float32, {1});
  const auto before = corpus.known(DType::Float32);
  corpus.learn(DType::Float32, {2});
  EXPECT_FALSE(before->has_all(std::vector<uint32_t>{2}));
}

TEST(GrowingCorpus, EachEpochHasItsView) {
  GrowingCorpus corpus;
  corpus.start_with(entry(std::nullopt, {1}));
  corpus.end_start();
  EXPECT_EQ(followed(corpus, 7), 1u);  // A range that begins later has no other.
  EXPECT_EQ(corpus.view(7)->grown_at, 0u);
  corpus.add(entry(3));
  corpus.end_epoch(0);
  corpus.add(entry(40));
  corpus.end_epoch(1);
  EXPECT_EQ(followed(corpus, 0), 2u);
  EXPECT_EQ(corpus.view(0)->grown_at, 4u);
  EXPECT_EQ(followed(corpus, 1), 3u);
  EXPECT_EQ(corpus.view(1)->grown_at, 41u);
}

TEST(GrowingCorpus, HoldsABoundedNumberOfEntries) {
  GrowingCorpus corpus;
  for (uint32_t i = 0; i < 3000; ++i) corpus.add(entry(i, {i}));
  corpus.end_epoch(0);
  EXPECT_EQ(corpus.entries().size(), 1024u);
  EXPECT_EQ(corpus.entries()[5]->number, 5u);
}

}  // namespace
}  // namespace gpuemu
