// Tests the corpus that concurrent searches of one op store.
#include "daemon/search/corpus_turns.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "common/codec/json_codec.h"
#include "daemon/storage/store.h"

namespace gpuemu {
namespace {

std::shared_ptr<const CorpusEntry> entry(uint64_t seed, std::vector<uint32_t> features) {
  CorpusEntry made;
  made.plan.dtype = DType::Float32;
  made.features = std::move(features);
  made.result.seed = seed;
  return std::make_shared<const CorpusEntry>(made);
}

std::vector<uint64_t> seeds(const CorpusTurns::Bytes& entries) {
  std::vector<uint64_t> all;
  for (const auto& bytes : entries) {
    const auto reply = decode_reply({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    all.push_back(std::get<ValidationResultReply>(*reply).result.seed);
  }
  return all;
}

class CorpusTurnsTest : public testing::Test {
 protected:
  std::unique_ptr<CorpusTurns::Turn> begin(uint64_t job) {
    auto turn = turns_.begin(*store_, "add", job);
    EXPECT_TRUE(turn.ok());
    return *std::move(turn);
  }
  std::vector<uint64_t> stored() { return seeds(*store_->list_corpus("add")); }

  std::unique_ptr<Store> store_ = make_memory_store();
  CorpusTurns turns_;
};

TEST_F(CorpusTurnsTest, OneAfterTheOtherReplacesWhatWasThere) {
  EXPECT_TRUE(begin(1)->keep({entry(10, {1})}));
  auto second = begin(2);
  EXPECT_EQ(seeds(second->start()), std::vector<uint64_t>{10});
  EXPECT_TRUE(second->keep({entry(20, {1})}));
  EXPECT_EQ(stored(), std::vector<uint64_t>{20});
}

TEST_F(CorpusTurnsTest, TwoAtOnceAreJoinedInTheOrderOfTheirJobs) {
  for (const bool first_ends_first : {true, false}) {
    ASSERT_TRUE(store_->replace_corpus("add", {}));
    auto first = begin(5), second = begin(6);
    EXPECT_TRUE(second->start().empty());
    const auto keep_first = [&] { return first->keep({entry(10, {1, 2}), entry(11, {3})}); };
    if (first_ends_first) {
      EXPECT_TRUE(keep_first());
    }
    EXPECT_TRUE(second->keep({entry(20, {2, 3}), entry(21, {4})}));
    if (!first_ends_first) {
      EXPECT_TRUE(keep_first());
    }
    EXPECT_EQ(stored(), (std::vector<uint64_t>{10, 11, 21})) << first_ends_first;
  }
}

TEST_F(CorpusTurnsTest, OneThatEndedStaysWhileOthersRun) {
  auto first = begin(5), second = begin(6), third = begin(7);
  EXPECT_TRUE(first->keep({entry(10, {1})}));
  first.reset();
  EXPECT_TRUE(third->keep({entry(30, {1, 3})}));
  third.reset();
  EXPECT_TRUE(second->keep({entry(20, {1, 3})}));
  EXPECT_EQ(stored(), (std::vector<uint64_t>{10, 20}));
}

TEST_F(CorpusTurnsTest, WhatOthersAddMeanwhileStays) {
  auto turn = begin(1);
  const std::string text = encode_reply(ValidationResultReply{entry(99, {})->result});
  ASSERT_TRUE(store_->put_corpus("add", std::as_bytes(std::span(text))));
  EXPECT_TRUE(turn->keep({entry(10, {1})}));
  EXPECT_EQ(stored(), (std::vector<uint64_t>{10, 99}));
}

}  // namespace
}  // namespace gpuemu
