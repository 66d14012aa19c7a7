#include "judge/bounds/flushed.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "judge/bounds/float_format.h"
#include "judge/bounds/test_values.h"

namespace gpuemu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> all_of(const std::optional<Tensor>& tensor) {
  if (!tensor) return {};
  std::vector<double> values(static_cast<size_t>(tensor->count()));
  decode(view_of(*tensor), 0, values);
  return values;
}

TEST(Flushed, ExpectsWhatCameOutWhereOutputAndReferenceCountAsZero) {
  const Tensor output = floats({6}, {0, -0.0f, 0x1p-130f, 0, 0, 0x1p-126f});
  const Tensor wide = doubles({6}, {1e-39, -2.36e-40, 1e-40, 1.2e-38, 0, 1e-39});
  const auto made = all_of(flushed_reference(automatic(output, wide), nullptr));
  EXPECT_EQ(made, (std::vector<double>{0, 0, 0x1p-130, 1.2e-38, 0, 1e-39}));
}

TEST(Flushed, SaysNothingWhereNoSubnormalResultIsMissing) {
  const Tensor output = floats({3}, {0, 1, 2e-38f}), wide = doubles({3}, {1e-30, 2, 1e-40});
  EXPECT_FALSE(flushed_reference(automatic(output, wide), nullptr));
  const Tensor other_shape = doubles({1}, {1e-40});
  EXPECT_FALSE(flushed_reference(automatic(output, other_shape), nullptr));
}

TEST(Flushed, KeepsTheNumbersOfFloat16) {
  const Tensor output = make_tensor(DType::Float16, {1}), wide = doubles({1}, {1e-6});
  EXPECT_FALSE(flushed_reference(automatic(output, wide), nullptr));
}

TEST(Flushed, TakesTheReferenceOfFlushedInputsWhereThatIsWhatCameOut) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor output = floats({5}, {-inf, nan, 0, 7, 2});
  const Tensor wide = doubles({5}, {-92.1, 1, 1e-10, 5, 2});
  const Tensor other =
      doubles({5}, {-kInfinity, std::numeric_limits<double>::quiet_NaN(), 0, 1, 3});
  const TensorView view = view_of(other);
  const auto made = all_of(flushed_reference(automatic(output, wide), &view));
  ASSERT_EQ(made.size(), 5u);
  EXPECT_EQ(made[0], -kInfinity);
  EXPECT_NE(made[1], made[1]);
  EXPECT_EQ((std::vector<double>{made.begin() + 2, made.end()}), (std::vector<double>{0, 5, 2}));
}

TEST(Flushed, ClearsSubnormalInputs) {
  const Tensor input = floats({4}, {1e-39f, -1e-45f, 1.2e-38f, 0});
  EXPECT_EQ(all_of(flushed(view_of(input))),
            (std::vector<double>{0, 0, static_cast<double>(1.2e-38f), 0}));
  EXPECT_TRUE(std::signbit(all_of(flushed(view_of(input)))[1]));
  EXPECT_FALSE(flushed(view_of(floats({1}, {1}))));
}

}  // namespace
}  // namespace gpuemu
