// How long the comparison of two float32 tensors with all statistics takes, beside numpy.allclose
// of tensors of the same size in the same run.
//   gpuemu_bench_validate [mebibytes per tensor = 64]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/validate/validate.h"

namespace {

constexpr int kRuns = 9;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

gpuemu::Tensor random_tensor(int64_t count) {
  gpuemu::Tensor tensor = gpuemu::make_tensor(gpuemu::DType::Float32, {count});
  uint64_t state = 42;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const float value = static_cast<float>(state >> 40) * 0x1p-20f - 8.0f;
    std::memcpy(tensor.data.data() + i * 4, &value, 4);
  }
  return tensor;
}

/// Median of numpy.allclose in milliseconds; 0 when numpy cannot run.
double numpy_milliseconds(int64_t count) {
  const std::string program =
      "import numpy as np, time\n"
      "a = (np.random.default_rng(1).random(" +
      std::to_string(count) +
      ") * 16 - 8).astype(np.float32)\n"
      "b = (a.astype(np.float64) * (1 + 1e-7)).astype(np.float32)\n"
      "times = []\n"
      "for _ in range(9):\n"
      "    start = time.perf_counter(); np.allclose(a, b, rtol=1e-5, atol=1e-6)\n"
      "    times.append(time.perf_counter() - start)\n"
      "print(sorted(times)[4] * 1e3)\n";
  FILE* pipe = ::popen(("/usr/bin/python3 -c '" + program + "'").c_str(), "r");
  if (pipe == nullptr) return 0;
  double milliseconds = 0;
  if (std::fscanf(pipe, "%lf", &milliseconds) != 1) milliseconds = 0;
  ::pclose(pipe);
  return milliseconds;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t mebibytes = argc > 1 ? std::atoll(argv[1]) : 64;
  if (mebibytes < 1 || mebibytes > 2048) {
    std::fprintf(stderr, "the size must be between 1 and 2048 MiB per tensor\n");
    return 2;
  }
  const int64_t count = mebibytes * (int64_t{1} << 18);
  const gpuemu::Tensor reference = random_tensor(count);
  gpuemu::Tensor output = reference;
  for (int64_t i = 0; i < count; i += 2) {
    float value = 0;
    std::memcpy(&value, output.data.data() + i * 4, 4);
    value = std::nextafter(value, 100.0f);
    std::memcpy(output.data.data() + i * 4, &value, 4);
  }
  gpuemu::Comparison comparison;
  comparison.output = gpuemu::view_of(output);
  comparison.reference = gpuemu::view_of(reference);
  comparison.policy.tolerance.atol = 1e-6;
  comparison.policy.tolerance.rtol = 1e-5;

  std::vector<double> times;
  bool passed = true;
  for (int run = 0; run < kRuns; ++run) {
    const double start = seconds_now();
    passed = gpuemu::validate(comparison).failures.empty() && passed;
    times.push_back((seconds_now() - start) * 1e3);
  }
  std::sort(times.begin(), times.end());
  const double ours = times[kRuns / 2], theirs = numpy_milliseconds(count);
  std::printf("validate: %lld MiB per tensor, all statistics: %.2f ms (best %.2f)%s\n",
              static_cast<long long>(mebibytes), ours, times.front(), passed ? "" : " FAILED");
  std::printf("numpy.allclose:                           %.2f ms\n", theirs);
  std::printf("ratio: %.1f\n", theirs / ours);
  return passed ? 0 : 1;
}
