#include "judge/verdict/invariants.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "judge/bounds/test_values.h"
#include "judge/verdict/validate.h"

namespace gpuemu {
namespace {

struct Case {
  InvariantSpec spec;
  Shape shape;
  std::vector<float> values;
  bool holds;
};

Verdict judge(const Case& item) {
  const Tensor output = floats(item.shape, item.values);
  const Tensor input = floats({2, 2}, {0, 3, 1, 2});
  Comparison comparison = automatic(output, output);
  comparison.inputs = {{"x", view_of(input)}};
  comparison.reference_input = "x";
  comparison.policy.invariants = {item.spec};
  return validate(comparison);
}

TEST(Invariants, HoldOrFailOnSmallOutputs) {
  const Case cases[] = {
      {{InvariantKind::NonNegative, {}, {}}, {2}, {0, 1}, true},
      {{InvariantKind::NonNegative, {}, {}}, {2}, {0, -1e-20f}, false},
      {{InvariantKind::ShapePreserved, {}, {}}, {2, 2}, {1, 2, 3, 4}, true},
      {{InvariantKind::ShapePreserved, {}, {}}, {4}, {1, 2, 3, 4}, false},
      {{InvariantKind::Range, {{"lo", 0}, {"hi", 1}}, {}}, {2}, {0, 1}, true},
      {{InvariantKind::Range, {{"lo", 0}, {"hi", 1}}, {}}, {2}, {0, 1.0000001f}, false},
      {{InvariantKind::Range, {{"lo", 0}, {"hi", 1}, {"ulps", 1}}, {}}, {2}, {0, 1.0000001f}, true},
      {{InvariantKind::SumsToOne, {{"axis", -1}}, {}}, {2, 2}, {0.25f, 0.75f, 0.5f, 0.5f}, true},
      {{InvariantKind::SumsToOne, {{"axis", -1}}, {}}, {2, 2}, {0.25f, 0.75f, 0.5f, 0.501f}, false},
      {{InvariantKind::SumsToOne, {{"axis", 0}}, {}}, {2, 2}, {0.25f, 0.75f, 0.75f, 0.25f}, true},
      {{InvariantKind::SumsToOne, {{"axis", 2}}, {}}, {2, 2}, {0.25f, 0.75f, 0.75f, 0.25f}, false},
      {{InvariantKind::SumsTo, {{"value", 7}}, {}}, {2}, {3, 4}, true},
      {{InvariantKind::SumsTo, {{"value", 7}}, {}}, {2}, {3, 5}, false},
      {{InvariantKind::Norm, {{"value", 5}}, {}}, {2}, {3, 4}, true},
      {{InvariantKind::Norm, {{"value", 7}, {"p", 1}}, {}}, {2}, {3, -4}, true},
      {{InvariantKind::Norm, {{"value", 5}}, {}}, {2}, {3, 4.1f}, false},
      {{InvariantKind::MeanVar, {}, {}}, {2}, {-1, 1}, true},
      {{InvariantKind::MeanVar, {}, {}}, {2}, {-1, 1.1f}, false},
      {{InvariantKind::Monotonic, {}, {}}, {2, 2}, {1, 2, 0, 0}, true},
      {{InvariantKind::Monotonic, {{"strict", 1}}, {}}, {2, 2}, {1, 2, 0, 0}, false},
      {{InvariantKind::Sorted, {}, {{"direction", "decreasing"}}}, {3}, {3, 2, 2}, true},
      {{InvariantKind::Sorted, {}, {}}, {3}, {3, 2, 2}, false},
      {{InvariantKind::Sorted, {}, {}}, {2, 3}, {3, 2, NAN, 1, 2, 3}, true},
      {{InvariantKind::Sorted, {}, {}}, {2, 3}, {3, 2, NAN, 1, 3, 2}, false},
      {{InvariantKind::Sorted, {}, {}}, {3}, {INFINITY, 2, 3}, false},
      {{InvariantKind::ZeroPreserving, {}, {}}, {2, 2}, {0, 9, 9, 9}, true},
      {{InvariantKind::ZeroPreserving, {}, {}}, {2, 2}, {1, 9, 9, 9}, false},
      {{InvariantKind::CountPreserved, {}, {}}, {4}, {3, 2, 1, 0}, true},
      {{InvariantKind::CountPreserved, {}, {}}, {4}, {3, 2, 1, 1}, false},
      {{InvariantKind::Symmetric, {}, {}}, {2, 2}, {1, 2, 2, 1}, true},
      {{InvariantKind::Symmetric, {}, {}}, {2, 2}, {1, 2, 3, 1}, false},
      {{InvariantKind::ConvexHull, {{"axis", 0}}, {}}, {2, 2}, {0, 3, 1, 2}, true},
      {{InvariantKind::ConvexHull, {{"axis", 0}}, {}}, {1, 2}, {0.5f, 2.5f}, true},
      {{InvariantKind::ConvexHull, {{"axis", 0}}, {}}, {1, 2}, {0.5f, 1.5f}, false},
      {{InvariantKind::ConvexHull, {{"axis", 0}}, {}}, {1, 2}, {NAN, 2.5f}, false},
      {{InvariantKind::ConvexHull, {{"axis", 1}}, {}}, {2}, {1.5f, 2}, true},
      {{InvariantKind::ConvexHull, {{"axis", 1}}, {}}, {2}, {1.5f, 2.1f}, false},
      {{InvariantKind::ConvexHull, {{"axis", 1}, {"ulps", 1e7}}, {}}, {2}, {1.5f, 2.1f}, true},
      {{InvariantKind::ConvexHull, {}, {}}, {3}, {1, 1, 1}, false},
      {{InvariantKind::Sign, {}, {}}, {2, 2}, {-5, 9, 0, 2}, true},
      {{InvariantKind::Sign, {}, {}}, {2, 2}, {5, 9, -1, 2}, false},
      {{InvariantKind::Sign, {}, {{"kind", "opposite"}}}, {2, 2}, {5, -9, 0, -2}, true},
      {{InvariantKind::Sign, {}, {{"kind", "opposite"}}}, {2, 2}, {5, -9, 1, -2}, false},
      {{InvariantKind::Sign, {}, {{"kind", "non_negative"}}}, {3}, {1, -1, 0}, false},
      {{InvariantKind::SubsetOfInput, {}, {}}, {3}, {3, 3, 0}, true},
      {{InvariantKind::SubsetOfInput, {}, {}}, {3}, {3, 2.5f, 0}, false},
      {{InvariantKind::Conserve, {}, {}}, {3}, {1, 2, 3}, true},
      {{InvariantKind::Conserve, {}, {}}, {3}, {1, 2, 3.001f}, false},
      {{InvariantKind::Conserve, {{"tolerance", 0.1}}, {}}, {3}, {1, 2, 3.001f}, true},
      {{InvariantKind::Conserve, {{"axis", 1}}, {}}, {2, 2}, {1, 2, 0, 3}, true},
      {{InvariantKind::Conserve, {{"axis", 0}}, {}}, {2, 2}, {1, 2, 0, 3}, true},
      {{InvariantKind::Conserve, {{"axis", 1}}, {}}, {2, 2}, {1, 1, 0, 4}, false},
  };
  for (const Case& item : cases) {
    const Verdict verdict = judge(item);
    EXPECT_EQ(verdict.failures.empty(), item.holds) << name_of(item.spec.kind);
    for (const ValidationFailure& failure : verdict.failures) {
      EXPECT_EQ(failure.kind, FindingKind::InvariantViolation);
    }
  }
}

TEST(Invariants, FiniteIsCheckedHereWhereThereIsNoReference) {
  const Tensor output = floats({3}, {1, NAN, INFINITY});
  Comparison comparison;
  comparison.output = view_of(output);
  comparison.has_reference = false;
  const auto message_of = [&](const char* name) -> std::string {
    comparison.policy.invariants = {{*invariant_from_name(name), {}, {}}};
    const Verdict verdict = validate(comparison);
    return verdict.failures.empty() ? "" : verdict.failures[0].message;
  };
  EXPECT_EQ(message_of("no_nan"), "invariant no_nan: element 1 is nan");
  EXPECT_EQ(message_of("no_inf"), "invariant no_inf: element 2 is inf");
  EXPECT_EQ(message_of("finite"), "invariant finite: element 1 is nan");
  EXPECT_EQ(message_of("shape_preserved"), "");
}

TEST(Invariants, NameTheElementAndTheValue) {
  const Verdict verdict =
      judge({{InvariantKind::NonNegative, {}, {}}, {2, 2}, {0, 1, -3, 1}, false});
  ASSERT_EQ(verdict.failures.size(), 1u);
  EXPECT_EQ(verdict.failures[0].message,
            "invariant non_negative: element 2 [1, 0] is -3, expected a value >= 0");
  EXPECT_EQ(verdict.failures[0].index, 2);
  EXPECT_EQ(verdict.failures[0].actual, -3.0);
}

/// bfloat16 as its bits: rounded to nearest even, or cut off, or cut off towards minus infinity.
enum class Rounding : uint8_t { Nearest, TowardsZero, Down };
uint16_t narrow(double value, Rounding rounding) {
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  const bool down = rounding == Rounding::Down && value < 0;
  const uint32_t nearest = 0x7FFF + ((bits >> 16) & 1);
  const uint32_t add = rounding == Rounding::Nearest ? nearest : down ? 0xFFFF : 0;
  return static_cast<uint16_t>((bits + add) >> 16);
}

/// The message about an output of these values; "" when nothing is wrong.
std::string bias_of(const std::vector<double>& values, Rounding rounding,
                    std::map<std::string, double> numbers = {}) {
  std::vector<uint16_t> bits;
  for (const double value : values) bits.push_back(narrow(value, rounding));
  const auto count = static_cast<int64_t>(values.size());
  const Tensor output = tensor_of(DType::BFloat16, {count}, bits);
  const Tensor reference = doubles({count}, values);
  Comparison comparison = automatic(output, reference);
  comparison.policy.invariants = {{InvariantKind::Unbiased, std::move(numbers), {}}};
  const Verdict verdict = validate(comparison);
  return verdict.failures.empty() ? "" : verdict.failures[0].message;
}

std::vector<double> drawn(size_t count, uint64_t seed, double least, double most) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(least, most);
  std::vector<double> values(count);
  for (double& value : values) value = draw(random);
  return values;
}

TEST(Unbiased, FindsTruncationAndNamesItsDirection) {
  const std::vector<double> values = drawn(1000, 1, -10, 10);
  EXPECT_EQ(bias_of(values, Rounding::Nearest), "");
  const std::string inward = bias_of(values, Rounding::TowardsZero);
  EXPECT_EQ(inward.find("invariant unbiased: results are off towards zero by 0.50 ulp"), 0u)
      << inward;
  EXPECT_NE(bias_of(values, Rounding::Down).find("downwards"), std::string::npos);
  EXPECT_EQ(bias_of(values, Rounding::TowardsZero, {{"ulps", 0.5}}), "");
}

TEST(Unbiased, IsNotFooledByWhereTheValuesLie) {
  // Whole numbers of few digits plus a hundredth: all in the lower half of the gap.
  std::vector<double> lower, upper, same(2000, 3.001);
  for (int i = 256; i < 1256; ++i) lower.push_back(i % 2 == 0 ? i + 0.01 : i);
  for (int i = 0; i < 2000; ++i) upper.push_back(5 + i * 0.03125 + 0.02);
  for (const auto& values : {lower, upper, same}) EXPECT_EQ(bias_of(values, Rounding::Nearest), "");
}

TEST(Unbiased, NeverFlagsSoundRoundingOfManyDraws) {
  size_t alarms = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const double least = seed % 2 == 0 ? 5 : -3;
    alarms += bias_of(drawn(350, seed, least, 10), Rounding::Nearest).empty() ? 0 : 1;
  }
  EXPECT_EQ(alarms, 0u);
}

TEST(Unbiased, SaysNothingOfFewValuesOrOfARoundedReference) {
  EXPECT_EQ(bias_of(drawn(100, 1, -10, 10), Rounding::TowardsZero), "");
  const std::vector<double> values = drawn(1000, 1, -10, 10);
  std::vector<uint16_t> cut, rounded;
  for (const double value : values) {
    cut.push_back(narrow(value, Rounding::TowardsZero));
    rounded.push_back(narrow(value, Rounding::Nearest));
  }
  const Tensor output = tensor_of(DType::BFloat16, {1000}, cut);
  const Tensor reference = tensor_of(DType::BFloat16, {1000}, rounded);
  Comparison comparison = automatic(output, reference);
  comparison.policy.invariants = {{InvariantKind::Unbiased, {}, {}}};
  EXPECT_TRUE(validate(comparison).failures.empty());
  EXPECT_FALSE(is_conclusive(comparison, comparison.policy.invariants[0]));
  const Tensor wide = doubles({1000}, values);
  const Comparison telling = automatic(output, wide);
  EXPECT_TRUE(is_conclusive(telling, {InvariantKind::Unbiased, {}, {}}));
  EXPECT_FALSE(is_conclusive(telling, {InvariantKind::WrittenOnce, {}, {}}));
}

}  // namespace
}  // namespace gpuemu
