#include "judge/verdict/validate.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "judge/bounds/float_format.h"
#include "judge/bounds/test_values.h"

namespace gpuemu {
namespace {

using enum FindingKind;
using Kinds = std::vector<FindingKind>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Statistics, TellWhetherRoundingGoesOneWay) {
  std::vector<float> reference(10'000), above(10'000), around(10'000);
  for (size_t i = 0; i < reference.size(); ++i) {
    reference[i] = 1 + static_cast<float>(i) * 0x1p-14f;
    above[i] = std::nextafter(reference[i], 9.0f);
    around[i] = std::nextafter(reference[i], i % 2 == 0 ? 9.0f : 0.0f);
  }
  const Tensor expected = floats({10'000}, reference);
  const Tensor biased = floats({10'000}, above);
  EXPECT_EQ(validate(automatic(biased, expected)).stats->mean_signed_ulp, 1.0);
  const Tensor mixed = floats({10'000}, around);
  EXPECT_NEAR(validate(automatic(mixed, expected)).stats->mean_signed_ulp, 0.0, 0.1);
  EXPECT_EQ(validate(automatic(mixed, expected)).stats->mean_ulp, 1.0);
}

TEST(Validate, GivesEveryMemberOfTheProtocolsFailingScaleExample) {
  const Tensor output = floats({2, 2}, {1, 2, 3, 4}), reference = floats({2, 2}, {2, 4, 6, 8});
  const Verdict verdict = validate(legacy(output, reference));
  ASSERT_EQ(kinds(verdict), Kinds{ToleranceExceeded});
  EXPECT_EQ(verdict.failures[0].index, 0);
  EXPECT_EQ(verdict.failures[0].expected, 2.0);
  EXPECT_EQ(verdict.failures[0].actual, 1.0);
  EXPECT_EQ(verdict.failures[0].message,
            "element 0 [0, 0]: expected 2, got 1, |diff| 1 > bound 1e-05 (4 of 4 elements; every "
            "element)");
  EXPECT_EQ(verdict.max_diff, 4.0);
  EXPECT_EQ(verdict.max_rel_diff, 0.5);
  const ErrorStats expected{4,   4,   4.0, 2.5,     3.0,       4.0,
                            4.0, 0.5, 0.5, 8388608, 8388608.0, -8388608.0};
  EXPECT_EQ(verdict.stats, expected);
}

TEST(Validate, GivesZerosForThePassingExample) {
  const Tensor output = floats({2, 2}, {2, 4, 6, 8});
  const Verdict verdict = validate(legacy(output, output));
  EXPECT_TRUE(verdict.failures.empty());
  ErrorStats expected;
  expected.count = 4;
  EXPECT_EQ(verdict.stats, expected);
  EXPECT_FALSE(verdict.worst_index.has_value());
}

TEST(Validate, ReportsShapeAndDtypeTogetherAndComparesNothing) {
  const Tensor output = floats({3}, {1, 2, 3}), reference = doubles({2}, {9, 9});
  const Verdict verdict = validate(legacy(output, reference));
  EXPECT_EQ(kinds(verdict), (Kinds{ShapeMismatch, DTypeMismatch}));
  EXPECT_EQ(verdict.failures[0].message, "shape mismatch: output is [3], reference is [2]");
  EXPECT_EQ(verdict.max_diff, 0.0);
  EXPECT_FALSE(verdict.stats.has_value());
}

TEST(Validate, RefusesATensorWhoseBytesAreNotItsShapes) {
  const Tensor whole = floats({4}, {1, 2, 3, 4});
  Comparison comparison = legacy(whole, whole);
  comparison.output.data = comparison.output.data.first(12);
  const Verdict verdict = validate(comparison);
  ASSERT_EQ(kinds(verdict), Kinds{ShapeMismatch});
  EXPECT_EQ(verdict.failures[0].message,
            "the output holds 12 bytes, expected 16 for shape [4] of float32");
  EXPECT_FALSE(verdict.stats.has_value());
}

TEST(Validate, RunsAllStagesAndNamesTheFirstThatFailsFirst) {
  const Tensor output = floats({4}, {-1, kNan, kInf, 4}), reference = doubles({4}, {1, 1, 1, 4});
  Comparison comparison = automatic(output, reference);
  comparison.policy.invariants = {{InvariantKind::NonNegative, {}, {}}};
  const Verdict verdict = validate(comparison);
  EXPECT_EQ(kinds(verdict),
            (Kinds{ToleranceExceeded, NaNDetected, InfDetected, InvariantViolation}));
  EXPECT_EQ(verdict.failures[0].index, 0);
  EXPECT_EQ(verdict.failures[1].index, 1);
  EXPECT_EQ(verdict.failures[2].index, 2);
  EXPECT_EQ(verdict.worst_index, 0);
  EXPECT_EQ(verdict.stats->num_exceeding, 3u);
}

TEST(Validate, LeavesNoNanInTheReferenceToMatchANumber) {
  const Tensor numbers = floats({3}, {0, 1, kInf}), nans = doubles({3}, {kNan, kNan, kNan});
  for (const NanPolicy policy : {NanPolicy::Match, NanPolicy::Class}) {
    const Verdict verdict = validate(automatic(numbers, nans, policy));
    ASSERT_EQ(kinds(verdict), Kinds{NaNDetected});
    EXPECT_EQ(verdict.failures[0].index, 0);
  }
}

TEST(Validate, ComparesWhatIsReadFromTheMiddleOfABuffer) {
  // Views of shared memory need not be aligned to their elements.
  std::vector<std::byte> bytes(8 * 64 + 3);
  const Tensor values = doubles({64}, std::vector<double>(64, 1.5));
  std::copy(values.data.begin(), values.data.end(), bytes.begin() + 3);
  Comparison comparison = automatic(values, values);
  comparison.reference.data = std::span(bytes).subspan(3);
  EXPECT_TRUE(validate(comparison).failures.empty());
  EXPECT_EQ(validate(comparison).stats->max_abs, 0.0);
}

TEST(Validate, ComparesAWideReferenceWithoutRoundingIt) {
  const Tensor output = floats({1}, {1.0f}), reference = doubles({1}, {1.0 + 0x1p-26});
  Comparison comparison = legacy(output, reference);
  comparison.reference_is_wide = true;
  comparison.policy.tolerance.atol = 0x1p-27;
  EXPECT_EQ(kinds(validate(comparison)), Kinds{ToleranceExceeded});
  comparison.policy.tolerance.atol = 0x1p-26;
  EXPECT_TRUE(validate(comparison).failures.empty());
}

TEST(Validate, ComparesIntegersExactlyUnlessTheToleranceIsOneOrMore) {
  const Tensor output =
      tensor_of<int64_t>(DType::Int64, {2}, {std::numeric_limits<int64_t>::max(), 5});
  const Tensor reference =
      tensor_of<int64_t>(DType::Int64, {2}, {std::numeric_limits<int64_t>::max() - 1, 5});
  Comparison comparison = legacy(output, reference);
  comparison.policy.tolerance.atol = 0.9;
  const Verdict verdict = validate(comparison);
  EXPECT_EQ(kinds(verdict), Kinds{ToleranceExceeded});
  EXPECT_EQ(verdict.failures[0].message.rfind("element 0: expected 9223372036854775806, got "
                                              "9223372036854775807, |diff| 1 > bound 0.9",
                                              0),
            0u)
      << verdict.failures[0].message;
  EXPECT_EQ(verdict.max_diff, 1.0);
  EXPECT_EQ(verdict.max_rel_diff, 0.0);
  EXPECT_FALSE(verdict.stats.has_value());
  comparison.policy.tolerance.atol = 1;
  EXPECT_TRUE(validate(comparison).failures.empty());
  const Tensor yes = tensor_of<uint8_t>(DType::Bool, {1}, {1}),
               no = tensor_of<uint8_t>(DType::Bool, {1}, {0});
  EXPECT_EQ(kinds(validate(legacy(yes, no))), Kinds{ToleranceExceeded});
}

TEST(Validate, SaysWhereTheReferenceHasAnIntegerThatTheOutputsTypeHasNot) {
  const auto message_of = [](int32_t output, int64_t reference) {
    const Tensor narrow = tensor_of<int32_t>(DType::Int32, {1}, {output});
    const Tensor wide = tensor_of<int64_t>(DType::Int64, {1}, {reference});
    Comparison comparison = automatic(narrow, wide);
    comparison.reference_is_wide = true;
    const Verdict verdict = validate(comparison);
    return verdict.failures.empty() ? "" : verdict.failures[0].message;
  };
  const std::string said = "int32 cannot hold what is expected";
  EXPECT_NE(message_of(-2147455722, 2147511574).find(said), std::string::npos);
  EXPECT_NE(message_of(5, -2147483649).find(said), std::string::npos);
  EXPECT_EQ(message_of(5, 2147483647).find(said), std::string::npos);
  EXPECT_EQ(message_of(5, -2147483648).find(said), std::string::npos);
}

TEST(Validate, NamesANanWithoutItsSign) {
  const Tensor output = floats({1}, {-NAN}), reference = floats({1}, {2});
  const Verdict verdict = validate(automatic(output, reference));
  EXPECT_NE(verdict.failures[0].message.find("expected 2, got nan ("), std::string::npos)
      << verdict.failures[0].message;
}

TEST(Validate, TellsUnsignedMaximaFromMinusOne) {
  const Tensor output = tensor_of<uint64_t>(DType::UInt64, {1}, {~uint64_t{0}});
  const Tensor reference = tensor_of<int64_t>(DType::Int64, {1}, {-1});
  Comparison comparison = legacy(output, reference);
  comparison.reference_is_wide = true;
  EXPECT_EQ(kinds(validate(comparison)), Kinds{ToleranceExceeded});
}

TEST(Validate, RefusesANanThatMatchesAnyNumberForExistingClients) {
  const Tensor numbers = floats({2}, {1, 2}), nan = floats({2}, {1, kNan});
  EXPECT_EQ(kinds(validate(legacy(numbers, nan))), Kinds{ToleranceExceeded});
  EXPECT_EQ(kinds(validate(legacy(nan, numbers))), Kinds{NaNDetected});
  EXPECT_EQ(kinds(validate(legacy(nan, nan))), Kinds{NaNDetected});
  Comparison off = legacy(nan, nan);
  off.policy.check_nan = false;
  EXPECT_TRUE(validate(off).failures.empty());
  off.reference = view_of(numbers);
  EXPECT_EQ(kinds(validate(off)), Kinds{NaNDetected});
}

TEST(Validate, JudgesInfinitiesOfExistingClientsByTheSwitch) {
  const Tensor inf = floats({1}, {kInf}), minus = floats({1}, {-kInf}), one = floats({1}, {1});
  EXPECT_EQ(kinds(validate(legacy(inf, inf))), Kinds{InfDetected});
  EXPECT_EQ(kinds(validate(legacy(one, inf))), Kinds{ToleranceExceeded});
  Comparison off = legacy(inf, inf);
  off.policy.check_inf = false;
  EXPECT_TRUE(validate(off).failures.empty());
  off.reference = view_of(minus);
  EXPECT_EQ(kinds(validate(off)), Kinds{InfDetected});
}

TEST(Validate, CountsNonFiniteErrorsAsInfiniteInTheStatistics) {
  const Tensor output = floats({2}, {1, kNan}), reference = floats({2}, {1, 1});
  const Verdict verdict = validate(legacy(output, reference));
  EXPECT_TRUE(std::isinf(verdict.stats->max_abs));
  EXPECT_EQ(verdict.stats->max_ulp, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(verdict.max_diff, 0.0);
}

struct NanCase {
  float output, reference;
  NanPolicy policy;
  Kinds expected;
  const char* word;
};

TEST(Validate, JudgesNonFiniteValuesByThePolicy) {
  const NanCase cases[] = {
      {kNan, kNan, NanPolicy::Match, {}, ""},
      {kNan, 1, NanPolicy::Match, {NaNDetected}, "nan_created"},
      {1, kNan, NanPolicy::Match, {NaNDetected}, "nan_lost"},
      {kInf, kNan, NanPolicy::Match, {NaNDetected}, "nan_lost"},
      {kNan, kInf, NanPolicy::Match, {NaNDetected}, "nan_created"},
      {kInf, -kInf, NanPolicy::Match, {InfDetected}, "inf_created"},
      {1, kInf, NanPolicy::Match, {InfDetected}, "inf_lost"},
      {kNan, kInf, NanPolicy::Class, {}, ""},
      {kInf, -kInf, NanPolicy::Class, {}, ""},
      {1, kNan, NanPolicy::Class, {NaNDetected}, "nan_lost"},
      {kNan, 1, NanPolicy::Class, {NaNDetected}, "nan_created"},
      {kInf, 1, NanPolicy::Class, {InfDetected}, "inf_created"},
      {1, kNan, NanPolicy::Any, {}, ""},
      {kNan, 1, NanPolicy::Any, {NaNDetected}, "nan_created"},
  };
  for (const NanCase& item : cases) {
    const Tensor output = floats({1}, {item.output}), reference = floats({1}, {item.reference});
    const Verdict verdict = validate(automatic(output, reference, item.policy));
    EXPECT_EQ(kinds(verdict), item.expected) << item.output << " against " << item.reference;
    if (!verdict.failures.empty()) {
      EXPECT_EQ(verdict.failures[0].message.rfind(item.word, 0), 0u) << verdict.failures[0].message;
    }
  }
}

TEST(Validate, RefusesDemandedNansUnderTheNoNanInvariant) {
  const Tensor nan = floats({1}, {kNan});
  Comparison comparison = automatic(nan, nan);
  comparison.policy.invariants = {{InvariantKind::NoNan, {}, {}}};
  EXPECT_EQ(kinds(validate(comparison)), Kinds{NaNDetected});
}

TEST(Validate, AcceptsInfinityOnlyAtTheEdgeOfTheFormat) {
  const Tensor output = tensor_of<uint16_t>(DType::Float16, {1}, {0x7C00});
  for (const auto& [reference, passes] :
       {std::pair(65504.0 * (1 + 0x1p-11), true), std::pair(65504.0 * (1 - 0x1p-10), true),
        std::pair(60000.0, false), std::pair(-65504.0, false), std::pair(1e9, true)}) {
    const Tensor wide = doubles({1}, {reference});
    EXPECT_EQ(validate(automatic(output, wide)).failures.empty(), passes) << reference;
  }
}

TEST(Validate, FollowsTheFormulaOfTheScaleAwareBound) {
  const double reference = 3.0;
  const double unit = 0x1p-24, scale = 10, terms = 256, magnitude = 5;
  const double bound = 0x1p-22 + 8 * unit * (16 * scale + 3) + 16 * 0x1p-149 * (1 + magnitude);
  const Tensor wide = doubles({1}, {reference});
  const double scales[] = {scale};
  for (const bool inside : {true, false}) {
    const auto value = static_cast<float>(reference + bound * (inside ? 0.99 : 1.01));
    const Tensor output = floats({1}, {value});
    Comparison comparison = automatic(output, wide);
    comparison.scale = scales;
    comparison.policy.accumulate_length = static_cast<int64_t>(terms);
    comparison.policy.input_abs_max = magnitude;
    const Verdict verdict = validate(comparison);
    EXPECT_EQ(verdict.failures.empty(), inside);
    EXPECT_NEAR(verdict.bound_ratio_max, inside ? 0.99 : 1.01, 0.01);
    EXPECT_EQ(verdict.worst_index, 0);
  }
}

TEST(Validate, LetsEachTermOfASumLoseASmallestNumber) {
  const Tensor output = floats({1}, {0}), wide = doubles({1}, {9.7e-38});
  const double scales[] = {1e-40};
  Comparison comparison = automatic(output, wide);
  comparison.scale = scales;
  comparison.policy.accumulate_length = 896;
  EXPECT_EQ(kinds(validate(comparison)), Kinds{ToleranceExceeded});
  comparison.policy.ftz_ok = true;
  EXPECT_EQ(kinds(validate(comparison)), Kinds{});
  comparison.policy.accumulate_length = 1;
  EXPECT_EQ(kinds(validate(comparison)), Kinds{ToleranceExceeded});
}

TEST(Validate, LeavesElementsOfInfiniteScaleToTheOtherStages) {
  const Tensor output = floats({2}, {1e6f, kNan}), wide = doubles({2}, {1, 1});
  const double scales[] = {std::numeric_limits<double>::quiet_NaN(), 1};
  Comparison comparison = automatic(output, wide);
  comparison.scale = scales;
  EXPECT_EQ(kinds(validate(comparison)), Kinds{NaNDetected});
}

TEST(Validate, PassesWithinUlpsWhateverAtolSays) {
  const Tensor output = floats({1}, {std::nextafter(std::nextafter(1e10f, kInf), kInf)});
  const Tensor reference = floats({1}, {1e10f});
  Comparison comparison = legacy(output, reference);
  EXPECT_EQ(kinds(validate(comparison)), Kinds{ToleranceExceeded});
  comparison.policy.tolerance.ulp = 2;
  EXPECT_TRUE(validate(comparison).failures.empty());
  comparison.policy.tolerance.ulp = 1;
  EXPECT_EQ(kinds(validate(comparison)), Kinds{ToleranceExceeded});
}

TEST(Validate, AddsRtolTimesTheReference) {
  const Tensor output = floats({1}, {100.5f}), reference = floats({1}, {100});
  Comparison comparison = legacy(output, reference);
  comparison.policy.tolerance.rtol = 0.01;
  EXPECT_TRUE(validate(comparison).failures.empty());
  comparison.policy.tolerance.rtol = 0.001;
  EXPECT_EQ(kinds(validate(comparison)), Kinds{ToleranceExceeded});
}

struct PatternCase {
  Shape shape;
  std::vector<size_t> wrong;
  std::string expected;
};

TEST(Validate, NamesThePatternOfTheWrongElements) {
  const PatternCase cases[] = {
      {{3, 18}, {17, 35, 53}, "(3 of 54 elements; only the last column)"},
      {{3, 18}, {36, 40}, "(2 of 54 elements; only the last row)"},
      {{128}, {5, 37, 69, 101}, "(4 of 128 elements; only every 32nd element)"},
      {{100}, {97, 98, 99}, "(3 of 100 elements; only the last 3 elements)"},
      {{2, 10}, {8, 9, 18, 19}, "(4 of 20 elements; only the last 2 columns)"},
      {{32, 32}, {8 * 32 + 9, 9 * 32 + 11, 15 * 32 + 15}, "only one 8 x 8 tile, at [8, 8])"},
      {{5, 7}, {1, 9, 20, 33}, "(4 of 35 elements)"},
  };
  for (const PatternCase& item : cases) {
    const auto count = static_cast<size_t>(element_count(item.shape));
    std::vector<float> values(count, 0.5f);
    const Tensor reference = floats(item.shape, values);
    for (const size_t index : item.wrong) values[index] = 0;
    const Tensor output = floats(item.shape, values);
    const Verdict verdict = validate(legacy(output, reference));
    ASSERT_EQ(verdict.failures.size(), 1u);
    EXPECT_NE(verdict.failures[0].message.find(item.expected), std::string::npos)
        << verdict.failures[0].message;
  }
}

TEST(Validate, AcceptsEmptyTensorsAndScalars) {
  const Tensor empty = floats({0, 3}, {}), scalar = floats({}, {4});
  EXPECT_TRUE(validate(automatic(empty, empty)).failures.empty());
  EXPECT_EQ(validate(legacy(empty, empty)).stats, ErrorStats{});
  EXPECT_TRUE(validate(legacy(scalar, scalar)).failures.empty());
}

TEST(Formats, PlaceMinusZeroOneBelowZeroAndCountUlpsInTheOutputsFormat) {
  EXPECT_EQ(ulp_distance(format_of(DType::Float32), -0.0, 0.0), 1u);
  EXPECT_EQ(ulp_distance(format_of(DType::Float16), 1.0, 1.0 + 0x1p-10), 1u);
  EXPECT_EQ(ulp_distance(format_of(DType::BFloat16), 1.0, 1.0 + 0x1p-7), 1u);
  EXPECT_EQ(ulp_distance(format_of(DType::Float64), 1.0, 1.0 + 0x1p-52), 1u);
  EXPECT_EQ(ulp_distance(format_of(DType::Float32), -0x1p-149, 0x1p-149), 3u);
  EXPECT_EQ(ulp_distance(format_of(DType::Float16), 65504, 1e9), 1u);
  EXPECT_EQ(order_number(format_of(DType::Float32), 1.5), 0x3FC00000);
  EXPECT_EQ(order_number(format_of(DType::Float64), -2.0), -0x4000000000000000 - 1);
}

TEST(Formats, ReadEveryHalfAsItsOrderNumber) {
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const Tensor tensor = tensor_of<uint16_t>(DType::Float16, {1}, {half});
    ASSERT_EQ(order_number(format_of(DType::Float16), element(view_of(tensor), 0)), half);
  }
}

}  // namespace
}  // namespace gpuemu
