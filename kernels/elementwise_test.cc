// Ops of one element each, and copies, called as they are declared, against the host's mathematics.
#include <cmath>
#include <limits>
#include <string>

#include "kernels/op_fixture.h"

namespace gpuemu {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

const std::vector<DType>& floats() {
  static const std::vector<DType> kAll = {DType::Float32, DType::Float16, DType::BFloat16,
                                          DType::Float64};
  return kAll;
}

/// Sizes: no element, one element, and sizes not divisible by a 16-byte packet, block or grid.
const std::vector<Sizes>& shapes() {
  static const std::vector<Sizes> kAll = {{0}, {1}, {7}, {257}, {2, 0, 3}, {3, 5, 67}, {4099}};
  return kAll;
}

/// Returns the value rounded to the dtype.
double rounded(DType dtype, double value) {
  Numbers one = {value};
  std::vector<std::byte> bytes(byte_size(dtype));
  narrow_from_double(dtype, one, bytes);
  widen_to_double(dtype, bytes, one);
  return one[0];
}

double relative_error(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return 0x1p-10;
    case DType::BFloat16:
      return 0x1p-7;
    case DType::Float64:
      return 0x1p-46;
    default:
      return 0x1p-20;
  }
}

void expect_same(DType dtype, const Numbers& actual, const Numbers& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const double wanted = rounded(dtype, expected[i]);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(actual[i])) << "element " << i << " is " << actual[i];
    } else if (std::isinf(wanted)) {
      ASSERT_EQ(actual[i], wanted) << "element " << i;
    } else {
      const double allowed = relative_error(dtype) * std::max(std::abs(wanted), 0x1p-6);
      ASSERT_NEAR(actual[i], wanted, allowed) << "element " << i;
    }
  }
}

struct Unary {
  const char* op;
  double (*truth)(double x);
};

double relu(double x) { return x > 0 || std::isnan(x) ? x : 0; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x == -kInfinite ? kNan : x * sigmoid(x); }

constexpr Unary kUnary[] = {
    {"relu", relu}, {"sigmoid", sigmoid}, {"silu", silu}, {"tanh", std::tanh}};

TEST(Elementwise, OfOneTensorAreWhatTheHostComputes) {
  for (const Unary& one : kUnary) {
    for (const DType dtype : floats()) {
      for (const Sizes& shape : shapes()) {
        SCOPED_TRACE(fmt::format("{} {} of {} axes", one.op, name_of(dtype), shape.size()));
        OpRun op(one.op);
        Numbers expected = op.input(dtype, shape);
        op.output(dtype, shape);
        for (double& value : expected) value = one.truth(value);
        expect_same(dtype, op.run(), expected);
      }
    }
  }
}

TEST(Elementwise, OfOneTensorAreRightAtTheirEdges) {
  const Numbers edges = {0.0, -0.0, kNan, kInfinite, 60, -60, 1e-4, -1e-4, 5000, -5000};
  for (const Unary& one : kUnary) {
    for (const DType dtype : floats()) {
      SCOPED_TRACE(fmt::format("{} {}", one.op, name_of(dtype)));
      OpRun op(one.op);
      Numbers expected = op.input(dtype, {10}, edges);
      op.output(dtype, {10});
      for (double& value : expected) value = one.truth(value);
      expect_same(dtype, op.run(), expected);
    }
  }
}

struct Binary {
  const char* op;
  double (*truth)(double a, double b);
};
constexpr Binary kBinary[] = {{"vector_add", [](double a, double b) { return a + b; }},
                              {"add", [](double a, double b) { return a + b; }},
                              {"sub", [](double a, double b) { return a - b; }},
                              {"mul", [](double a, double b) { return a * b; }},
                              {"div", [](double a, double b) { return a / b; }},
                              {"relu_bwd", [](double x, double dy) { return x > 0 ? dy : 0; }}};

TEST(Elementwise, OfTwoTensorsAreWhatTheHostComputes) {
  for (const Binary& one : kBinary) {
    for (const DType dtype : floats()) {
      for (const Sizes& shape : shapes()) {
        SCOPED_TRACE(fmt::format("{} {} of {} axes", one.op, name_of(dtype), shape.size()));
        OpRun op(one.op);
        Numbers expected = op.input(dtype, shape);
        const Numbers b = op.input(dtype, shape);
        op.output(dtype, shape);
        for (size_t i = 0; i < b.size(); ++i) expected[i] = one.truth(expected[i], b[i]);
        expect_same(dtype, op.run(), expected);
      }
    }
  }
}

TEST(Elementwise, BroadcastAxesOfSizeOneAndStrideNothing) {
  for (const DType dtype : floats()) {
    SCOPED_TRACE(name_of(dtype));
    OpRun op("div");
    const Numbers a = op.strided_input(dtype, {3, 1, 4, 5}, {40, 40, 5, 1});
    const Numbers b = op.strided_input(dtype, {6, 1, 5}, {0, 9, 2});
    op.output(dtype, {3, 6, 4, 5});
    Numbers expected;
    for (size_t i = 0; i < 3 * 6 * 4 * 5; ++i) {
      const size_t w = i % 5, v = i / 5 % 4, u = i / 20 % 6, t = i / 120;
      expected.push_back(a[(t * 4 + v) * 5 + w] / b[u * 5 + w]);
    }
    expect_same(dtype, op.run(), expected);
  }
}

TEST(BiasAdd, AddsOneNumberPerColumn) {
  for (const DType dtype : floats()) {
    for (const Sizes& shape : {Sizes{1, 1}, Sizes{5, 3, 67}, Sizes{257}, Sizes{0, 4}}) {
      SCOPED_TRACE(fmt::format("{} of {} axes", name_of(dtype), shape.size()));
      OpRun op("bias_add");
      Numbers expected = op.input(dtype, shape);
      const Numbers bias = op.input(dtype, {shape.back()});
      op.output(dtype, shape);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += bias[i % bias.size()];
      expect_same(dtype, op.run(), expected);
    }
  }
}

/// Returns the threads of a block in each launch of an op on one or two inputs of this shape.
std::vector<uint32_t> threads_of(const std::string& name, size_t inputs, const Sizes& shape) {
  OpRun op(name);
  for (size_t i = 0; i < inputs; ++i) op.input(DType::Float32, shape);
  op.output(DType::Float32, name == "mse" ? Sizes() : shape);
  op.run();
  return op.block_threads();
}

TEST(BlocksOfSmallTensors, HaveNoWarpWithoutWork) {
  const std::vector<std::pair<int64_t, uint32_t>> packets = {{0, 32},   {1, 32},     {128, 32},
                                                             {129, 64}, {1000, 256}, {5000, 256}};
  for (const auto& [count, threads] : packets) {
    EXPECT_EQ(threads_of("relu", 1, {count}), std::vector{threads}) << count;
  }
  EXPECT_EQ(threads_of("mse", 2, {33}), (std::vector<uint32_t>{64, 32}));
  EXPECT_EQ(threads_of("mse", 2, {3000}), (std::vector<uint32_t>{256, 32}));
  OpRun bias("bias_add");
  bias.input(DType::Float32, {3, 140});
  bias.input(DType::Float32, {140});
  bias.output(DType::Float32, {3, 140});
  bias.run();
  EXPECT_EQ(bias.block_threads(), std::vector<uint32_t>{64});
  for (const auto& [m, n, threads] :
       {std::tuple<int64_t, int64_t, uint32_t>{4, 8, 32}, {1, 1, 1}, {5, 40, 128}}) {
    OpRun gemm("gemm", "small");
    gemm.input(DType::Float32, {m, 3});
    gemm.input(DType::Float32, {3, n});
    gemm.output(DType::Float32, {m, n});
    gemm.run();
    EXPECT_EQ(gemm.block_threads(), std::vector{threads}) << m << " x " << n;
  }
}

TEST(MeanSquareGradient, IsTwiceTheDifferenceByTheirNumber) {
  for (const DType dtype : floats()) {
    OpRun op("mse_grad");
    Numbers expected = op.input(dtype, {7, 37});
    const Numbers target = op.input(dtype, {7, 37});
    op.output(dtype, {7, 37});
    const auto count = static_cast<double>(target.size());
    for (size_t i = 0; i < target.size(); ++i) expected[i] = 2 * (expected[i] - target[i]) / count;
    expect_same(dtype, op.run(), expected);
  }
}

TEST(CrossEntropyGradient, IsZeroInRowsWhoseTargetIsNoColumn) {
  constexpr int64_t kRows = 4, kColumns = 33;
  for (const DType dtype : floats()) {
    SCOPED_TRACE(name_of(dtype));
    OpRun op("cross_entropy_grad");
    Numbers x = op.input(dtype, {kRows, kColumns});
    const Numbers target = op.input(DType::Int32, {kRows}, {0, 32, -1, 33});
    const Numbers dloss = op.input(dtype, {kRows});
    op.output(dtype, {kRows, kColumns});
    for (size_t row = 0; row < kRows; ++row) {
      double* const values = &x[row * kColumns];
      double sum = 0;
      for (size_t i = 0; i < kColumns; ++i) sum += std::exp(values[i]);
      const bool counts = target[row] >= 0 && target[row] < kColumns;
      for (size_t i = 0; i < kColumns; ++i) {
        const double hot = static_cast<double>(i) == target[row] ? 1 : 0;
        values[i] = counts ? (std::exp(values[i]) / sum - hot) * dloss[row] : 0;
      }
    }
    expect_same(dtype, op.run(), x);
  }
}

struct Strided {
  Sizes shape, from, to;
};

TEST(Copy, TakesAnyStridesOnBothSides) {
  const Strided cases[] = {{{}, {}, {}},
                           {{257}, {3}, {2}},
                           {{6, 35}, {1, 6}, {35, 1}},
                           {{5, 7}, {0, 1}, {1, 5}},
                           {{3, 4, 5}, {1, 15, 3}, {40, 10, 2}},
                           {{2, 3, 4, 5}, {60, 20, 1, 4}, {1, 2, 6, 24}},
                           {{2, 0, 4}, {4, 4, 1}, {4, 4, 1}},
                           {{1, 1, 1, 1}, {9, 8, 7, 6}, {6, 7, 8, 9}}};
  for (const DType dtype : {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64,
                            DType::Int8, DType::UInt16, DType::Int64}) {
    for (const Strided& one : cases) {
      SCOPED_TRACE(fmt::format("{} of {} axes", name_of(dtype), one.shape.size()));
      OpRun op("copy");
      const Numbers expected = op.strided_input(dtype, one.shape, one.from);
      op.strided_output(dtype, one.shape, one.to);
      EXPECT_EQ(op.run(), expected);
    }
  }
}

TEST(CopySaved, KeepsEveryElementOfEveryDtype) {
  for (const DType dtype : {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64,
                            DType::Int8, DType::Int16, DType::UInt32, DType::UInt64}) {
    for (const Sizes& shape : shapes()) {
      SCOPED_TRACE(fmt::format("{} of {} axes", name_of(dtype), shape.size()));
      OpRun op("copy_saved");
      const Numbers expected = op.input(dtype, shape);
      op.output(dtype, shape);
      EXPECT_EQ(op.run(), expected);
    }
  }
}

}  // namespace
}  // namespace gpuemu
