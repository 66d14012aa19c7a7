#include "judge/bounds/wrapped_integers.h"

#include <cmath>

#include <gtest/gtest.h>

#include "judge/verdict/validate.h"

namespace gpuemu {
namespace {

using Mask = std::vector<uint8_t>;

template <typename Output, typename Reference>
Mask mask_of(DType output, std::vector<Output> computed, DType reference,
             std::vector<Reference> expected) {
  Comparison comparison;
  const Shape shape = {static_cast<int64_t>(computed.size())};
  comparison.output = {output, shape, std::as_bytes(std::span(computed))};
  comparison.reference = {reference, shape, std::as_bytes(std::span(expected))};
  return wrapped_integers(comparison);
}

TEST(WrappedIntegers, HaveTheLowestBitsOfASumThatDoesNotFit) {
  const std::vector<int32_t> computed = {-2147483648, 5, -3};
  const std::vector<int64_t> expected = {2147483648, 5, 0xFFFFFFFD};
  EXPECT_EQ(mask_of(DType::Int32, computed, DType::Int64, expected), (Mask{1, 0, 1}));
  const std::vector<double> floats = {2147483648.0, 5.0, 4294967293.0};
  EXPECT_EQ(mask_of(DType::Int32, computed, DType::Float64, floats), (Mask{1, 0, 1}));
}

TEST(WrappedIntegers, AreNoneWhereOtherBitsCameOut) {
  const std::vector<int32_t> computed = {2147483647, 6};
  const std::vector<int64_t> expected = {2147483648, 5};
  EXPECT_TRUE(mask_of(DType::Int32, computed, DType::Int64, expected).empty());
}

TEST(WrappedIntegers, AreLessThanZeroForATypeWithoutASign) {
  const std::vector<uint8_t> computed = {255, 1};
  const std::vector<int64_t> expected = {-1, -2};
  EXPECT_EQ(mask_of(DType::UInt8, computed, DType::Int64, expected), (Mask{1, 0}));
}

TEST(WrappedIntegers, AreAnyWhereAFloatHasLostTheBits) {
  const std::vector<int32_t> computed = {7, 7};
  const std::vector<double> expected = {0x1p60, INFINITY};
  EXPECT_EQ(mask_of(DType::Int32, computed, DType::Float64, expected), (Mask{1, 0}));
}

TEST(WrappedIntegers, AreNoneOf64BitsAndOfFloats) {
  const std::vector<int64_t> computed = {0};
  const std::vector<double> expected = {0x1p64};
  EXPECT_TRUE(mask_of(DType::Int64, computed, DType::Float64, expected).empty());
  const std::vector<float> numbers = {0};
  EXPECT_TRUE(mask_of(DType::Float32, numbers, DType::Float64, expected).empty());
}

}  // namespace
}  // namespace gpuemu
