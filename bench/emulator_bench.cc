// How fast the emulator runs built-in kernels, beside NumPy and numba's CUDA simulator on the same
// operations in the same run.
//   gpuemu_bench_emulator [--python PATH = python3]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/catalog.h"
#include "runtime/emulator/emulator.h"

namespace {
using gpuemu::Device;
using gpuemu::LaunchConfig;

constexpr int kRuns = 5;
constexpr uint32_t kElements = 1 << 20, kRows = 512, kColumns = 1024, kSide = 128;
constexpr uint32_t kBlock = 256, kTile = 16;

struct Operation {
  const char* name;               ///< As the baselines call it.
  const char* kernel;             ///< Built-in.
  std::vector<uint32_t> buffers;  ///< Elements; the last one is the output.
  std::vector<uint32_t> numbers;
  gpuemu::Dim3 grid, block;
};

std::vector<Operation> operations() {
  const uint32_t side = kSide * kSide, all = kRows * kColumns;
  return {
      {"vector_add",
       "vector_add",
       {kElements, kElements, kElements},
       {kElements},
       {kElements / kBlock, 1, 1},
       {kBlock, 1, 1}},
      {"gelu",
       "gelu",
       {kElements, kElements},
       {kElements},
       {kElements / kBlock, 1, 1},
       {kBlock, 1, 1}},
      {"softmax", "softmax", {all, all}, {kRows, kColumns}, {kRows, 1, 1}, {kBlock, 1, 1}},
      {"matmul",
       "matmul",
       {side, side, side},
       {kSide, kSide, kSide},
       {kSide / kTile, kSide / kTile, 1},
       {kTile, kTile, 1}},
  };
}

struct Figure {
  double seconds = 0;
  uint64_t thread_instructions = 0;
};

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// A count parameter may be 32 or 64 bits wide; the entry says which.
bool add_numbers(LaunchConfig& config, const gpuemu::EntryInfo& entry,
                 const std::vector<uint32_t>& numbers) {
  for (const uint32_t number : numbers) {
    if (config.args.size() >= entry.params.size()) return false;
    const bool wide = entry.params[config.args.size()].bytes == 8;
    config.args.push_back(wide ? bytes_of(uint64_t{number}) : bytes_of(number));
  }
  return config.args.size() == entry.params.size();
}

/// Median of kRuns launches after one to warm up; seconds 0 with a message when it cannot run.
Figure measure(const Operation& operation, bool checks) {
  const gpuemu::BuiltinKernel* kernel = gpuemu::find_builtin(operation.kernel);
  if (kernel == nullptr) return {};
  const std::unique_ptr<Device> device = gpuemu::make_emulator(
      {.sm = 80, .threads = 1, .memory_limit_bytes = uint64_t{1} << 30, .name = "bench"});
  const auto module = device->load_module(std::string(kernel->ptx), operation.kernel);
  if (!module) return std::puts(module.error().message.c_str()), Figure{};
  LaunchConfig config;
  config.entry = std::string(operation.kernel) + "_float32";
  config.grid = operation.grid;
  config.block = operation.block;
  if (!checks) config.sanitize.clear();
  for (const uint32_t elements : operation.buffers) {
    const auto address = device->allocate(uint64_t{elements} * 4, "tensor");
    if (!address) return std::puts(address.error().message.c_str()), Figure{};
    std::vector<float> values(elements);
    for (uint32_t i = 0; i < elements; ++i) values[i] = static_cast<float>(i % 97) * 0.0625f - 3.0f;
    const bool output = config.args.size() + 1 == operation.buffers.size();
    if (!output && !device->upload(*address, std::as_bytes(std::span(values))).ok()) return {};
    config.args.push_back(bytes_of(*address));
  }
  const auto entries = device->entries(*module);
  if (!entries) return {};
  const auto entry = std::ranges::find(*entries, config.entry, &gpuemu::EntryInfo::name);
  if (entry == entries->end() || !add_numbers(config, *entry, operation.numbers)) return {};
  std::vector<double> times;
  Figure figure;
  for (int run = 0; run <= kRuns; ++run) {
    const auto report = device->launch(*module, config);
    if (!report) return std::puts(report.error().message.c_str()), Figure{};
    if (!report->findings.empty()) std::puts(report->findings[0].message.c_str());
    figure.thread_instructions = report->thread_instructions;
    if (run > 0) times.push_back(static_cast<double>(report->elapsed_ns) * 1e-9);
  }
  std::ranges::sort(times);
  figure.seconds = times[kRuns / 2];
  return figure;
}

/// "tool operation seconds scale" per line: what the script beside this file prints.
std::map<std::string, std::pair<double, double>> baselines(const std::string& python) {
  std::map<std::string, std::pair<double, double>> found;
  const std::string command =
      "'" + python + "' '" + GPUEMU_SOURCE_DIR + "/bench/emulator_bench_baselines.py'";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return found;
  char line[256], tool[32], name[64];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    double seconds = 0, scale = 1;
    if (std::sscanf(line, "%31s %63s %lf %lf", tool, name, &seconds, &scale) == 4)
      found[std::string(tool) + " " + name] = {seconds, scale};
    else
      std::fputs(line, stdout);
  }
  pclose(pipe);
  return found;
}

void print_ratio(const std::map<std::string, std::pair<double, double>>& base,
                 const std::string& key, double seconds) {
  const auto found = base.find(key);
  if (found == base.end() || seconds <= 0)
    std::printf(" %13s", "not run");
  else if (found->second.first * found->second.second >= seconds)
    std::printf(" %6.1fx faster", found->second.first * found->second.second / seconds);
  else
    std::printf(" %6.1fx slower", seconds / found->second.first / found->second.second);
}
}  // namespace

int main(int argc, char** argv) {
  std::string python = "python3";
  for (int i = 1; i + 1 < argc; i += 2)
    if (std::string(argv[i]) == "--python") python = argv[i + 1];
  if (argc % 2 == 0) {
    std::fputs("usage: gpuemu_bench_emulator [--python PATH]\n", stderr);
    return 2;
  }
  const auto base = baselines(python);
  std::printf("%-12s %10s %14s %12s %14s %14s %15s\n", "kernel, f32", "ms", "M thr-instr/s",
              "unchecked", "M thr-instr/s", "against NumPy", "simulator");
  for (const Operation& operation : operations()) {
    const Figure checked = measure(operation, true), bare = measure(operation, false);
    const auto rate = [](const Figure& f) {
      return f.seconds > 0 ? static_cast<double>(f.thread_instructions) / f.seconds * 1e-6 : 0.0;
    };
    std::printf("%-12s %10.2f %14.0f %9.2f ms %14.0f", operation.name, checked.seconds * 1e3,
                rate(checked), bare.seconds * 1e3, rate(bare));
    print_ratio(base, std::string("numpy ") + operation.name, checked.seconds);
    print_ratio(base, std::string("numba-simulator ") + operation.name, checked.seconds);
    std::printf("\n");
  }
  std::printf(
      "one thread; vector_add and gelu %u elements, softmax %u x %u, matmul %u^3; 'ms' with all "
      "sanitizers.\nThe simulator ran a part of each operation, its time is scaled by the number "
      "of elements.\n",
      kElements, kRows, kColumns, kSide);
  return 0;
}
