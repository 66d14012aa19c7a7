// Answers that are accepted besides the one that the script returned.
#include "judge/verdict/right_answers.h"

#include <cmath>

#include <gtest/gtest.h>

#include "common/config/op_config.h"
#include "common/numeric/element.h"
#include "judge/bounds/test_values.h"

namespace gpuemu {
namespace {

using Indices = std::vector<int64_t>;

TensorSpec indices_of(const std::string& keys, int64_t axis = -1) {
  TensorSpec spec;
  spec.name = "i";
  spec.indices_of = keys;
  spec.axis = axis;
  return spec;
}

TensorSpec any_order(int64_t axis = -1) {
  TensorSpec spec;
  spec.any_order = true;
  spec.axis = axis;
  return spec;
}

Tensor indices(Shape shape, const Indices& values) {
  return tensor_of(DType::Int64, std::move(shape), values);
}

/// The reference once it is matched with the output.
template <typename T>
std::vector<T> matched(const TensorSpec& spec, const Tensor& output, const Tensor& reference,
                       const Tensor& keys = {}) {
  Comparison comparison = legacy(output, reference);
  comparison.inputs["x"] = view_of(keys);
  const auto found = matched_reference(spec, comparison);
  EXPECT_TRUE(found) << found.error().message;
  if (!found || !*found) return {};
  std::vector<T> values(static_cast<size_t>((*found)->tensor.count()));
  std::memcpy(values.data(), (*found)->tensor.data.data(), (*found)->tensor.data.size());
  return values;
}

TEST(RightAnswers, AnIndexOfAnEqualKeyIsAsRight) {
  const Tensor keys = floats({2, 4}, {1, 5, 5, NAN, 2, 2, 0, 1});
  EXPECT_EQ(matched<int64_t>(indices_of("x"), indices({2}, {2, 1}), indices({2}, {1, 0}), keys),
            (Indices{2, 1}));
  // Other keys, and places that no key has, stay what the reference says.
  EXPECT_EQ(matched<int64_t>(indices_of("x"), indices({2}, {0, 4}), indices({2}, {1, 0}), keys),
            (Indices{1, 0}));
  EXPECT_EQ(matched<int64_t>(indices_of("x"), indices({2}, {3, -1}), indices({2}, {3, 0}), keys),
            (Indices{3, 0}));
}

TEST(RightAnswers, TheAxisMayBeAnother) {
  const Tensor keys = floats({3, 2}, {7, 1, 7, 3, 0, 3});
  EXPECT_EQ(matched<int64_t>(indices_of("x", 0), indices({2}, {1, 2}), indices({2}, {0, 1}), keys),
            (Indices{1, 2}));
}

TEST(RightAnswers, SeveralIndicesOfALineMustDiffer) {
  const Tensor keys = floats({1, 4}, {9, 9, 9, 1});
  const Tensor expected = indices({1, 2}, {0, 1});
  EXPECT_EQ(matched<int64_t>(indices_of("x"), indices({1, 2}, {2, 0}), expected, keys),
            (Indices{2, 0}));
  EXPECT_EQ(matched<int64_t>(indices_of("x"), indices({1, 2}, {2, 2}), expected, keys),
            (Indices{0, 1}));
}

bool are_close(const Tensor& output, const Tensor& reference, const Tensor& keys) {
  Comparison comparison = legacy(output, reference);
  comparison.inputs["x"] = view_of(keys);
  return are_close_choices(comparison);
}

TEST(CloseChoices, AreThoseThatRoundingCannotTellApart) {
  const float next = std::nextafter(5.0f, 6.0f);
  const Tensor keys = floats({2, 4}, {1, 5, next, 4, 2, 2, 0, 1});
  EXPECT_TRUE(are_close(indices({2}, {1, 0}), indices({2}, {2, 0}), keys));
  EXPECT_FALSE(are_close(indices({2}, {3, 0}), indices({2}, {2, 0}), keys)) << "far apart";
  EXPECT_FALSE(are_close(indices({2}, {2, 1}), indices({2}, {2, 0}), keys)) << "equal: a tie rule";
  EXPECT_FALSE(are_close(indices({2}, {4, 0}), indices({2}, {2, 0}), keys)) << "no index";
}

TEST(CloseChoices, AreThoseWhoseProbabilitiesAreEqual) {
  const Tensor low = floats({1, 4}, {100, 3, 5, 90}), tiny = floats({1, 3}, {1e-7f, 2e-7f, 1e-3f});
  EXPECT_TRUE(are_close(indices({1, 3}, {0, 3, 1}), indices({1, 3}, {0, 3, 2}), low));
  EXPECT_FALSE(are_close(indices({1, 2}, {0, 2}), indices({1, 2}, {0, 3}), low));
  EXPECT_TRUE(are_close(indices({1, 2}, {2, 0}), indices({1, 2}, {2, 1}), tiny));
  EXPECT_FALSE(are_close(indices({1}, {1}), indices({1}, {2}), tiny));
}

TEST(CloseChoices, MoveThoseOfEqualElementsButNameNoneTwice) {
  const float next = std::nextafter(5.0f, 6.0f);
  const Tensor keys = floats({1, 4}, {5, next, next, 1});
  const Tensor expected = indices({1, 2}, {1, 2});
  EXPECT_TRUE(are_close(indices({1, 2}, {0, 1}), expected, keys));
  EXPECT_FALSE(are_close(indices({1, 2}, {2, 1}), expected, keys));
  EXPECT_FALSE(are_close(indices({1, 2}, {0, 0}), expected, keys));
}

TEST(CloseChoices, AreNoCounts) {
  const float next = std::nextafter(5.0f, 6.0f);
  const Tensor keys = floats({6}, {-9, 5, next, 5, 4, 9});
  EXPECT_FALSE(are_close(indices({2}, {2, 4}), indices({2}, {1, 4}), keys)) << "no extreme one";
  EXPECT_FALSE(are_close(indices({3}, {2, 5, 5}), indices({3}, {1, 5, 5}), keys)) << "one twice";
  EXPECT_TRUE(are_close(indices({2}, {5, 2}), indices({2}, {5, 1}), keys)) << "the largest two";
  EXPECT_TRUE(are_close(indices({2}, {0, 2}), indices({2}, {0, 1}), keys)) << "with the smallest";
}

TEST(RightAnswers, KeysThatDoNotFitTheOutputAreAnError) {
  const Tensor keys = floats({2, 4}, {1, 5, 5, 0, 2, 2, 0, 1}), output = indices({3}, {0, 0, 0});
  Comparison comparison = legacy(output, output);
  comparison.inputs["x"] = view_of(keys);
  const auto found = matched_reference(indices_of("x"), comparison);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("[3]"), std::string::npos) << found.error().message;
}

TEST(RightAnswers, ElementsWithoutAnOrderAreMatchedByTheirSize) {
  using Values = std::vector<double>;
  EXPECT_EQ(matched<double>(any_order(), doubles({2, 3}, {3, 1, 2, 0, -1, 5}),
                            doubles({2, 3}, {1, 2.5, 3, 5, 0, -1})),
            (Values{3, 1, 2.5, 0, -1, 5}));
  EXPECT_EQ(
      matched<double>(any_order(0), doubles({2, 2}, {3, 1, 2, 4}), doubles({2, 2}, {2, 4, 3, 1})),
      (Values{3, 1, 2, 4}));
  const auto with_nan =
      matched<double>(any_order(), doubles({3}, {NAN, 1, 2}), doubles({3}, {1, 2, NAN}));
  EXPECT_TRUE(std::isnan(with_nan.at(0)));
  EXPECT_EQ(with_nan[1], 1);
}

TEST(RightAnswers, LargeIntegersKeepTheirLastDigit) {
  const int64_t large = (int64_t{1} << 62) + 1;
  EXPECT_EQ(matched<int64_t>(any_order(), indices({2}, {large, large - 1}),
                             indices({2}, {large - 1, large})),
            (Indices{large, large - 1}));
}

TEST(RightAnswers, TheScaleFollowsItsElement) {
  const Tensor output = doubles({2}, {5, 1}), reference = doubles({2}, {1, 5});
  const std::vector<double> scale{0.1, 0.5};
  Comparison comparison = legacy(output, reference);
  comparison.scale = scale;
  const auto found = matched_reference(any_order(), comparison);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->scale, (std::vector<double>{0.5, 0.1}));
}

TEST(RightAnswers, OtherOutputsAndOtherShapesAreLeftAlone) {
  EXPECT_TRUE(matched<double>(TensorSpec(), doubles({2}, {1, 2}), doubles({2}, {2, 1})).empty());
  EXPECT_TRUE(matched<double>(any_order(), doubles({2}, {1, 2}), doubles({1, 2}, {2, 1})).empty());
  EXPECT_TRUE(matched<double>(any_order(), doubles({0}, {}), doubles({0}, {})).empty());
}

}  // namespace
}  // namespace gpuemu
