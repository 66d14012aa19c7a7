#include "judge/bounds/blocks.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TEST(Blocks, TheLargestFiniteFloatIsThatOfTheSameDoubles) {
  using Limits = std::numeric_limits<float>;
  constexpr float kSpecial[] = {0.0f,
                                -0.0f,
                                Limits::infinity(),
                                -Limits::infinity(),
                                Limits::quiet_NaN(),
                                -Limits::quiet_NaN(),
                                Limits::max(),
                                Limits::denorm_min()};
  std::mt19937_64 random(7);
  for (size_t size = 0; size < 70; ++size) {
    for (const uint64_t special_in : {1, 4, 1000}) {
      std::vector<float> floats(size);
      for (float& one : floats) {
        const float drawn = std::ldexp(static_cast<float>(random() % 2001) - 1000.0f,
                                       static_cast<int>(random() % 60) - 40);
        one = random() % special_in == 0 ? kSpecial[random() % std::size(kSpecial)] : drawn;
      }
      const std::vector<double> doubles(floats.begin(), floats.end());
      EXPECT_EQ(largest_finite_float32(std::as_bytes(std::span(floats))), largest_finite(doubles))
          << size << " values";
    }
  }
}

}  // namespace
}  // namespace gpuemu
