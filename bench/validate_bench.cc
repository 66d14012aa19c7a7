// Measures a comparison with all statistics, compared with numpy.allclose of the same values, and
// how much longer it takes when trivial outputs are also judged. All alternate, so that other load
// affects all of them.
//   gpuemu_bench_validate [elements in mebi = 16]        needs /usr/bin/python3 with numpy
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/numeric/element.h"
#include "judge/verdict/trivial_outputs.h"
#include "judge/verdict/validate.h"

namespace {

using gpuemu::DType;

constexpr size_t kRuns = 11;
constexpr int64_t kColumns = 4096;

struct Case {
  const char* name;
  DType output, reference;
  bool automatic;           ///< The scale-aware bound; otherwise atol and rtol.
  size_t wrong_one_in = 0;  ///< 0: the output passes.
};

constexpr Case kCases[] = {
    {"float32 / float32, atol + rtol", DType::Float32, DType::Float32, false},
    {"float32 / float32, 1 % wrong", DType::Float32, DType::Float32, false, 100},
    {"float32 / float64, auto", DType::Float32, DType::Float64, true},
    {"float32 / float64, auto, 1 % wrong", DType::Float32, DType::Float64, true, 100},
    {"float16 / float64, auto", DType::Float16, DType::Float64, true},
    {"bfloat16 / float64, auto", DType::BFloat16, DType::Float64, true},
    {"float64 / float64, auto", DType::Float64, DType::Float64, true},
};

/// Elements in separate memory, in huge pages if the system grants them, which numpy also requests.
class Elements {
 public:
  Elements(DType dtype, size_t count) : dtype_(dtype), size_(count * gpuemu::byte_size(dtype)) {
    void* memory =
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    ::madvise(memory, size_, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(memory);
  }
  ~Elements() { ::munmap(data_, size_); }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  std::span<std::byte> part(size_t first, size_t count) const {
    const size_t each = gpuemu::byte_size(dtype_);
    return {data_ + first * each, count * each};
  }
  gpuemu::TensorView view(const gpuemu::Shape& shape) const {
    return {dtype_, shape, {data_, size_}};
  }

 private:
  DType dtype_;
  size_t size_;
  std::byte* data_ = nullptr;
};

struct Random {
  uint64_t state = 42;
  /// Returns a number uniform in [0, 1).
  double next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  }
};

/// Draws references in [-8, 8), and outputs that differ by a few units in the last place.
void fill(const Case& item, size_t count, const Elements& output, const Elements& reference) {
  Random random;
  const double unit = gpuemu::float_limits(item.output).ulp_of_one / 2;
  std::vector<double> values(kColumns), outputs(kColumns);
  for (size_t first = 0; first < count; first += values.size()) {
    for (double& value : values) value = random.next() * 16 - 8;
    const auto part = reference.part(first, values.size());
    gpuemu::narrow_from_double(item.reference, values, part);
    gpuemu::widen_to_double(item.reference, part, values);
    for (size_t i = 0; i < values.size(); ++i) {
      const double noise = random.next() + random.next() - 1;
      outputs[i] = values[i] * (1 + 0.4 * unit * noise);
      if (item.wrong_one_in != 0 && (first + i) % item.wrong_one_in == 0) outputs[i] += 1;
    }
    gpuemu::narrow_from_double(item.output, outputs, output.part(first, values.size()));
  }
}

/// A Python process that holds the same values and times numpy.allclose on request.
class Numpy {
 public:
  Numpy() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) std::abort();
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(ends[1], 0);
      ::dup2(ends[1], 1);
      ::close(ends[0]);
      ::execl("/usr/bin/python3", "python3", "-c", kProgram, static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }
  ~Numpy() {
    ::close(socket_);
    ::waitpid(child_, nullptr, 0);
  }
  Numpy(const Numpy&) = delete;
  Numpy& operator=(const Numpy&) = delete;

  /// numpy has no bfloat16; it gets the values as float32, which saves it a conversion.
  bool load(DType dtype, const Elements& elements, size_t count) const {
    const DType theirs = dtype == DType::BFloat16 ? DType::Float32 : dtype;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%s %zu\n",
                  std::string(gpuemu::name_of(theirs)).c_str(), count);
    const std::string_view head(text.data());
    if (!send({reinterpret_cast<const std::byte*>(head.data()), head.size()})) return false;
    std::vector<double> values(kColumns);
    std::vector<std::byte> bytes(values.size() * gpuemu::byte_size(theirs));
    for (size_t first = 0; first < count; first += values.size()) {
      gpuemu::widen_to_double(dtype, elements.part(first, values.size()), values);
      gpuemu::narrow_from_double(theirs, values, bytes);
      if (!send(bytes)) return false;
    }
    return true;
  }

  /// Returns milliseconds of one call; negative if Python or numpy is missing.
  double allclose() const {
    const char go = '\n';
    if (::write(socket_, &go, 1) != 1) return -1;
    std::string answer;
    for (char byte = 0; ::read(socket_, &byte, 1) == 1 && byte != '\n';) answer += byte;
    return answer.empty() ? -1 : std::atof(answer.c_str());
  }

 private:
  static constexpr const char* kProgram = R"(
import sys, time
import numpy as np
stream = sys.stdin.buffer
def load():
    dtype, count = stream.readline().split()
    array = np.empty(int(count), dtype.decode())
    view = memoryview(array).cast('B')
    while len(view):
        view = view[stream.readinto(view):]
    return array.reshape(-1, 4096)
output, reference = load(), load()
while stream.read(1):
    start = time.perf_counter()
    np.allclose(output, reference, rtol=1e-5, atol=1e-6)
    print((time.perf_counter() - start) * 1e3, flush=True)
)";

  bool send(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(sent));
    }
    return true;
  }

  pid_t child_ = -1;
  int socket_ = -1;
};

double milliseconds_of(const gpuemu::Comparison& comparison, bool& passed) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  passed = gpuemu::validate(comparison).failures.empty();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double milliseconds_of_power(const gpuemu::Comparison& comparison) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  if (gpuemu::find_trivial_outputs(comparison).passing != 0) return -1;
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Returns false if the verdict is wrong.
bool run(const Case& item, size_t count) {
  const Elements output(item.output, count), reference(item.reference, count);
  fill(item, count, output, reference);
  const Numpy numpy;
  const bool loaded = numpy.load(item.output, output, count) &&
                      numpy.load(item.reference, reference, count) && numpy.allclose() >= 0;
  const gpuemu::Shape shape{static_cast<int64_t>(count) / kColumns, kColumns};
  gpuemu::Comparison comparison;
  comparison.output = output.view(shape);
  comparison.reference = reference.view(shape);
  comparison.reference_is_wide = true;
  comparison.policy.nan_policy = gpuemu::NanPolicy::Match;
  comparison.policy.tolerance = {item.automatic, 1e-6, 1e-5, {}};
  bool passed = false;
  milliseconds_of(comparison, passed);
  std::vector<double> ours, theirs, ratios, powers;
  for (size_t i = 0; i < kRuns; ++i) {
    ours.push_back(milliseconds_of(comparison, passed));
    if (passed) powers.push_back(milliseconds_of_power(comparison) / ours.back());
    if (!loaded) continue;
    theirs.push_back(numpy.allclose());
    ratios.push_back(theirs.back() / ours.back());
  }
  const bool right = passed == (item.wrong_one_in == 0);
  std::printf("%-36s %9.1f ms", item.name, median(ours));
  if (loaded) std::printf(" %9.1f ms %8.1f", median(theirs), median(ratios));
  if (!powers.empty()) std::printf(" %8.3f", median(powers));
  std::printf("%s\n", right ? "" : "   WRONG VERDICT");
  std::fflush(stdout);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const long long mebi = argc > 1 ? std::atoll(argv[1]) : 16;
  if (mebi < 1 || mebi > 512) {
    std::fprintf(stderr, "the size must be between 1 and 512 mebi elements\n");
    return 2;
  }
  std::printf("%lld mebi elements per tensor, medians of %zu runs\n", mebi, kRuns);
  std::printf("%-36s %12s %12s %8s %8s\n", "output / reference", "validate", "allclose", "ratio",
              "power");
  bool right = true;
  for (const Case& item : kCases) right = run(item, static_cast<size_t>(mebi) << 20) && right;
  return right ? 0 : 1;
}
