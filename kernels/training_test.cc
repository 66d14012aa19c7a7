// The ops of a training step, called as they are declared, against sums in float64.
#include <cmath>

#include "kernels/op_fixture.h"

namespace gpuemu {
namespace {

constexpr DType kF32 = DType::Float32;

void expect_near(const Numbers& actual, const Numbers& expected, double allowed) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], allowed) << "element " << i;
  }
}

/// Row-major, `a` m x k and `b` k x n, each stored transposed where asked.
struct Product {
  int64_t m, n, k;
  bool trans_a, trans_b;

  Numbers of(const Numbers& a, const Numbers& b) const {
    Numbers c(static_cast<size_t>(m * n));
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t col = 0; col < n; ++col) {
        double& sum = c[static_cast<size_t>(row * n + col)];
        for (int64_t i = 0; i < k; ++i) {
          sum += a[static_cast<size_t>(trans_a ? i * m + row : row * k + i)] *
                 b[static_cast<size_t>(trans_b ? col * k + i : i * n + col)];
        }
      }
    }
    return c;
  }
};

class Gemm : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Variants, Gemm, testing::Values("naive", "tiled", "mma"),
                         [](const auto& item) { return std::string(item.param); });

TEST_P(Gemm, MultipliesInEveryOrientationAtSizesThatNoTileDivides) {
  const bool tensor_cores = std::string(GetParam()) == "mma";
  const DType dtype = tensor_cores ? DType::Float16 : kF32;
  for (const int turned : {0, 1, 2, 3}) {
    const Product product{67, 33, 21, (turned & 1) != 0, (turned & 2) != 0};
    OpRun op("gemm", GetParam());
    op.attribute<int32_t>(turned & 1);
    op.attribute<int32_t>(turned / 2);
    const Sizes left = product.trans_a ? Sizes{21, 67} : Sizes{67, 21};
    const Sizes right = product.trans_b ? Sizes{33, 21} : Sizes{21, 33};
    const Numbers a = op.input(dtype, left), b = op.input(dtype, right);
    op.output(dtype, {67, 33});
    expect_near(op.run(), product.of(a, b), tensor_cores ? 0.1 : 1e-4);
  }
}

/// Sums the rows of a dy of m rows and n columns that all hold `value`, by the entry alone: the
/// products of so many rows would take the emulator minutes.
Numbers bias_gradient(int32_t m, int32_t n, float value) {
  const auto device = *open_device({.backend = "emulator", .threads = 1});
  const std::vector<float> dy(static_cast<size_t>(m) * static_cast<size_t>(n), value);
  std::vector<float> dbias(static_cast<size_t>(n));
  const uint64_t from = *device->allocate(dy.size() * 4, "dy");
  const uint64_t to = *device->allocate(dbias.size() * 4, "dbias");
  EXPECT_TRUE(device->upload(from, std::as_bytes(std::span(dy))));
  LaunchConfig config;
  config.entry = "linear_bwd_dbias_float32";
  config.grid = {blocks_for(n, 32), 1, 1};
  config.block = {256, 1, 1};
  LaunchStep step;
  step.arg(from).arg(to).arg(m).arg(n);
  for (size_t i = 0; i < step.arg_count(); ++i) {
    config.args.emplace_back(step.argument(i).begin(), step.argument(i).end());
  }
  const std::string ptx = find_builtin("linear_bwd")->ptx();
  const auto report = device->launch(*device->load_module(ptx, "linear_bwd"), config);
  EXPECT_TRUE(report) << report.error().message;
  for (const DeviceFinding& finding : report->findings) ADD_FAILURE() << finding.message;
  EXPECT_TRUE(device->download(std::as_writable_bytes(std::span(dbias)), to));
  return {dbias.begin(), dbias.end()};
}

TEST(LinearBackward, SumsManyRowsAsExactlyAsFew) {
  for (const int32_t n : {1, 3}) {
    const int32_t m = 1 << 16;
    const double expected = m * static_cast<double>(0.1F);  // One float sum would be 0.1 % off.
    for (const double one : bias_gradient(m, n, 0.1F)) EXPECT_NEAR(one, expected, 1e-6 * expected);
  }
  for (const int32_t n : {2, 31, 32, 33, 100}) {
    for (const double one : bias_gradient(77, n, 2)) EXPECT_EQ(one, 154) << n << " columns";
  }
}

TEST(LinearBackward, GivesTheGradientsOfInputWeightAndBias) {
  const int64_t m = 5, n = 7, k = 66;
  OpRun op("linear_bwd");
  const Numbers x = op.input(kF32, {m, k}), w = op.input(kF32, {n, k}), dy = op.input(kF32, {m, n});
  for (const Sizes& shape : {Sizes{m, k}, Sizes{n, k}, Sizes{n}}) op.output(kF32, shape);
  expect_near(op.run(), Product{m, k, n, false, false}.of(dy, w), 1e-4);
  expect_near(op.result(1), Product{n, k, m, true, false}.of(dy, x), 1e-4);
  const Numbers ones(static_cast<size_t>(m), 1.0);
  expect_near(op.result(2), Product{1, n, m, false, false}.of(ones, dy), 1e-4);
}

TEST(Arithmetic, RepeatsAxesOfSizeOne) {
  OpRun op("sub");
  const Numbers a = op.input(kF32, {3, 1, 5}), b = op.input(kF32, {4, 1});
  op.output(kF32, {3, 4, 5});
  Numbers expected;
  for (size_t i = 0; i < 60; ++i) expected.push_back(a[i / 20 * 5 + i % 5] - b[i / 5 % 4]);
  expect_near(op.run(), expected, 1e-6);
}

TEST(Arithmetic, WrapsIntegers) {
  OpRun op("mul");
  op.input(DType::Int32, {2}, {2147483647, -3});
  op.input(DType::Int32, {2}, {2, 5});
  op.output(DType::Int32, {2});
  EXPECT_EQ(op.run(), (Numbers{-2, -15}));
}

TEST(Cast, SaturatesWhatAnIntegerCannotHold) {
  OpRun op("cast");
  op.input(kF32, {6}, {1e9, -1e9, 127.9, -1.5, NAN, -INFINITY});
  op.output(DType::Int8, {6});
  EXPECT_EQ(op.run(), (Numbers{127, -128, 127, -1, 0, -128}));
}

TEST(Cast, RoundsLargeIntegersOnce) {
  // Halfway between two bfloat16 numbers, and one above: through float64 it would become a tie.
  OpRun op("cast");
  op.input(DType::Int64, {1}, {0x1p60 + 0x1p52 + 0x1p8});
  op.output(DType::BFloat16, {1});
  EXPECT_EQ(op.run(), (Numbers{0x1p60 + 0x1p53}));
}

TEST(MeanSquare, AddsThePartsOfAllBlocks) {
  OpRun op("mse");
  const Numbers x = op.input(kF32, {5, 701}), target = op.input(kF32, {5, 701});
  op.output(kF32, {});
  double expected = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    expected += (x[i] - target[i]) * (x[i] - target[i]) / static_cast<double>(x.size());
  }
  expect_near(op.run(), {expected}, 1e-5);
}

TEST(CrossEntropy, LeavesOutRowsWhoseTargetIsNoColumn) {
  for (const DType index : {DType::Int32, DType::Int64}) {
    OpRun op("cross_entropy");
    const Numbers x = op.input(kF32, {3, 4});
    op.input(index, {3}, {1, 4, -1});
    op.output(kF32, {3});
    double sum = 0;
    for (size_t i = 0; i < 4; ++i) sum += std::exp(x[i]);
    expect_near(op.run(), {std::log(sum) - x[1], 0, 0}, 1e-5);
  }
}

TEST(Optimizers, ReadTheRateFromDeviceMemory) {
  OpRun op("sgd_step");
  op.attribute(0.5F);
  op.attribute(0.0F);
  for (const double value : {8.0, 1.0, 4.0, 0.25}) op.input(kF32, {1}, {value});
  op.output(kF32, {1});
  op.output(kF32, {1});
  EXPECT_EQ(op.run(), (Numbers{8 - 0.25 * 3}));
  EXPECT_EQ(op.result(1), (Numbers{3}));
}

TEST(Optimizers, AdamKeepsFloatMomentsOfHalfParameters) {
  OpRun op("adam_step");
  for (const float value : {0.5F, 0.75F, 0.0F, 0.0F}) op.attribute(value);
  op.input(DType::Float16, {1}, {8});
  op.input(DType::Float16, {1}, {2});
  op.input(kF32, {1}, {2});
  op.input(kF32, {1}, {4});
  op.input(kF32, {3}, {0.5, 2, 0.25});
  op.output(DType::Float16, {1});
  op.output(kF32, {1});
  op.output(kF32, {1});
  EXPECT_EQ(op.run(), (Numbers{8 - 0.5 * (2 * 2 / std::sqrt(4 * 0.25))}));
  EXPECT_EQ(op.result(1), (Numbers{2}));
  EXPECT_EQ(op.result(2), (Numbers{4}));
}

TEST(Optimizers, TakeExactNumbersForFloat64) {
  constexpr DType kF64 = DType::Float64;
  OpRun op("sgd_step");
  for (const float value : {0.1F, 0.0F}) op.attribute(value);
  for (const double value : {0.1, 0.0}) op.attribute(value);
  for (const double value : {8.0, 0.0, 1.0}) op.input(kF64, {1}, {value});
  op.input(kF32, {1}, {1.0});
  op.output(kF64, {1});
  op.output(kF64, {1});
  EXPECT_EQ(op.run(), (Numbers{8 - 0.1}));
  EXPECT_EQ(op.result(1), (Numbers{0.1}));
}

TEST(Optimizers, AdamHasTheDefaultsAsFloat64) {
  constexpr DType kF64 = DType::Float64;
  OpRun op("adam_step");
  for (const double value : {8.0, 0.0, 1.0, 1.0}) op.input(kF64, {1}, {value});
  op.input(kF32, {3}, {1, 1, 1});
  for (int i = 0; i < 3; ++i) op.output(kF64, {1});
  op.run();
  EXPECT_EQ(op.result(1), (Numbers{0.9}));
  EXPECT_EQ(op.result(2), (Numbers{0.999}));
}

}  // namespace
}  // namespace gpuemu
