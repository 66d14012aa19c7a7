// Measures how fast one thread fills a large tensor with the project's random numbers, compared
// with memset and NumPy's generator in the same run.
//   gpuemu_bench_fill [mebibytes per tensor = 64]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/rng/fill.h"

namespace {

constexpr int kRuns = 9;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the median time of one call in seconds.
template <typename Work>
double median_seconds(Work work) {
  std::vector<double> times;
  for (int run = 0; run < kRuns; ++run) {
    const double start = seconds_now();
    work(run);
    times.push_back(seconds_now() - start);
  }
  std::ranges::sort(times);
  return times[kRuns / 2];
}

void print_row(const std::string& name, size_t bytes, size_t element_bytes, double seconds) {
  if (seconds <= 0) {
    std::printf("%-44s %10s\n", name.c_str(), "not run");
    return;
  }
  std::printf("%-44s %10.2f %14.0f\n", name.c_str(), static_cast<double>(bytes) / seconds * 1e-9,
              static_cast<double>(bytes) / static_cast<double>(element_bytes) / seconds * 1e-6);
}

/// Returns the median time in which NumPy's generator fills an existing array, in seconds; 0 if it
/// cannot run.
double numpy_seconds(size_t count, const std::string& draw) {
  const std::string program =
      "import numpy as np, time\n"
      "random = np.random.default_rng(1)\n"
      "array = np.empty(" +
      std::to_string(count) +
      ", np.float32)\n"
      "times = []\n"
      "for _ in range(9):\n"
      "    start = time.perf_counter()\n"
      "    random." +
      draw +
      "(dtype=np.float32, out=array)\n"
      "    times.append(time.perf_counter() - start)\n"
      "print(sorted(times)[4])\n";
  FILE* pipe = ::popen(("python3 -c '" + program + "'").c_str(), "r");
  if (pipe == nullptr) return 0;
  double seconds = 0;
  if (std::fscanf(pipe, "%lf", &seconds) != 1) seconds = 0;
  ::pclose(pipe);
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t mebibytes = argc > 1 ? std::atoll(argv[1]) : 64;
  if (mebibytes < 1 || mebibytes > 2048) {
    std::fprintf(stderr, "the size must be between 1 and 2048 MiB\n");
    return 2;
  }
  std::vector<std::byte> tensor(static_cast<size_t>(mebibytes) << 20);
  const size_t bytes = tensor.size();
  struct Row {
    const char* name;
    gpuemu::Distribution distribution;
    gpuemu::DType dtype;
  };
  const auto uniform = gpuemu::Distribution::uniform(-1, 1);
  const auto normal = gpuemu::Distribution::normal(0, 1);
  const auto log_uniform = gpuemu::Distribution::log_uniform(-40, 40);
  using gpuemu::DType;
  const Row rows[] = {{"uniform, float32", uniform, DType::Float32},
                      {"uniform, float64", uniform, DType::Float64},
                      {"uniform, float16", uniform, DType::Float16},
                      {"uniform, bfloat16", uniform, DType::BFloat16},
                      {"normal, float32", normal, DType::Float32},
                      {"normal, float16", normal, DType::Float16},
                      {"normal, bfloat16", normal, DType::BFloat16},
                      {"log-uniform, float32", log_uniform, DType::Float32}};
  std::printf("%lld MiB, one thread %24s %10s %14s\n", static_cast<long long>(mebibytes), "",
              "GB/s", "M elements/s");
  print_row("memset", bytes, 4,
            median_seconds([&](int run) { std::memset(tensor.data(), run, bytes); }));
  print_row("numpy default_rng().random(float32)", bytes, 4, numpy_seconds(bytes / 4, "random"));
  print_row("numpy default_rng().standard_normal(float32)", bytes, 4,
            numpy_seconds(bytes / 4, "standard_normal"));
  for (const Row& row : rows) {
    print_row(row.name, bytes, gpuemu::byte_size(row.dtype), median_seconds([&](int run) {
                gpuemu::fill(gpuemu::derive_state(1, static_cast<uint64_t>(run), "bench"),
                             row.distribution, row.dtype, tensor);
              }));
  }
  return 0;
}
