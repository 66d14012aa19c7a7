// Which entries of a corpus are kept.
#include "daemon/engine/guided_search.h"

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

}  // namespace
}  // namespace gpuemu
