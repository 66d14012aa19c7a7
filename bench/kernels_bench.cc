// Compares the built-in kernels with the limits of the GPU: bytes per second with the driver's own
// copy of as many bytes, and multiplications with a loop of independent FMAs and, if found, with
// cuBLAS. Each kernel is launched as its op declares it; kernel and baseline alternate, and the
// median of each counts.
//   gpuemu_bench_kernels [--rounds N = 30]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/core.h>

#include "common/numeric/element.h"
#include "common/rng/fill.h"
#include "kernels/catalog.h"
#include "kernels/op.h"
#include "ops/dispatch/check_case.h"
#include "ops/dispatch/type_binding.h"
#include "ops/vendor/cublas.h"
#include "runtime/backends/backends.h"

namespace gpuemu {
namespace {

using Sizes = std::vector<int64_t>;

/// NVIDIA's recommendation for Hopper.
constexpr uint64_t kCublasWorkspaceBytes = uint64_t{32} << 20;

struct Tensor {
  uint64_t address = 0;
  DType dtype = DType::Float32;
  Sizes shape, strides;
  DeviceTensor view() const { return {address, dtype, shape, strides}; }
  uint64_t bytes() const { return static_cast<uint64_t>(view().count()) * byte_size(dtype); }
};

struct Measurement {
  const char* op;
  const char* variant;
  std::vector<Sizes> inputs, outputs;
  DType dtype = DType::Float32;
  double products = 0;     ///< Multiplications and additions; 0: bytes are measured.
  int32_t axis = -1;       ///< For ops that have one.
  bool by_cublas = false;  ///< Compared with cuBLAS, which multiplies the same two matrices.
};

std::vector<Measurement> measurements() {
  const Sizes large{int64_t{1} << 26}, square{4096, 4096}, row{4096}, side{2048, 2048};
  const Sizes heads{16, 2048, 64};
  const double cube = 2048.0 * 2048.0 * 2048.0 * 2.0;
  const double attended = 16.0 * 2048.0 * 2048.0 * 64.0 * 4.0;
  return {{"copy_saved", "packets", {large}, {large}},
          {"relu", "packets", {large}, {large}},
          {"relu_bwd", "packets", {large, large}, {large}},
          {"gelu", "packets", {large}, {large}},
          {"silu", "packets", {large}, {large}},
          {"sigmoid", "packets", {large}, {large}},
          {"tanh", "packets", {large}, {large}},
          {"add", "strided", {large, large}, {large}},
          {"relu", "packets", {large}, {large}, DType::Float16},
          {"add", "strided", {large, large}, {large}, DType::BFloat16},
          {"bias_add", "packets", {{16384, 4096}, row}, {{16384, 4096}}},
          {"softmax", "", {square}, {square}},
          {"layernorm", "", {square, row, row}, {square}},
          {"layernorm_bwd", "", {square, row, square}, {square, row, row}},
          {"rmsnorm", "", {square, row}, {square}},
          {"reduce_sum", "one_step", {square}, {row}},
          {"reduce_sum", "two_steps", {square}, {row}, DType::Float32, 0, 0},
          {"reduce_sum", "two_steps", {large}, {{}}},
          {"reduce_max", "one_step", {square}, {row}, DType::Float16},
          {"dropout", "", {large, {2}}, {large}},
          {"random_fill", "", {{2}}, {large}},
          {"transpose", "", {square}, {square}},
          {"gemm", "tiled", {side, side}, {side}, DType::Float32, cube},
          {"gemm", "naive", {side, side}, {side}, DType::Float32, cube},
          {"gemm", "tiled", {side, side}, {side}, DType::Float64, cube},
          {"gemm", "mma", {side, side}, {side}, DType::Float16, cube},
          {"gemm", "tiled", {side, side}, {side}, DType::Float32, cube, -1, true},
          {"gemm", "tiled", {side, side}, {side}, DType::Float64, cube, -1, true},
          {"gemm", "mma", {side, side}, {side}, DType::Float16, cube, -1, true},
          {"attention", "online", {heads, heads, heads}, {heads}, DType::Float32, attended},
          {"attention", "naive", {heads, heads, heads}, {heads}, DType::Float32, attended}};
}

/// 64 independent chains per thread would spill; 16 keep every unit busy.
std::string fma_text() {
  std::string text = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry fma_chains(.param .u64 out, .param .u32 rounds) {
  .reg .f32 %f<20>; .reg .b32 %r<6>; .reg .b64 %rd<5>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [rounds];
  mov.f32 %f16, 0f3F7FFFFF;
  mov.f32 %f17, 0f33800000;
)";
  for (int i = 0; i < 16; ++i) text += fmt::format("  mov.f32 %f{}, 0f3F8{:X}0000;\n", i, i % 8);
  text += "AGAIN:\n";
  for (int i = 0; i < 256; ++i) {
    text += fmt::format("  fma.rn.f32 %f{}, %f{}, %f16, %f17;\n", i % 16, i % 16);
  }
  text += "  sub.u32 %r1, %r1, 1;\n  setp.ne.u32 %p1, %r1, 0;\n  @%p1 bra AGAIN;\n";
  for (int i = 1; i < 16; ++i) text += fmt::format("  add.f32 %f0, %f0, %f{};\n", i);
  text += R"(  setp.neu.f32 %p1, %f0, 0f00000000;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd2, %rd1;
  st.global.f32 [%rd2], %f0;
DONE:
  ret;
})";
  return text;
}

template <typename T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "gpuemu_bench_kernels: %s\n", result.error().message.c_str());
  std::exit(3);
}

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// The driver's copy within the device, which Device does not offer.
class DriverCopy {
 public:
  DriverCopy() {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
    const auto find = [&](const char* name) { return library ? ::dlsym(library, name) : nullptr; };
    copy_ = reinterpret_cast<decltype(copy_)>(find("cuMemcpyDtoDAsync_v2"));
    make_ = reinterpret_cast<decltype(make_)>(find("cuEventCreate"));
    record_ = reinterpret_cast<decltype(record_)>(find("cuEventRecord"));
    wait_ = reinterpret_cast<decltype(wait_)>(find("cuEventSynchronize"));
    elapsed_ = reinterpret_cast<decltype(elapsed_)>(find("cuEventElapsedTime"));
    if (elapsed_ != nullptr) make_(&begin_, 0), make_(&end_, 0);
  }
  bool usable() const { return end_ != nullptr; }
  double seconds(uint64_t to, uint64_t from, uint64_t bytes) const {
    return timed([&] { copy_(to, from, bytes, nullptr); });
  }
  /// Times work issued to the default stream.
  template <typename Issue>
  double timed(Issue issue) const {
    float milliseconds = 0;
    record_(begin_, nullptr);
    issue();
    record_(end_, nullptr);
    wait_(end_);
    elapsed_(&milliseconds, begin_, end_);
    return milliseconds * 1e-3;
  }

 private:
  int (*copy_)(uint64_t, uint64_t, size_t, void*) = nullptr;
  int (*make_)(void**, unsigned) = nullptr;
  int (*record_)(void*, void*) = nullptr;
  int (*wait_)(void*) = nullptr;
  int (*elapsed_)(float*, void*, void*) = nullptr;
  void *begin_ = nullptr, *end_ = nullptr;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class Bench {
 public:
  Bench(Device& device, int rounds) : device_(device), rounds_(rounds) {
    from_ = must(device_.allocate(uint64_t{1} << 30, "from"));
    to_ = must(device_.allocate(uint64_t{1} << 30, "to"));
    fma_module_ = must(device_.load_module(fma_text(), "fma_chains"));
    auto opened = Cublas::open();
    if (opened) {
      cublas_ = *std::move(opened);
      std::printf("%s\n", cublas_->version().c_str());
    } else {
      std::printf("no cuBLAS: %s\n", opened.error().message.c_str());
    }
  }

  void measure(const Measurement& what) {
    if (what.by_cublas && cublas_ == nullptr) return;
    const OpKind* op = nullptr;
    for (const OpKind* one : builtin_ops()) op = one->name == std::string(what.op) ? one : op;
    const KernelVariant* variant = nullptr;
    for (const KernelVariant& one : op->variants) {
      const bool wanted = *what.variant == 0 || one.name == what.variant;
      variant = variant == nullptr && wanted ? &one : variant;
    }
    std::vector<Tensor> inputs, outputs;
    for (size_t i = 0; i < what.inputs.size(); ++i) {
      const DType dtype = dtype_of(*variant, op->inputs[i].type, what.dtype);
      inputs.push_back(make(dtype, what.inputs[i], true));
    }
    for (const Sizes& shape : what.outputs) outputs.push_back(make(what.dtype, shape, false));
    uint64_t bytes = 0;
    for (const auto* all : {&inputs, &outputs}) {
      for (const Tensor& one : *all) bytes += one.bytes();
    }
    const auto launches = launches_of(what, *op, *variant, inputs, outputs);
    product_ = {.dtype = what.dtype};
    if (what.by_cublas) {
      product_ = {.dtype = what.dtype, .a = inputs[0].address, .b = inputs[1].address, .c = to_};
      product_.m = product_.n = what.outputs[0][0];
      product_.k = what.inputs[0][1];
    }
    report(what, *variant, launches, bytes);
    if (launches.workspace != 0) (void)device_.free(launches.workspace);
    for (const auto* all : {&inputs, &outputs}) {
      for (const Tensor& one : *all) (void)device_.free(one.address);
    }
  }

 private:
  struct Launches {
    ModuleId module = 0;
    std::vector<LaunchConfig> configs;
    uint64_t workspace = 0;
  };

  /// Operands of a letter other than the tensors' get the variant's first dtype.
  static DType dtype_of(const KernelVariant& variant, char letter, DType measured) {
    for (const TypeRule& rule : variant.types) {
      if (rule.letter == letter && letter != 'T') return rule.dtypes[0];
    }
    return measured;
  }

  Tensor make(DType dtype, const Sizes& shape, bool fill_it) {
    Tensor tensor{0, dtype, shape, Sizes(shape.size())};
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) tensor.strides[i] = stride;
    tensor.address = must(device_.allocate(tensor.bytes(), "tensor"));
    std::vector<std::byte> values(fill_it ? tensor.bytes() : 0);
    if (fill_it) fill(derive_state(1, 0, "bench"), Distribution::uniform(-3, 3), dtype, values);
    if (fill_it) (void)device_.upload(tensor.address, values);
    return tensor;
  }

  Launches launches_of(const Measurement& what, const OpKind& op, const KernelVariant& variant,
                       const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
    std::vector<DeviceTensor> in, out;
    for (const Tensor& one : inputs) in.push_back(one.view());
    for (const Tensor& one : outputs) out.push_back(one.view());
    const bool has_axis = !op.schema.fields.empty() && op.schema.fields[0].name == "axis";
    const auto attributes = std::as_bytes(std::span(&what.axis, has_axis ? 1 : 0));
    OpCase c{op, in, out, Attributes(op.schema, attributes), device_.properties()};
    const TypeBinding types = must(check_case(c));
    if (variant.workspace_bytes != nullptr) {
      c.workspace = must(device_.allocate(variant.workspace_bytes(c), "workspace"));
    }
    auto plan = std::make_unique<Plan>();
    variant.plan(c, *plan);
    const BuiltinKernel* module = find_builtin(variant.module);
    Launches launches{must(device_.load_module(module->ptx(), variant.module)), {}, c.workspace};
    for (const LaunchStep& step : plan->steps()) {
      LaunchConfig config;
      config.entry = must(entry_name(variant.entries[step.entry], types));
      config.grid = step.grid;
      config.block = step.block;
      config.dynamic_shared_bytes = step.shared_bytes;
      for (size_t i = 0; i < step.arg_count(); ++i) {
        const auto from = step.argument(i);
        config.args.emplace_back(from.begin(), from.end());
      }
      launches.configs.push_back(std::move(config));
    }
    return launches;
  }

  double seconds(const Launches& launches) {
    double total = 0;
    for (const LaunchConfig& config : launches.configs) {
      total += static_cast<double>(must(device_.launch(launches.module, config)).elapsed_ns) * 1e-9;
    }
    return total;
  }

  /// Runs FMAs, which count as two operations each.
  double fma_seconds(double* operations) {
    constexpr uint32_t kRounds = 2000, kThreads = 256;
    const uint32_t blocks = device_.properties().multiprocessors * 8;
    *operations = 2.0 * 256.0 * kRounds * kThreads * blocks;
    LaunchConfig config;
    config.entry = "fma_chains";
    config.grid = {blocks, 1, 1};
    config.block = {kThreads, 1, 1};
    config.args = {bytes_of(to_), bytes_of(kRounds)};
    return static_cast<double>(must(device_.launch(fma_module_, config)).elapsed_ns) * 1e-9;
  }

  double baseline_seconds(const Measurement& what, uint64_t bytes, double* operations) {
    if (what.products <= 0) return copy_.seconds(to_, from_, bytes / 2);
    if (!what.by_cublas) return fma_seconds(operations);
    *operations = what.products;
    return copy_.timed([&] {
      const CublasPlace place{.workspace = from_, .workspace_bytes = kCublasWorkspaceBytes};
      const Status issued = cublas_->multiply(product_, place);
      if (issued) return;
      std::fprintf(stderr, "gpuemu_bench_kernels: %s\n", issued.error().message.c_str());
      std::exit(3);
    });
  }

  void report(const Measurement& what, const KernelVariant& variant, const Launches& launches,
              uint64_t bytes) {
    std::vector<double> kernel, baseline;
    double operations = 0;
    for (int round = 0; round < rounds_ + 3; ++round) {
      const double one = seconds(launches);
      // A copy reads and writes, so copying half of the bytes makes the same traffic.
      const double other = baseline_seconds(what, bytes, &operations);
      if (round < 3) continue;
      kernel.push_back(one);
      baseline.push_back(other);
    }
    const double work = what.products > 0 ? what.products : static_cast<double>(bytes);
    const double base_work = what.products > 0 ? operations : static_cast<double>(bytes / 2 * 2);
    const double speed = work / median(kernel), base = base_work / median(baseline);
    std::printf("| %s %s %s | %.0f us | %.2f %s | %.2f %s | %.1f %% |\n", what.op,
                variant.name.c_str(), std::string(name_of(what.dtype)).c_str(),
                median(kernel) * 1e6, speed * 1e-12, what.products > 0 ? "TFLOP/s" : "TB/s",
                base * 1e-12,
                what.by_cublas      ? "TFLOP/s of cuBLAS"
                : what.products > 0 ? "TFLOP/s of f32 FMA"
                                    : "TB/s of copy",
                100 * speed / base);
    std::fflush(stdout);
  }

  Device& device_;
  int rounds_;
  DriverCopy copy_;
  std::unique_ptr<Cublas> cublas_;
  CublasProduct product_;
  uint64_t from_ = 0, to_ = 0;
  ModuleId fma_module_ = 0;
};

}  // namespace

int bench_kernels(int argc, char** argv) {
  const bool has_rounds = argc == 3 && std::string(argv[1]) == "--rounds";
  const int rounds = has_rounds ? std::max(1, std::atoi(argv[2])) : 30;
  if (argc != 1 && !has_rounds) return std::puts("gpuemu_bench_kernels [--rounds N]"), 2;
  auto device = open_device({.backend = "cuda", .memory_limit_bytes = uint64_t{16} << 30});
  if (!device) return std::printf("%s\n", device.error().message.c_str()), 77;
  std::printf("%s\n\n| kernel | median | speed | baseline | ratio |\n|---|---|---|---|---|\n",
              (*device)->properties().name.c_str());
  Bench bench(**device, rounds);
  for (const Measurement& one : measurements()) bench.measure(one);
  return 0;
}

}  // namespace gpuemu

int main(int argc, char** argv) { return gpuemu::bench_kernels(argc, argv); }
