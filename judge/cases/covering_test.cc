// Tests that every pair of choices occurs.
#include "judge/cases/covering.h"

#include <set>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TEST(CoveringArray, EveryPairOfChoicesMeets) {
  for (const std::vector<size_t>& choices : std::vector<std::vector<size_t>>{
           {1}, {2, 2}, {3, 5, 2}, {21, 22, 3, 4, 1}, {4, 4, 4, 4, 4, 4, 4}, {23, 23}}) {
    const CoveringArray array(choices);
    for (size_t f = 0; f < choices.size(); ++f) {
      for (size_t g = f + 1; g < choices.size(); ++g) {
        std::set<std::pair<size_t, size_t>> pairs;
        for (uint64_t row = 0; row < array.rows(); ++row) {
          pairs.emplace(array.choice(row, f), array.choice(row, g));
        }
        EXPECT_EQ(pairs.size(), choices[f] * choices[g]) << f << " and " << g;
      }
    }
  }
}

TEST(CoveringArray, TheFirstRowsHaveTheEndsAndEveryChoice) {
  const CoveringArray array({21, 22, 3});
  for (size_t factor = 0; factor < 3; ++factor) {
    EXPECT_EQ(array.choice(0, factor), 0u);
    EXPECT_EQ(array.choice(1, factor), 1u);
  }
  std::set<size_t> seen;
  for (uint64_t row = 0; row < 23; ++row) seen.insert(array.choice(row, 1));
  EXPECT_EQ(seen.size(), 22u);
}

TEST(CoveringArray, IsNoLargerThanThePrimeAboveItsWidestFactorSquared) {
  EXPECT_EQ(CoveringArray({22, 21}).rows(), 23u * 23u);
  EXPECT_EQ(CoveringArray({2, 2}).rows(), 4u);
  EXPECT_EQ(CoveringArray({1, 1, 1, 1, 1, 1}).rows(), 49u);
}

}  // namespace
}  // namespace gpuemu
