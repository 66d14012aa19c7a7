// How fast the emulator runs built-in kernels, beside NumPy and numba's CUDA simulator on the same
// operations in the same run.
//   gpuemu_bench_emulator [--python PATH = python3 | none] [--only KERNEL]
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

/// Processor time of this thread: what other processes on a busy machine change least.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Least of kRuns launches after one to warm up; seconds 0 with a message when it cannot run.
Figure measure(const Operation& operation, const std::vector<std::string>& checks) {
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
  config.sanitize = checks;
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
    const double start = processor_seconds();
    const auto report = device->launch(*module, config);
    if (!report) return std::puts(report.error().message.c_str()), Figure{};
    if (!report->findings.empty()) std::puts(report->findings[0].message.c_str());
    figure.thread_instructions = report->thread_instructions;
    if (run > 0) times.push_back(processor_seconds() - start);
  }
  figure.seconds = *std::ranges::min_element(times);
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
  std::string python = "python3", only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--python") python = argv[i + 1];
    if (std::string(argv[i]) == "--only") only = argv[i + 1];
  }
  if (argc % 2 == 0) {
    std::fputs("usage: gpuemu_bench_emulator [--python PATH|none] [--only KERNEL]\n", stderr);
    return 2;
  }
  std::map<std::string, std::pair<double, double>> base;
  if (python != "none") base = baselines(python);
  std::printf("%-12s %9s %13s | %-31s | %14s %15s\n", "", "bounds", "M thread-",
              "time with / time with bounds only", "against NumPy", "simulator");
  std::printf("%-12s %9s %13s | %9s %10s %12s |\n", "kernel, f32", "ms", "instr/s", "init", "race",
              "all");
  for (const Operation& operation : operations()) {
    if (!only.empty() && only != operation.name) continue;
    const Figure bounds = measure(operation, {"memory"});
    std::printf("%-12s %9.2f %13.0f |", operation.name, bounds.seconds * 1e3,
                static_cast<double>(bounds.thread_instructions) / bounds.seconds * 1e-6);
    for (const std::vector<std::string>& checks : {std::vector<std::string>{"memory", "init"},
                                                   {"memory", "race"},
                                                   {"memory", "init", "race", "sync"}})
      std::printf(" %9.2fx", measure(operation, checks).seconds / bounds.seconds);
    std::printf("  |");
    print_ratio(base, std::string("numpy ") + operation.name, bounds.seconds);
    print_ratio(base, std::string("numba-simulator ") + operation.name, bounds.seconds);
    std::printf("\n");
  }
  std::printf(
      "one thread; vector_add and gelu %u elements, softmax %u x %u, matmul %u^3. The simulator "
      "ran a part of each operation, its time is scaled by the number of elements.\n",
      kElements, kRows, kColumns, kSide);
  return 0;
}
