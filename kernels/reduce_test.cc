// Reductions along any axis of any rank, and the gradients of layernorm, called as they are
// declared and executed by the emulator, against float64.
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/op_fixture.h"

namespace gpuemu {
namespace {

constexpr DType kF32 = DType::Float32;

struct Reduction {
  const char* op;
  double empty;  ///< The result of no elements.
  std::function<double(double, double)> fold;
};
const Reduction kSum{"reduce_sum", 0, [](double a, double b) { return a + b; }};
const Reduction kMax{"reduce_max", -std::numeric_limits<double>::infinity(),
                     [](double a, double b) { return std::max(a, b); }};

/// Along the axis of a tensor that is outer x length x inner around it.
Numbers folded(const Reduction& reduction, const Numbers& x, const Sizes& shape, size_t axis) {
  size_t inner = 1, outer = 1;
  const auto length = static_cast<size_t>(shape[axis]);
  for (size_t i = 0; i < axis; ++i) outer *= static_cast<size_t>(shape[i]);
  for (size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<size_t>(shape[i]);
  Numbers y(outer * inner, reduction.empty);
  for (size_t i = 0; i < x.size(); ++i) {
    double& to = y[i / (length * inner) * inner + i % inner];
    to = reduction.fold(to, x[i]);
  }
  return y;
}

Sizes without(Sizes shape, size_t axis) {
  shape.erase(shape.begin() + static_cast<int64_t>(axis));
  return shape;
}

void expect_near(const Numbers& actual, const Numbers& expected, double allowed) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i]) continue;
    ASSERT_NEAR(actual[i], expected[i], allowed) << "element " << i;
  }
}

TEST(Reduce, FoldsEveryAxisOfTensorsOfOneToFiveAxes) {
  for (const Sizes& shape : {Sizes{37}, {3, 70}, {2, 5, 33}, {3, 1, 4, 5}, {2, 3, 2, 2, 9}}) {
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      for (const Reduction* reduction : {&kSum, &kMax}) {
        OpRun op(reduction->op);
        op.attribute(static_cast<int32_t>(axis));
        const Numbers x = op.input(kF32, shape);
        op.output(kF32, without(shape, axis));
        expect_near(op.run(), folded(*reduction, x, shape, axis), 1e-4);
      }
    }
  }
}

TEST(Reduce, CountsANegativeAxisFromTheEndAndMayKeepTheAxis) {
  OpRun op("reduce_sum");
  op.attribute<int32_t>(-2);
  const Numbers x = op.input(kF32, {4, 5, 6});
  op.output(kF32, {4, 1, 6});
  expect_near(op.run(), folded(kSum, x, {4, 5, 6}, 1), 1e-5);
}

TEST(Reduce, CutsALongAxisWhereItAloneHasTheWork) {
  const std::pair<Sizes, size_t> cases[] = {{{1, 40003}, 1}, {{2, 1031, 3}, 1}, {{2100, 8}, 0}};
  for (const auto& [shape, axis] : cases) {
    for (const Reduction* reduction : {&kSum, &kMax}) {
      OpRun op(reduction->op, "two_steps");
      op.attribute(static_cast<int32_t>(axis));
      const Numbers x = op.input(kF32, shape);
      op.output(kF32, without(shape, axis));
      expect_near(op.run(), folded(*reduction, x, shape, axis), 0.01);
    }
  }
}

TEST(Reduce, GivesTheIdentityOfNoElementsAndNothingForNoRows) {
  for (const auto& [op_name, of_none] :
       {std::pair{"reduce_sum", 0.0}, {"reduce_max", kMax.empty}, {"reduce_mean", std::nan("")}}) {
    for (const Sizes& shape : {Sizes{3, 0}, {2, 0, 3}}) {
      OpRun op(op_name);
      op.attribute<int32_t>(1);
      op.input(kF32, shape);
      op.output(kF32, without(shape, 1));
      for (const double y : op.run()) {
        EXPECT_TRUE(std::isnan(of_none) ? std::isnan(y) : y == of_none) << op_name << ": " << y;
      }
    }
    OpRun nothing(op_name);
    nothing.input(kF32, {0, 7});
    nothing.output(kF32, {0});
    EXPECT_TRUE(nothing.run().empty());
  }
}

TEST(Reduce, KeepsANanThatAMaximumMeets) {
  for (const size_t at : {0, 17, 1499}) {
    OpRun op("reduce_max");
    Numbers x(1500, 2.0);
    x[at] = std::nan("");
    op.input(DType::Float16, {1, 1500}, x);
    op.output(DType::Float16, {1});
    EXPECT_TRUE(std::isnan(op.run()[0])) << at;
  }
}

/// Returns the message of check_case for a call whose tensors need no memory.
std::string refused(const std::string& name, const Sizes& in, const Sizes& out, int32_t axis) {
  const OpKind* op = nullptr;
  for (const OpKind* one : builtin_ops()) op = one->name == name ? one : op;
  const Sizes strides(8, 1);
  const std::vector<DeviceTensor> inputs = {{0, kF32, in, std::span(strides).first(in.size())}};
  const std::vector<DeviceTensor> outputs = {{0, kF32, out, std::span(strides).first(out.size())}};
  const Attributes attributes(op->schema, std::as_bytes(std::span(&axis, 1)));
  const auto types = check_case({*op, inputs, outputs, attributes, DeviceProperties{}});
  return types ? "" : types.error().message;
}

TEST(Reduce, RefusesAnAxisThatThereIsNotAndAnOutputOfAnotherShape) {
  EXPECT_EQ(refused("reduce_max", {0, 4}, {0}, 2), "axis is 2, expected -2 to 1: x is [0, 4]");
  EXPECT_EQ(refused("reduce_max", {0, 4}, {0}, -3), "axis is -3, expected -2 to 1: x is [0, 4]");
  EXPECT_EQ(refused("reduce_sum", {0, 4}, {0, 4}, 1),
            "y is [0, 4], expected [0] or [0, 1]: x, [0, 4], without its axis 1");
}

struct LayernormCase {
  int64_t rows, cols;
  double eps;
};

/// dx, dweight and dbias, one after another.
Numbers layernorm_gradients(const LayernormCase& c, const Numbers& x, const Numbers& weight,
                            const Numbers& dy) {
  const auto cols = static_cast<size_t>(c.cols);
  Numbers dx(x.size()), sums(2 * cols);
  for (size_t begin = 0; begin < x.size(); begin += cols) {
    const auto mean = [&](const std::function<double(size_t)>& of) {
      double sum = 0;
      for (size_t i = 0; i < cols; ++i) sum += of(i);
      return sum / static_cast<double>(cols);
    };
    const double middle = mean([&](size_t i) { return x[begin + i]; });
    const double variance = mean([&](size_t i) { return std::pow(x[begin + i] - middle, 2); });
    const double scale = 1 / std::sqrt(variance + c.eps);
    const auto h = [&](size_t i) { return (x[begin + i] - middle) * scale; };
    const auto g = [&](size_t i) { return dy[begin + i] * weight[i]; };
    const double g_mean = mean(g), gh_mean = mean([&](size_t i) { return g(i) * h(i); });
    for (size_t i = 0; i < cols; ++i) {
      dx[begin + i] = scale * (g(i) - g_mean - h(i) * gh_mean);
      sums[i] += dy[begin + i] * h(i);
      sums[cols + i] += dy[begin + i];
    }
  }
  dx.insert(dx.end(), sums.begin(), sums.end());
  return dx;
}

TEST(LayernormBackward, GivesAllThreeGradientsOfRowsInRegistersAndOfOthers) {
  for (const LayernormCase& c :
       {LayernormCase{1, 1, 1e-5}, {3, 5, 1e-5}, {7, 64, 0.25}, {2100, 8, 1e-5}, {2, 4097, 1e-5}}) {
    OpRun op("layernorm_bwd");
    op.attribute(c.eps);
    const Numbers x = op.input(kF32, {c.rows, c.cols}), weight = op.input(kF32, {c.cols});
    const Numbers dy = op.input(kF32, {c.rows, c.cols});
    op.output(kF32, {c.rows, c.cols});
    op.output(kF32, {c.cols});
    op.output(kF32, {c.cols});
    Numbers actual = op.run();
    for (const size_t output : {1, 2}) {
      const Numbers more = op.result(output);
      actual.insert(actual.end(), more.begin(), more.end());
    }
    expect_near(actual, layernorm_gradients(c, x, weight, dy), 1e-3);
  }
}

TEST(LayernormBackward, GivesZeroSumsOfNoRows) {
  OpRun op("layernorm_bwd");
  op.input(kF32, {0, 4});
  op.input(kF32, {4});
  op.input(kF32, {0, 4});
  op.output(kF32, {0, 4});
  op.output(kF32, {4});
  op.output(kF32, {4});
  op.run();
  EXPECT_EQ(op.result(1), Numbers(4, 0.0));
  EXPECT_EQ(op.result(2), Numbers(4, 0.0));
}

}  // namespace
}  // namespace gpuemu
