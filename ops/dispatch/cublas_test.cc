// Compares gemm by cuBLAS with gemm by our own kernels, on a GPU that has both; elsewhere tests the
// error message.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "common/numeric/element.h"
#include "common/rng/fill.h"
#include "ops/dispatch/dispatcher.h"
#include "runtime/backends/backends.h"

namespace gpuemu {
namespace {

constexpr int64_t kM = 70, kN = 130, kK = 45;

struct GemmCall {
  DType dtype = DType::Float32;
  bool turn_a = false, turn_b = false, tf32 = false;
};

class CublasGemm : public testing::Test {
 protected:
  void open(const std::string& backend) {
    auto device = open_device({.backend = backend});
    if (!device) return;
    device_ = *std::move(device);
    registry_ = OpRegistry::with_builtins();
  }
  /// c as doubles, by the variant that is preferred.
  std::vector<double> multiply(const std::string& variant, const GemmCall& call) {
    DispatchOptions options;
    options.policy.preferred = {{"gemm", variant}};
    options.warn = [this](const std::string& text) { warnings_.push_back(text); };
    options.log = [this](const DispatchRecord& record) { chosen_ = record.variant; };
    const auto dispatcher = Dispatcher::create(*device_, registry_, std::move(options));
    EXPECT_TRUE(dispatcher) << dispatcher.error().message;
    const size_t size = byte_size(call.dtype);
    const std::vector<int64_t> a_shape = call.turn_a ? std::vector{kK, kM} : std::vector{kM, kK};
    const std::vector<int64_t> b_shape = call.turn_b ? std::vector{kN, kK} : std::vector{kK, kN};
    const std::vector<int64_t> c_shape = {kM, kN};
    const std::vector<int64_t> a_strides = {a_shape[1], 1}, b_strides = {b_shape[1], 1},
                               c_strides = {kN, 1};
    const DeviceTensor in[] = {{tensor(call.dtype, kM * kK, 1), call.dtype, a_shape, a_strides},
                               {tensor(call.dtype, kK * kN, 2), call.dtype, b_shape, b_strides}};
    const DeviceTensor out{tensor(call.dtype, kM * kN, 3), call.dtype, c_shape, c_strides};
    const int32_t attributes[] = {call.turn_a, call.turn_b, call.tf32};
    const Status done = (*dispatcher)
                            ->call({.op = *registry_.find("gemm"),
                                    .inputs = in,
                                    .outputs = {&out, 1},
                                    .schema_id = 10 * 256 + 2,
                                    .attributes = std::as_bytes(std::span(attributes))});
    EXPECT_TRUE(done) << done.error().message;
    std::vector<std::byte> bytes(static_cast<size_t>(kM * kN) * size);
    EXPECT_TRUE(device_->download(bytes, out.address));
    std::vector<double> values(static_cast<size_t>(kM * kN));
    widen_to_double(call.dtype, bytes, values);
    for (const DeviceTensor& one : in) EXPECT_TRUE(device_->free(one.address));
    EXPECT_TRUE(device_->free(out.address));
    return values;
  }
  uint64_t tensor(DType dtype, int64_t count, uint64_t seed) {
    std::vector<std::byte> bytes(static_cast<size_t>(count) * byte_size(dtype));
    fill(derive_state(seed, 0, "gemm"), Distribution::uniform(-1, 1), dtype, bytes);
    const uint64_t address = *device_->allocate(bytes.size(), "t");
    EXPECT_TRUE(device_->upload(address, bytes));
    return address;
  }

  std::unique_ptr<Device> device_;
  OpRegistry registry_;
  std::vector<std::string> warnings_;
  std::string chosen_;
};

double furthest(const std::vector<double>& one, const std::vector<double>& other) {
  double most = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    const double apart = std::abs(one[i] - other[i]);
    // NaN is as far as it gets.
    most = apart <= most ? most : apart;
  }
  return most;
}

TEST_F(CublasGemm, IsRefusedWithTheReasonWhereThereIsNoGpu) {
  open("emulator");
  ASSERT_NE(device_, nullptr);
  multiply("cublas", {});
  EXPECT_EQ(chosen_, "tiled");
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_EQ(warnings_[0],
            "gemm: the preferred variant 'cublas' is not used: cublas needs a GPU, the device is "
            "the emulator");
}

TEST_F(CublasGemm, IsListedOnlyWhereTheLibraryIs) {
  const OpKind& gemm = **OpRegistry::with_builtins().find("gemm");
  const std::vector<const KernelVariant*> here = variants_here(gemm);
  const bool listed = std::ranges::find(here, "cublas", &KernelVariant::name) != here.end();
  EXPECT_EQ(listed, missing_library("cublas").empty());
  EXPECT_EQ(here.size(), gemm.variants.size() - (listed ? 0 : 1));
  EXPECT_EQ(by_priority(gemm).back()->name, "cublas") << "asked last: our own come first";
  EXPECT_FALSE(missing_library("culapack").empty());
}

TEST_F(CublasGemm, ComputesWhatOurKernelsCompute) {
  open("cuda");
  if (device_ == nullptr) GTEST_SKIP() << "no GPU";
  if (const std::string why = missing_library("cublas"); !why.empty()) GTEST_SKIP() << why;
  const std::pair<DType, double> kinds[] = {{DType::Float32, 1e-5},
                                            {DType::Float64, 1e-13},
                                            {DType::Float16, 1e-2},
                                            {DType::BFloat16, 1e-1}};
  for (const auto& [dtype, bound] : kinds) {
    for (const int turns : {0, 1, 2, 3}) {
      const GemmCall call{.dtype = dtype, .turn_a = (turns & 1) != 0, .turn_b = (turns & 2) != 0};
      const std::vector<double> expected = multiply("tiled", call);
      const std::vector<double> library = multiply("cublas", call);
      ASSERT_EQ(chosen_, "cublas") << (warnings_.empty() ? "" : warnings_.back());
      EXPECT_LE(furthest(library, expected), bound) << name_of(dtype) << " " << turns;
    }
  }
  const std::vector<double> expected = multiply("tiled", {});
  EXPECT_GT(furthest(multiply("cublas", {.tf32 = true}), expected), 1e-5) << "TF32 was asked for";
}

}  // namespace
}  // namespace gpuemu
