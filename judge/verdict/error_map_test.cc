#include "judge/verdict/error_map.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "common/numeric/element.h"
#include "judge/bounds/comparison.h"

namespace gpuemu {
namespace {

Tensor tensor_of(const Shape& shape, const std::vector<double>& values) {
  Tensor tensor = make_tensor(DType::Float32, shape);
  narrow_from_double(DType::Float32, values, tensor.data);
  return tensor;
}

ErrorMap map_of(const Tensor& output, const Tensor& reference) {
  Comparison comparison;
  comparison.output_name = "y";
  comparison.output = view_of(output);
  comparison.reference = view_of(reference);
  return map_errors(comparison);
}

TEST(ErrorMap, HasOneCellPerElementWhereTheyFit) {
  const Tensor output = tensor_of({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor reference = tensor_of({2, 3}, {1, 2, 2.5, 4, 5, 6});
  const ErrorMap map = map_of(output, reference);
  EXPECT_EQ(map.rows, 2u);
  EXPECT_EQ(map.columns, 3u);
  EXPECT_EQ(map.cells, (std::vector<double>{0, 0, 0.5, 0, 0, 0}));
  EXPECT_EQ(map.distribution.at("0"), 5u);
  EXPECT_EQ(map.distribution.at("1e-01"), 1u);
}

TEST(ErrorMap, KeepsTheLargestErrorOfElementsThatShareACell) {
  std::vector<double> zeros(96 * 100, 0), wrong = zeros;
  wrong[95 * 100 + 99] = 8;  // The last element: the last cell.
  wrong[95 * 100 + 98] = 2;
  const ErrorMap map = map_of(tensor_of({96, 100}, wrong), tensor_of({96, 100}, zeros));
  EXPECT_EQ(map.cells.size(), 48u * 48u);
  EXPECT_EQ(map.cells.back(), 8);
  EXPECT_EQ(std::count(map.cells.begin(), map.cells.end(), 0.0), 48 * 48 - 1);
}

TEST(ErrorMap, CountsNonFiniteValuesThatDifferAsInfinite) {
  const double inf = std::numeric_limits<double>::infinity();
  const ErrorMap map =
      map_of(tensor_of({4}, {inf, NAN, NAN, -inf}), tensor_of({4}, {inf, NAN, 1, inf}));
  EXPECT_EQ(map.cells, (std::vector<double>{0, 0, inf, inf}));
  EXPECT_EQ(map.distribution.at("not finite"), 2u);
}

TEST(ErrorMap, HasNoCellsForShapesThatDifferAndForNothing) {
  EXPECT_TRUE(map_of(tensor_of({2}, {1, 2}), tensor_of({1}, {1})).cells.empty());
  EXPECT_TRUE(map_of(tensor_of({0, 3}, {}), tensor_of({0, 3}, {})).cells.empty());
}

}  // namespace
}  // namespace gpuemu
