#include "judge/verdict/cut_bits.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "common/numeric/element.h"
#include "judge/bounds/test_values.h"

namespace gpuemu {
namespace {

/// bfloat16 has the upper 16 bits of a float32.
double cut(double value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(value)) & 0xffff0000u);
}
double rounded(double value) { return round_to(DType::BFloat16, value); }

/// `make` of 300 different numbers (`different` of them, repeated) as bfloat16.
template <typename Make>
bool seems_cut(const Make& make, size_t different = 300, DType dtype = DType::BFloat16) {
  std::vector<double> wanted(300), made(300);
  for (size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] = std::sin(1.0 + static_cast<double>(i % different)) * 7;
    made[i] = make(wanted[i]);
  }
  Tensor got{dtype, {300}, std::vector<std::byte>(300 * byte_size(dtype))};
  narrow_from_double(dtype, made, got.data);
  const Tensor want = doubles({300}, wanted);
  return cuts_bits_off(automatic(got, want));
}

TEST(CutBits, AreSeenInManyDifferentValues) {
  EXPECT_TRUE(seems_cut(cut));
  EXPECT_FALSE(seems_cut(rounded));
}
TEST(CutBits, AreNotSeenInFewValuesOrWideTypes) {
  EXPECT_FALSE(seems_cut(cut, 10));
  EXPECT_FALSE(seems_cut(cut, 300, DType::Float32));
}
TEST(CutBits, AreNoErrorsInBothDirections) {
  EXPECT_FALSE(seems_cut([](double value) { return rounded(value * (1 + 0x1p-8)); }));
  EXPECT_FALSE(seems_cut([](double value) { return rounded(value * (1 - 0x1p-8)); }));
  EXPECT_FALSE(seems_cut([](double value) { return cut(value * 1.01); }));
}
TEST(CutBits, AreNoResultsThatAreZero) {
  EXPECT_FALSE(seems_cut([](double) { return 0.0; }));
}

}  // namespace
}  // namespace gpuemu
