// Element types, conversions on all 16-bit patterns, distances.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "common/numeric/dtype.h"
#include "common/numeric/element.h"
#include "common/numeric/half.h"
#include "common/numeric/ulp.h"

namespace gpuemu {
namespace {

/// The value of a pattern by the definition of the format, without bit tricks.
double slow_value(uint16_t pattern, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (pattern >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int fraction = pattern & ((1 << mantissa_bits) - 1);
  const double sign = (pattern & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa_bits);
  return sign * std::ldexp(fraction + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

using Narrow = uint16_t (*)(double);
using Widen = double (*)(uint16_t);

/// Values on, between and beside every two neighbours, the tie going to the even pattern.
void expect_nearest_even(Narrow narrow, int mantissa_bits, uint16_t infinity) {
  for (uint16_t low = 0; low < infinity - 1; ++low) {
    const auto high = static_cast<uint16_t>(low + 1);
    const double a = slow_value(low, mantissa_bits);
    const double b = slow_value(high, mantissa_bits);
    const double middle = a + (b - a) / 2;
    const uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(narrow(a), low);
    ASSERT_EQ(narrow(middle), even) << low;
    ASSERT_EQ(narrow(std::nextafter(middle, a)), low) << low;
    ASSERT_EQ(narrow(std::nextafter(middle, b)), high) << low;
    ASSERT_EQ(narrow(-middle), even | 0x8000) << low;
  }
}

void expect_all_patterns(Narrow narrow, Widen widen, int mantissa_bits) {
  for (uint32_t p = 0; p <= 0xFFFF; ++p) {
    const auto pattern = static_cast<uint16_t>(p);
    const double expected = slow_value(pattern, mantissa_bits);
    const double actual = widen(pattern);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << p;
      ASSERT_EQ(std::signbit(actual), (p & 0x8000) != 0) << p;
      ASSERT_TRUE(std::isnan(widen(narrow(actual)))) << p;
    } else {
      ASSERT_EQ(std::bit_cast<uint64_t>(actual), std::bit_cast<uint64_t>(expected)) << p;
      ASSERT_EQ(narrow(actual), pattern) << p;
    }
  }
}

TEST(Half, Float16AgreesWithTheDefinitionForEveryPattern) {
  expect_all_patterns(float16_from_double, double_from_float16, 10);
}
TEST(Half, BFloat16AgreesWithTheDefinitionForEveryPattern) {
  expect_all_patterns(bfloat16_from_double, double_from_bfloat16, 7);
}
TEST(Half, Float16RoundsToNearestEvenBetweenAllNeighbours) {
  expect_nearest_even(float16_from_double, 10, 0x7C00);
}
TEST(Half, BFloat16RoundsToNearestEvenBetweenAllNeighbours) {
  expect_nearest_even(bfloat16_from_double, 7, 0x7F80);
}

TEST(Half, OverflowsToInfinityFromHalfAStepAboveTheLargest) {
  EXPECT_EQ(float16_from_double(65519.99), 0x7BFF);
  EXPECT_EQ(float16_from_double(65520.0), 0x7C00);
  EXPECT_EQ(float16_from_double(-1e300), 0xFC00);
  EXPECT_EQ(bfloat16_from_double(0x1.FEFFFFp127), 0x7F7F);
  EXPECT_EQ(bfloat16_from_double(0x1.FFp127), 0x7F80);
  EXPECT_EQ(bfloat16_from_double(1e300), 0x7F80);
}

TEST(Half, DoesNotRoundTwiceOnTheWayFromFloat64) {
  const double above_tie = 1.0 + 0x1p-11 + 0x1p-40;  // Through float32 it would become the tie.
  EXPECT_EQ(float16_from_double(above_tie), 0x3C01);
  EXPECT_EQ(bfloat16_from_double(1.0 + 0x1p-8 + 0x1p-40), 0x3F81);
}

TEST(DType, KnowsNamesAliasesAndSizes) {
  EXPECT_EQ(dtype_from_name("bfloat16"), DType::BFloat16);
  EXPECT_EQ(dtype_from_name("BF16"), std::nullopt);
  EXPECT_EQ(dtype_from_alias("BF16"), DType::BFloat16);
  EXPECT_EQ(dtype_from_alias("Float32"), DType::Float32);
  EXPECT_EQ(dtype_from_alias("float8"), std::nullopt);
  EXPECT_EQ(byte_size(DType::Bool), 1u);
  EXPECT_EQ(cuda_type_of(DType::Float16), "__half");
  for (size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
}

TEST(Ulp, CountsStepsAcrossZeroAndRefusesWhatIsNotFinite) {
  EXPECT_EQ(ulp_distance(0.0f, -0.0f), 0u);
  EXPECT_EQ(ulp_distance(std::numeric_limits<float>::denorm_min(), -0.0f), 1u);
  EXPECT_EQ(ulp_distance(1.0f, std::nextafter(1.0f, 2.0f)), 1u);
  EXPECT_EQ(ulp_distance(-1.0, std::nextafter(-1.0, 0.0)), 1u);
  EXPECT_EQ(ulp_distance_float16(0x8001, 0x0001), 2u);
  EXPECT_EQ(ulp_distance_bfloat16(0x7F80, 0x0001), kUlpNotFinite);
  EXPECT_EQ(ulp_distance(std::nan(""), 1.0), kUlpNotFinite);
  EXPECT_EQ(ulp_distance(DType::Float16, 1.0, 1.001), 1u);
  EXPECT_EQ(ulp_distance(DType::Int8, -100.0, 100.0), 200u);
}

TEST(Element, WritesIntegersRoundedAndSaturated) {
  EXPECT_EQ(round_to(DType::Int8, 2.5), 2);
  EXPECT_EQ(round_to(DType::Int8, -300), -128);
  EXPECT_EQ(round_to(DType::UInt16, 1e9), 65535);
  EXPECT_EQ(round_to(DType::UInt8, -1), 0);
  EXPECT_EQ(round_to(DType::Int32, std::nan("")), 0);
  EXPECT_EQ(round_to(DType::Bool, 0.25), 1);
  std::array<std::byte, 8> element{};
  write_from_double(DType::Int64, 1e300, element.data());
  EXPECT_EQ(read_as_int64(DType::Int64, element.data()), std::numeric_limits<int64_t>::max());
  write_from_double(DType::UInt64, 1e300, element.data());
  EXPECT_EQ(read_as_uint64(DType::UInt64, element.data()), std::numeric_limits<uint64_t>::max());
  write_from_int64(DType::UInt8, -5, element.data());
  EXPECT_EQ(read_as_int64(DType::UInt8, element.data()), 0);
  write_from_uint64(DType::Int16, 40000, element.data());
  EXPECT_EQ(read_as_int64(DType::Int16, element.data()), 32767);
}

TEST(Element, WidensAndNarrowsArraysLikeSingleElements) {
  for (size_t d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    const size_t size = byte_size(dtype);
    std::vector<double> values;
    for (int i = -50; i < 50; ++i) values.push_back(i * 0.37);
    std::vector<std::byte> bytes(values.size() * size);
    narrow_from_double(dtype, values, bytes);
    std::vector<double> wide(values.size());
    widen_to_double(dtype, bytes, wide);
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(wide[i], round_to(dtype, values[i])) << name_of(dtype);
      EXPECT_EQ(wide[i], read_as_double(dtype, bytes.data() + i * size)) << name_of(dtype);
    }
  }
}

/// Every pattern and, between and beside every two neighbours, values that must round to them.
std::vector<double> all_and_between(DType dtype) {
  std::vector<double> values;
  for (uint32_t p = 0; p <= 0xFFFF; ++p) {
    const auto pattern = static_cast<uint16_t>(p);
    std::array<std::byte, 2> bytes{};
    std::memcpy(bytes.data(), &pattern, 2);
    const double value = read_as_double(dtype, bytes.data());
    values.push_back(value);
    if (!std::isfinite(value)) continue;
    const FloatLimits limits = float_limits(dtype);
    const double step =
        std::max(std::ldexp(1.0, std::ilogb(value == 0 ? limits.min_normal : value)),
                 limits.min_normal) *
        limits.ulp_of_one;
    for (const double middle : {value + step / 2, value - step / 2}) {
      values.push_back(middle);
      values.push_back(std::nextafter(middle, 1e300));
      values.push_back(std::nextafter(middle, -1e300));
    }
  }
  for (const double value : {1e300, -1e300, 5e-324, -5e-324, 1e-320, 3.5e38, 3.4e38}) {
    values.push_back(value);
  }
  return values;
}

TEST(Convert, NarrowsWholeArraysBitForBitLikeSingleElements) {
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float32}) {
    const size_t size = byte_size(dtype);
    const std::vector<double> values =
        all_and_between(dtype == DType::Float32 ? DType::BFloat16 : dtype);
    std::vector<std::byte> whole(values.size() * size), single(values.size() * size);
    narrow_from_double(dtype, values, whole);
    for (size_t i = 0; i < values.size(); ++i) {
      write_from_double(dtype, values[i], single.data() + i * size);
      ASSERT_EQ(std::memcmp(whole.data() + i * size, single.data() + i * size, size), 0)
          << name_of(dtype) << " " << values[i];
    }
  }
}

TEST(Convert, WidensEveryPatternBitForBitLikeSingleElements) {
  std::vector<uint16_t> patterns(0x10000 + 3);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
  std::vector<double> wide(patterns.size());
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    widen_to_double(dtype, std::as_bytes(std::span(patterns)), wide);
    for (size_t i = 0; i < patterns.size(); ++i) {
      const double expected = dtype == DType::Float16 ? double_from_float16(patterns[i])
                                                      : double_from_bfloat16(patterns[i]);
      const bool same = std::bit_cast<uint64_t>(wide[i]) == std::bit_cast<uint64_t>(expected);
      ASSERT_TRUE(same || (std::isnan(wide[i]) && std::isnan(expected))) << i;
    }
  }
}

TEST(Element, LandmarksAreTheEdgesOfTheFormat) {
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    const FloatLimits limits = float_limits(dtype);
    EXPECT_EQ(round_to(dtype, limits.max), limits.max);
    EXPECT_EQ(round_to(dtype, limits.min_subnormal), limits.min_subnormal);
    EXPECT_EQ(round_to(dtype, limits.min_subnormal / 2), 0);
    EXPECT_EQ(round_to(dtype, 1 + limits.ulp_of_one), 1 + limits.ulp_of_one);
    EXPECT_EQ(round_to(dtype, 1 + limits.ulp_of_one / 2), 1);
  }
  EXPECT_EQ(lowest_value(DType::Int8), -128);
  EXPECT_EQ(highest_value(DType::UInt16), 65535);
}

}  // namespace
}  // namespace gpuemu
