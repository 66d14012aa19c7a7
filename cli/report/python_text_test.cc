// Tests how tensors are written for Python.
#include "cli/report/python_text.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "common/numeric/element.h"

namespace gpuemu::cli {
namespace {

Tensor tensor_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor tensor = make_tensor(dtype, shape);
  narrow_from_double(dtype, values, tensor.data);
  return tensor;
}

TEST(PythonLine, OfASmallTensorHasEveryElement) {
  EXPECT_EQ(python_line("x", tensor_of(DType::Float32, {2, 2}, {0.1, -2, NAN, -INFINITY})),
            "x = numpy.array([[0.1, -2.0], [numpy.nan, -numpy.inf]], 'float32')");
  EXPECT_EQ(python_line("n", tensor_of(DType::Int64, {}, {-7})), "n = numpy.array(-7, 'int64')");
  EXPECT_EQ(python_line("b", tensor_of(DType::Bool, {2}, {1, 0})),
            "b = numpy.array([True, False], 'bool')");
  EXPECT_EQ(python_line("h", tensor_of(DType::BFloat16, {1}, {0.5})),
            "h = numpy.array([0.5], 'float32')");
}

TEST(PythonLine, OfALargeOneHasWhatDiffers) {
  std::vector<double> values(200, 0.0);
  EXPECT_EQ(python_line("x", tensor_of(DType::Float16, {200}, values)),
            "x = numpy.zeros((200,), 'float16')");
  values[105] = 1e4;
  EXPECT_EQ(python_line("x", tensor_of(DType::Float64, {2, 100}, values)),
            "x = numpy.zeros((2, 100), 'float64'); x[1, 5] = 10000.0");
  EXPECT_EQ(python_line("x", tensor_of(DType::Int32, {100}, std::vector<double>(100, 3))),
            "x = numpy.full((100,), 3, 'int32')");
}

TEST(PythonLine, OfATensorWithManyValuesIsNone) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(i);
  EXPECT_EQ(python_line("x", tensor_of(DType::Float32, {100}, values)), "");
  EXPECT_EQ(python_line("x", tensor_of(DType::Float32, {0}, {})),
            "x = numpy.zeros((0,), 'float32')");
}

}  // namespace
}  // namespace gpuemu::cli
