// Every built-in kernel in every dtype, executed by the emulator at odd sizes, against float64.
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/numeric/element.h"
#include "common/rng/fill.h"
#include "kernels/catalog.h"
#include "runtime/backends/backends.h"

namespace gpuemu {
namespace {

using Numbers = std::vector<double>;

/// How far from the reference an element may be, relative to the largest number behind it.
double tolerance_of(DType dtype) {
  if (dtype == DType::Float16) return 0x1p-10;
  return dtype == DType::BFloat16 ? 0x1p-7 : 1e-5;
}

/// One launch: tensors go up rounded to the dtype, the output comes back as numbers.
class Launch {
 public:
  Launch(const std::string& op, DType dtype) : op_(op), dtype_(dtype) {
    auto device = open_device({.backend = "emulator", .threads = 1});
    EXPECT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
    config_.entry = op + "_" + std::string(name_of(dtype));
  }

  /// The values as the kernel sees them.
  Numbers input(size_t count) {
    Numbers values(count);
    fill_doubles(derive_state(1, inputs_, op_), Distribution::uniform(-3, 3), values);
    std::vector<std::byte> bytes(count * byte_size(dtype_));
    narrow_from_double(dtype_, values, bytes);
    widen_to_double(dtype_, bytes, values);
    const auto address = device_->allocate(bytes.size(), fmt::format("input {}", inputs_++));
    EXPECT_TRUE(address && device_->upload(*address, bytes));
    scalar(*address);
    return values;
  }
  void output(size_t count) {
    count_ = count;
    const auto address = device_->allocate(count * byte_size(dtype_), "y");
    EXPECT_TRUE(address);
    output_ = *address;
    scalar(output_);
  }
  template <typename T>
  void scalar(T value) {
    std::vector<std::byte> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    config_.args.push_back(std::move(bytes));
  }

  Numbers run(Dim3 grid, Dim3 block) {
    config_.grid = grid;
    config_.block = block;
    const auto module = device_->load_module(std::string(find_builtin(op_)->ptx), op_);
    EXPECT_TRUE(module) << module.error().message;
    const auto report = device_->launch(*module, config_);
    EXPECT_TRUE(report) << report.error().message;
    for (const DeviceFinding& finding : report->findings) ADD_FAILURE() << finding.message;
    std::vector<std::byte> bytes(count_ * byte_size(dtype_));
    EXPECT_TRUE(device_->download(bytes, output_));
    Numbers values(count_);
    widen_to_double(dtype_, bytes, values);
    return values;
  }

 private:
  std::string op_;
  DType dtype_;
  std::unique_ptr<Device> device_;
  LaunchConfig config_;
  uint64_t output_ = 0, inputs_ = 0;
  size_t count_ = 0;
};

void expect_near(const Numbers& actual, const Numbers& expected, double largest, DType dtype) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_LE(std::abs(actual[i] - expected[i]), tolerance_of(dtype) * largest)
        << name_of(dtype) << ", element " << i << " of " << actual.size() << ": " << actual[i]
        << " instead of " << expected[i];
  }
}

struct Size {
  uint32_t rows, cols;
  size_t count() const { return size_t{rows} * cols; }
};
constexpr Size kSizes[] = {{1, 1}, {3, 5}, {2, 31}, {7, 33}, {5, 129}, {1, 1001}};
constexpr uint32_t kBlock = 96;

uint32_t cdiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

class Kernels : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, Kernels,
                         testing::Values(DType::Float32, DType::Float16, DType::BFloat16),
                         [](const auto& item) { return std::string(name_of(item.param)); });

/// The rows of a matrix, each given to `row` to be replaced.
Numbers by_row(Numbers values, Size size, const std::function<void(double*, size_t)>& row) {
  for (size_t i = 0; i < size.rows; ++i) row(values.data() + i * size.cols, size.cols);
  return values;
}

TEST_P(Kernels, VectorAddAdds) {
  for (const Size& size : kSizes) {
    Launch launch("vector_add", GetParam());
    const auto count = static_cast<uint32_t>(size.count());
    Numbers expected = launch.input(count);
    const Numbers b = launch.input(count);
    for (size_t i = 0; i < count; ++i) expected[i] += b[i];
    launch.output(count);
    launch.scalar(count);
    expect_near(launch.run({cdiv(count, kBlock), 1, 1}, {kBlock, 1, 1}), expected, 6, GetParam());
  }
}

TEST_P(Kernels, GeluIsThatOfTheErrorFunction) {
  for (const Size& size : kSizes) {
    Launch launch("gelu", GetParam());
    const auto count = static_cast<uint32_t>(size.count());
    Numbers expected = launch.input(count);
    for (double& x : expected) x = 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    launch.output(count);
    launch.scalar(count);
    expect_near(launch.run({cdiv(count, kBlock), 1, 1}, {kBlock, 1, 1}), expected, 3, GetParam());
  }
}

TEST_P(Kernels, SoftmaxIsThatOfEachRow) {
  for (const Size& size : kSizes) {
    Launch launch("softmax", GetParam());
    const Numbers expected = by_row(launch.input(size.count()), size, [](double* x, size_t cols) {
      double sum = 0;
      for (size_t i = 0; i < cols; ++i) sum += std::exp(x[i]);
      for (size_t i = 0; i < cols; ++i) x[i] = std::exp(x[i]) / sum;
    });
    launch.output(size.count());
    launch.scalar(size.rows);
    launch.scalar(size.cols);
    expect_near(launch.run({size.rows, 1, 1}, {kBlock, 1, 1}), expected, 1, GetParam());
  }
}

TEST_P(Kernels, ReduceSumSumsEachRow) {
  for (const Size& size : kSizes) {
    Launch launch("reduce_sum", GetParam());
    const Numbers x = launch.input(size.count());
    Numbers expected(size.rows);
    for (size_t i = 0; i < x.size(); ++i) expected[i / size.cols] += x[i];
    launch.output(size.rows);
    launch.scalar(size.rows);
    launch.scalar(size.cols);
    expect_near(launch.run({size.rows, 1, 1}, {kBlock, 1, 1}), expected, 3.0 * size.cols,
                GetParam());
  }
}

TEST_P(Kernels, LayernormNormalisesEachRow) {
  for (const Size& size : kSizes) {
    Launch launch("layernorm", GetParam());
    const Numbers x = launch.input(size.count());
    const Numbers weight = launch.input(size.cols), bias = launch.input(size.cols);
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
    launch.output(size.count());
    launch.scalar(size.rows);
    launch.scalar(size.cols);
    launch.scalar(1e-5F);
    expect_near(launch.run({size.rows, 1, 1}, {kBlock, 1, 1}), expected, 12, GetParam());
  }
}

TEST_P(Kernels, RmsnormScalesEachRow) {
  for (const Size& size : kSizes) {
    Launch launch("rmsnorm", GetParam());
    const Numbers x = launch.input(size.count());
    const Numbers weight = launch.input(size.cols);
    const Numbers expected = by_row(x, size, [&](double* row, size_t cols) {
      double square = 0;
      for (size_t i = 0; i < cols; ++i) square += row[i] * row[i] / static_cast<double>(cols);
      for (size_t i = 0; i < cols; ++i) row[i] = row[i] / std::sqrt(square + 1e-5) * weight[i];
    });
    launch.output(size.count());
    launch.scalar(size.rows);
    launch.scalar(size.cols);
    launch.scalar(1e-5F);
    expect_near(launch.run({size.rows, 1, 1}, {kBlock, 1, 1}), expected, 12, GetParam());
  }
}

TEST_P(Kernels, TransposeExchangesTheAxes) {
  for (const Size& size : kSizes) {
    Launch launch("transpose", GetParam());
    const Numbers x = launch.input(size.count());
    Numbers expected(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      expected[i % size.cols * size.rows + i / size.cols] = x[i];
    }
    launch.output(size.count());
    launch.scalar(size.rows);
    launch.scalar(size.cols);
    const Dim3 grid{cdiv(size.cols, 32), cdiv(size.rows, 32), 1};
    EXPECT_EQ(launch.run(grid, {32, 8, 1}), expected) << size.rows << " x " << size.cols;
  }
}

TEST_P(Kernels, MatmulMultiplies) {
  for (const uint32_t k : {1U, 15U, 16U, 17U, 50U}) {
    const uint32_t m = 19, n = 33;
    Launch launch("matmul", GetParam());
    const Numbers a = launch.input(size_t{m} * k), b = launch.input(size_t{k} * n);
    Numbers expected(size_t{m} * n);
    for (size_t i = 0; i < expected.size(); ++i) {
      for (size_t j = 0; j < k; ++j) expected[i] += a[i / n * k + j] * b[j * n + i % n];
    }
    launch.output(expected.size());
    for (const uint32_t extent : {m, n, k}) launch.scalar(extent);
    expect_near(launch.run({cdiv(n, 16), cdiv(m, 16), 1}, {16, 16, 1}), expected, 9.0 * k,
                GetParam());
  }
}

}  // namespace
}  // namespace gpuemu
