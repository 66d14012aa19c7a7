// The ops that inference uses, in three dtypes and called as they are declared, executed by the
// emulator at odd sizes, against float64; training_test.cc has those of training, `gpuemu test
// builtin` every op in every dtype.
#include <cmath>
#include <functional>

#include "kernels/op_fixture.h"

namespace gpuemu {
namespace {

/// The permitted error of an element, relative to the largest number that it is computed from.
double tolerance_of(DType dtype) {
  if (dtype == DType::Float16) return 0x1p-10;
  return dtype == DType::BFloat16 ? 0x1p-7 : 1e-5;
}

void expect_near(const Numbers& actual, const Numbers& expected, double largest, DType dtype) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_LE(std::abs(actual[i] - expected[i]), tolerance_of(dtype) * largest)
        << name_of(dtype) << ", element " << i << " of " << actual.size() << ": " << actual[i]
        << " instead of " << expected[i];
  }
}

struct Size {
  int64_t rows, cols;
  size_t count() const { return static_cast<size_t>(rows * cols); }
  Sizes shape() const { return {rows, cols}; }
};
constexpr Size kSizes[] = {{1, 1}, {3, 5}, {2, 31}, {7, 33}, {5, 129}, {1, 1001}};

class Kernels : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, Kernels,
                         testing::Values(DType::Float32, DType::Float16, DType::BFloat16),
                         [](const auto& item) { return std::string(name_of(item.param)); });

/// The rows of a matrix, each given to `row` to be replaced.
Numbers by_row(Numbers values, const Size& size, const std::function<void(double*, size_t)>& row) {
  const auto cols = static_cast<size_t>(size.cols);
  for (size_t at = 0; at < values.size(); at += cols) row(values.data() + at, cols);
  return values;
}

TEST_P(Kernels, VectorAddAdds) {
  for (const Size& size : kSizes) {
    OpRun op("vector_add");
    Numbers expected = op.input(GetParam(), size.shape());
    const Numbers b = op.input(GetParam(), size.shape());
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += b[i];
    op.output(GetParam(), size.shape());
    expect_near(op.run(), expected, 6, GetParam());
  }
}

TEST_P(Kernels, GeluIsThatOfTheErrorFunction) {
  for (const Size& size : kSizes) {
    OpRun op("gelu");
    Numbers expected = op.input(GetParam(), size.shape());
    for (double& x : expected) x = 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    op.output(GetParam(), size.shape());
    expect_near(op.run(), expected, 3, GetParam());
  }
}

TEST_P(Kernels, SoftmaxIsThatOfEachRow) {
  for (const Size& size : kSizes) {
    OpRun op("softmax");
    const Numbers x = op.input(GetParam(), size.shape());
    const Numbers expected = by_row(x, size, [](double* row, size_t cols) {
      double sum = 0;
      for (size_t i = 0; i < cols; ++i) sum += std::exp(row[i]);
      for (size_t i = 0; i < cols; ++i) row[i] = std::exp(row[i]) / sum;
    });
    op.output(GetParam(), size.shape());
    // Every element of a long row is small: relative to 1 nothing would be wrong.
    const Numbers actual = op.run();
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], 2 * tolerance_of(GetParam()) * expected[i] + 1e-7) << i;
    }
  }
}

TEST_P(Kernels, ReduceSumSumsEachRow) {
  for (const Size& size : kSizes) {
    OpRun op("reduce_sum");
    const Numbers x = op.input(GetParam(), size.shape());
    Numbers expected(static_cast<size_t>(size.rows));
    for (size_t i = 0; i < x.size(); ++i) expected[i / static_cast<size_t>(size.cols)] += x[i];
    op.output(GetParam(), {size.rows});
    expect_near(op.run(), expected, 3.0 * static_cast<double>(size.cols), GetParam());
  }
}

TEST_P(Kernels, LayernormNormalisesEachRow) {
  for (const Size& size : kSizes) {
    OpRun op("layernorm");
    const Numbers x = op.input(GetParam(), size.shape());
    const Numbers weight = op.input(GetParam(), {size.cols}),
                  bias = op.input(GetParam(), {size.cols});
    const Numbers expected = by_row(x, size, [&](double* row, size_t cols) {
      double mean = 0, variance = 0;
      for (size_t i = 0; i < cols; ++i) mean += row[i] / static_cast<double>(cols);
      for (size_t i = 0; i < cols; ++i) {
        variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(cols);
      }
      for (size_t i = 0; i < cols; ++i) {
        row[i] = (row[i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i];
      }
    });
    op.output(GetParam(), size.shape());
    expect_near(op.run(), expected, 12, GetParam());
  }
}

Numbers rmsnorm(const Numbers& x, const Numbers& weight, const Size& size, double eps) {
  return by_row(x, size, [&](double* row, size_t cols) {
    double square = 0;
    for (size_t i = 0; i < cols; ++i) square += row[i] * row[i] / static_cast<double>(cols);
    for (size_t i = 0; i < cols; ++i) row[i] = row[i] / std::sqrt(square + eps) * weight[i];
  });
}

TEST_P(Kernels, RmsnormScalesEachRow) {
  for (const Size& size : kSizes) {
    OpRun op("rmsnorm");
    const Numbers x = op.input(GetParam(), size.shape());
    const Numbers weight = op.input(GetParam(), {size.cols});
    op.output(GetParam(), size.shape());
    expect_near(op.run(), rmsnorm(x, weight, size, 1e-5), 12, GetParam());
  }
}

TEST_P(Kernels, AnAttributeReachesTheKernel) {
  OpRun op("rmsnorm");
  const Size size{3, 5};
  const Numbers x = op.input(GetParam(), size.shape());
  const Numbers weight = op.input(GetParam(), {size.cols});
  op.output(GetParam(), size.shape());
  op.attribute(4.0F);
  expect_near(op.run(), rmsnorm(x, weight, size, 4), 12, GetParam());
}

/// rmsnorm in float64 of one row that eps decides, with these attributes.
double rmsnorm_of_one(const std::vector<float>& version_1, const std::vector<double>& version_2) {
  OpRun op("rmsnorm");
  for (const float value : version_1) op.attribute(value);
  for (const double value : version_2) op.attribute(value);
  op.input(DType::Float64, {1, 1}, {0.5});
  op.input(DType::Float64, {1}, {1.0});
  op.output(DType::Float64, {1, 1});
  return op.run()[0];
}

TEST(KernelAttributes, OfFloat64AreExactByDefaultAndWhereTheyAreGivenSo) {
  const auto expected = [](double eps) { return 0.5 / std::sqrt(0.25 + eps); };
  EXPECT_DOUBLE_EQ(rmsnorm_of_one({}, {}), expected(1e-5));
  EXPECT_DOUBLE_EQ(rmsnorm_of_one({0.1F}, {}), expected(static_cast<double>(0.1F)));
  EXPECT_DOUBLE_EQ(rmsnorm_of_one({0.1F}, {0.0}), expected(static_cast<double>(0.1F)));
  EXPECT_DOUBLE_EQ(rmsnorm_of_one({0.1F}, {0.1}), expected(0.1));
}

TEST_P(Kernels, TransposeExchangesTheAxes) {
  for (const Size& size : kSizes) {
    OpRun op("transpose");
    const Numbers x = op.input(GetParam(), size.shape());
    const auto rows = static_cast<size_t>(size.rows), cols = static_cast<size_t>(size.cols);
    Numbers expected(x.size());
    for (size_t i = 0; i < x.size(); ++i) expected[i % cols * rows + i / cols] = x[i];
    op.output(GetParam(), {size.cols, size.rows});
    expect_near(op.run(), expected, 0, GetParam());
  }
}

TEST_P(Kernels, MatmulMultiplies) {
  for (const int64_t k : {1, 15, 16, 17, 50}) {
    const int64_t m = 19, n = 33;
    OpRun op("matmul");
    const Numbers a = op.input(GetParam(), {m, k}), b = op.input(GetParam(), {k, n});
    Numbers expected;
    for (size_t i = 0; i < size_t{m * n}; ++i) {
      double sum = 0;
      for (size_t j = 0; j < static_cast<size_t>(k); ++j) {
        sum += a[i / n * static_cast<size_t>(k) + j] * b[j * n + i % n];
      }
      expected.push_back(sum);
    }
    op.output(GetParam(), {m, n});
    expect_near(op.run(), expected, 9.0 * static_cast<double>(k), GetParam());
  }
}

}  // namespace
}  // namespace gpuemu
