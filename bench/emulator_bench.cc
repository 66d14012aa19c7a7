// Measures the emulator's speed for built-in kernels, compared with NumPy and numba's CUDA
// simulator on the same operations in the same run. They alternate, launch by launch, so that other
// load on the machine slows down all of them; the minimum of each counts.
//   gpuemu_bench_emulator [--python PATH = python3 | none] [--only KERNEL] [--rounds N = 15]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/catalog.h"
#include "runtime/emulator/emulator.h"
#include "runtime/shadow/shadow.h"

namespace {
using gpuemu::Device;
using gpuemu::DeviceCheck;
using gpuemu::DeviceChecks;
using gpuemu::LaunchConfig;

constexpr int kRounds = 15;
constexpr uint32_t kElements = 1 << 20, kRows = 512, kColumns = 1025, kSide = 192;
constexpr uint32_t kBlock = 256, kTile = 16;

/// The output of nvcc for: int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] *
/// 3;
constexpr std::string_view kScale = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 px, .param .u64 py, .param .u32 pn) {
  .reg .pred %p<2>; .reg .f32 %f<3>; .reg .b32 %r<6>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [px];
  ld.param.u64 %rd2, [py];
  ld.param.u32 %r2, [pn];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r1, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r1, %r2;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd3, %rd1;
  mul.wide.s32 %rd4, %r1, 4;
  add.s64 %rd5, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5];
  mul.f32 %f2, %f1, 0f40400000;
  cvta.to.global.u64 %rd6, %rd2;
  add.s64 %rd7, %rd6, %rd4;
  st.global.f32 [%rd7], %f2;
DONE:
  ret;
})";

/// The same for y[i] = a[i] + b[i]: one element per thread, as it is usually written. The built-in
/// kernel works in any grid, so nvcc computes the number of its loop's iterations with a division.
constexpr std::string_view kAdd = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry plain_add(.param .u64 pa, .param .u64 pb, .param .u64 py, .param .u32 pn) {
  .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<11>;
  ld.param.u64 %rd1, [pa];
  ld.param.u64 %rd8, [pb];
  ld.param.u64 %rd2, [py];
  ld.param.u32 %r2, [pn];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r1, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r1, %r2;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd3, %rd1;
  mul.wide.s32 %rd4, %r1, 4;
  add.s64 %rd5, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5];
  cvta.to.global.u64 %rd9, %rd8;
  add.s64 %rd10, %rd9, %rd4;
  ld.global.f32 %f3, [%rd10];
  add.f32 %f2, %f1, %f3;
  cvta.to.global.u64 %rd6, %rd2;
  add.s64 %rd7, %rd6, %rd4;
  st.global.f32 [%rd7], %f2;
DONE:
  ret;
})";

struct Operation {
  const char* name;
  const char* baseline;   ///< Its name in the baselines.
  std::string_view text;  ///< PTX, if it is not the built-in kernel of that name.
  std::string entry;
  std::vector<uint32_t> buffers;  ///< Elements; the last one is the output.
  std::vector<uint32_t> numbers;
  gpuemu::Dim3 grid, block;
};

std::vector<Operation> operations() {
  const uint32_t side = kSide * kSide, all = kRows * kColumns;
  return {
      {"plain_add",
       "vector_add",
       kAdd,
       "plain_add",
       {kElements, kElements, kElements},
       {kElements},
       {kElements / kBlock, 1, 1},
       {kBlock, 1, 1}},
      {"vector_add",
       "vector_add",
       "",
       "vector_add_float32",
       {kElements, kElements, kElements},
       {kElements},
       {kElements / kBlock, 1, 1},
       {kBlock, 1, 1}},
      {"gelu",
       "gelu",
       "",
       "gelu_float32",
       {kElements, kElements},
       {kElements},
       {kElements / kBlock, 1, 1},
       {kBlock, 1, 1}},
      {"softmax",
       "softmax",
       "",
       "softmax_float32",
       {all, all},
       {kRows, kColumns},
       {kRows, 1, 1},
       {kBlock, 1, 1}},
      {"matmul",
       "matmul",
       "",
       "matmul_float32",
       {side, side, side},
       {kSide, kSide, kSide},
       {kSide / kTile, kSide / kTile, 1},
       {kTile, kTile, 1}},
  };
}

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// Adds count parameters, which are 32 or 64 bits wide according to the entry.
bool add_numbers(LaunchConfig& config, const gpuemu::EntryInfo& entry,
                 const std::vector<uint32_t>& numbers) {
  for (const uint32_t number : numbers) {
    if (config.args.size() >= entry.params.size()) return false;
    const bool wide = entry.params[config.args.size()].bytes == 8;
    config.args.push_back(wide ? bytes_of(uint64_t{number}) : bytes_of(number));
  }
  return config.args.size() == entry.params.size();
}

/// Processor time of this thread, which other load affects least.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string ptx_of(const Operation& operation) {
  if (!operation.text.empty()) return std::string(operation.text);
  const gpuemu::BuiltinKernel* kernel = gpuemu::find_builtin(operation.name);
  return kernel == nullptr ? std::string() : kernel->ptx();
}

/// A kernel ready to be launched on a separate device.
struct Prepared {
  std::unique_ptr<Device> device;
  gpuemu::ModuleId module = 0;
  LaunchConfig config;
  std::shared_ptr<const gpuemu::ShadowConfig> shadow;  ///< For the whole output.
};

/// Prints a message and returns an empty device if the kernel cannot run.
Prepared prepare(const Operation& operation, uint32_t threads) {
  Prepared made;
  std::unique_ptr<Device> device = gpuemu::make_emulator(
      {.sm = 80, .threads = threads, .memory_limit_bytes = uint64_t{1} << 30, .name = "bench"});
  const auto module = device->load_module(ptx_of(operation), operation.name);
  if (!module) return std::puts(module.error().message.c_str()), Prepared{};
  made.module = *module;
  LaunchConfig& config = made.config;
  config.entry = operation.entry;
  config.grid = operation.grid;
  config.block = operation.block;
  config.sanitize = {DeviceCheck::Memory};
  for (const uint32_t elements : operation.buffers) {
    const auto address = device->allocate(uint64_t{elements} * 4, "tensor");
    if (!address) return std::puts(address.error().message.c_str()), Prepared{};
    std::vector<float> values(elements);
    for (uint32_t i = 0; i < elements; ++i) values[i] = static_cast<float>(i % 97) * 0.0625f - 3.0f;
    const bool output = config.args.size() + 1 == operation.buffers.size();
    if (output) {
      gpuemu::ShadowConfig shadow;
      shadow.regions = {{*address, elements, sizeof(float)}};
      made.shadow = std::make_shared<const gpuemu::ShadowConfig>(std::move(shadow));
    }
    if (!output && !device->upload(*address, std::as_bytes(std::span(values))).ok()) return {};
    config.args.push_back(bytes_of(*address));
  }
  const auto entries = device->entries(*module);
  if (!entries) return {};
  const auto entry = std::ranges::find(*entries, config.entry, &gpuemu::EntryInfo::name);
  if (entry == entries->end() || !add_numbers(config, *entry, operation.numbers)) return {};
  made.device = std::move(device);
  return made;
}

/// One of the compared variants: a device, and the checks of its launches.
struct Variant {
  Prepared* prepared = nullptr;
  DeviceChecks sanitize = {DeviceCheck::Memory};
  bool shadow = false;  ///< Also computes the values without rounding.
};
struct Times {
  double processor = 0;         ///< The minimum for this thread.
  double wall = 0, median = 0;  ///< Minimum and median.
  uint64_t thread_instructions = 0;
};

/// Launches once, and adds the times to `times` and `walls` unless it is the first launch. Returns
/// whether it was faster than all before by more than the noise; prints a message and returns
/// nullopt if it cannot run.
std::optional<bool> launch_once(const Variant& variant, Times& times, std::vector<double>& walls,
                                bool first) {
  constexpr double kFaster = 0.99;
  Prepared& prepared = *variant.prepared;
  prepared.config.sanitize = variant.sanitize;
  prepared.config.shadow = variant.shadow ? prepared.shadow : nullptr;
  const double start = processor_seconds();
  const auto begin = std::chrono::steady_clock::now();
  const auto report = prepared.device->launch(prepared.module, prepared.config);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  const double processor = processor_seconds() - start;
  if (!report) return std::puts(report.error().message.c_str()), std::nullopt;
  if (!report->findings.empty()) std::puts(report->findings[0].message.c_str());
  times.thread_instructions = report->thread_instructions;
  if (first) return true;
  const bool faster =
      walls.empty() || processor < kFaster * times.processor || wall.count() < kFaster * times.wall;
  times.processor = walls.empty() ? processor : std::min(times.processor, processor);
  times.wall = walls.empty() ? wall.count() : std::min(times.wall, wall.count());
  walls.push_back(wall.count());
  return faster;
}

/// Launches every variant once per round, in alternating order, after a warm-up round, until none
/// got faster for this many rounds. Prints a message and returns nothing if one cannot run.
std::vector<Times> alternate_paths(const std::vector<Variant>& variants, int rounds) {
  constexpr int kLongest = 8;
  std::vector<Times> times(variants.size());
  std::vector<std::vector<double>> walls(variants.size());
  for (int round = 0, faster = 0; round <= faster + rounds && round <= kLongest * rounds; ++round) {
    for (size_t turn = 0; turn < variants.size(); ++turn) {
      const size_t which = round % 2 == 0 ? turn : variants.size() - 1 - turn;
      const auto gain = launch_once(variants[which], times[which], walls[which], round == 0);
      if (!gain) return {};
      if (*gain) faster = round;
    }
  }
  for (size_t which = 0; which < variants.size(); ++which) {
    std::ranges::sort(walls[which]);
    times[which].median = walls[which][walls[which].size() / 2];
  }
  return times;
}

/// Reads the output of the Python script of the baselines, "tool operation seconds scale" per line.
std::map<std::string, std::pair<double, double>> baselines(const std::string& python) {
  std::map<std::string, std::pair<double, double>> found;
  const std::string command =
      "'" + python + "' '" + GPUEMU_SOURCE_DIR + "/bench/emulator_bench_baselines.py'";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return found;
  char line[256], tool[32], name[64];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    double seconds = 0, scale = 1;
    if (std::sscanf(line, "%31s %63s %lf %lf", tool, name, &seconds, &scale) == 4) {
      found[std::string(tool) + " " + name] = {seconds, scale};
    } else {
      std::fputs(line, stdout);
    }
  }
  pclose(pipe);
  return found;
}

void print_ratio(const std::map<std::string, std::pair<double, double>>& base,
                 const std::string& key, double seconds) {
  const auto found = base.find(key);
  if (found == base.end() || seconds <= 0) {
    std::printf(" %13s", "not run");
  } else if (found->second.first * found->second.second >= seconds) {
    std::printf(" %6.1fx faster", found->second.first * found->second.second / seconds);
  } else {
    std::printf(" %6.1fx slower", seconds / found->second.first / found->second.second);
  }
}

using Baselines = std::map<std::string, std::pair<double, double>>;

struct Options {
  std::string python = "python3", only;
  int rounds = kRounds;
  bool wants(const Operation& operation) const { return only.empty() || only == operation.name; }
};

/// The checks whose cost is shown, each compared with bounds alone; the last is the default of a
/// config.
const std::vector<std::pair<const char*, DeviceChecks>>& policies() {
  static const std::vector<std::pair<const char*, DeviceChecks>> kAll = {
      {"init", {DeviceCheck::Memory, DeviceCheck::Init}},
      {"shared r.", {DeviceCheck::Memory, DeviceCheck::RaceShared}},
      {"global r.", {DeviceCheck::Memory, DeviceCheck::RaceGlobal}},
      {"all", {DeviceCheck::Memory, DeviceCheck::Init, DeviceCheck::Race, DeviceCheck::Sync}}};
  return kAll;
}

void print_throughput(const Options& options, const Baselines& base) {
  std::printf("%-12s %9s %9s | %-49s | %14s %15s %15s\n", "one thread", "bounds", "M thread-",
              "time by that with bounds alone", "against NumPy", "numba simulator",
              "Triton interp.");
  std::printf("%-12s %9s %9s |", "kernel, f32", "ms", "instr/s");
  for (const auto& [name, sanitize] : policies()) std::printf(" %9s", name);
  std::printf(" %9s |\n", "shadow");
  for (const Operation& operation : operations()) {
    if (!options.wants(operation)) continue;
    Prepared prepared = prepare(operation, 1);
    if (prepared.device == nullptr) continue;
    std::vector<Variant> variants = {{&prepared}};
    for (const auto& [name, sanitize] : policies()) variants.push_back({&prepared, sanitize});
    variants.push_back({&prepared, {DeviceCheck::Memory}, true});
    const std::vector<Times> times = alternate_paths(variants, options.rounds);
    if (times.empty()) continue;
    const Times& bounds = times[0];
    std::printf("%-12s %9.2f %9.0f |", operation.name, bounds.processor * 1e3,
                static_cast<double>(bounds.thread_instructions) / bounds.processor * 1e-6);
    for (size_t i = 1; i < times.size(); ++i) {
      std::printf(" %8.2fx", times[i].processor / bounds.processor);
    }
    std::printf(" |");
    for (const char* tool : {"numpy ", "numba-simulator ", "triton-interpreter "}) {
      print_ratio(base, std::string(tool) + operation.baseline, bounds.processor);
    }
    std::printf("\n");
  }
  std::printf(
      "plain_add, vector_add and gelu %u elements, softmax %u x %u, matmul %u^3. The simulator ran "
      "a part of "
      "each operation, its time is scaled by the number of elements.\n",
      kElements, kRows, kColumns, kSide);
}

/// Measures a device with one thread and one with two.
std::vector<Times> on_one_and_two(const Operation& operation, int rounds) {
  Prepared one = prepare(operation, 1), two = prepare(operation, 2);
  if (one.device == nullptr || two.device == nullptr) return {};
  return alternate_paths({{&one}, {&two}}, rounds);
}

void print_cores(const Options& options) {
  std::printf("\n%-12s %12s %12s\n", "bounds", "1 thread", "2 threads");
  for (const Operation& operation : operations()) {
    if (!options.wants(operation)) continue;
    const std::vector<Times> times = on_one_and_two(operation, 2 * options.rounds);
    if (times.empty()) continue;
    std::printf("%-12s %9.2f ms %9.2f ms  %5.2fx (%.2fx by the medians)\n", operation.name,
                times[0].wall * 1e3, times[1].wall * 1e3, times[0].wall / times[1].wall,
                times[0].median / times[1].median);
  }
}

void print_latency() {
  static constexpr uint32_t kThreads = 10240;
  constexpr int kLaunches = 500;
  const auto of = [](const char* name, std::string_view text, const char* entry, size_t buffers) {
    return Operation{name,
                     "",
                     text,
                     entry,
                     std::vector<uint32_t>(buffers, kThreads),
                     {kThreads},
                     {kThreads / kBlock, 1, 1},
                     {kBlock, 1, 1}};
  };
  std::printf("\nlaunch of %u threads, module loaded before, median of %d\n", kThreads, kLaunches);
  for (const Operation& operation :
       {of("scale", kScale, "scale", 2), of("plain_add", kAdd, "plain_add", 3),
        of("vector_add", "", "vector_add_float32", 3)}) {
    const std::vector<Times> times = on_one_and_two(operation, kLaunches);
    for (size_t i = 0; i < times.size(); ++i) {
      std::printf("%-12s %zu thread%s %8.1f us (%.1f)\n", operation.name, i + 1,
                  i == 0 ? ": " : "s:", times[i].median * 1e6, times[i].wall * 1e6);
    }
  }
}
}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--python") options.python = argv[i + 1];
    if (std::string(argv[i]) == "--only") options.only = argv[i + 1];
    if (std::string(argv[i]) == "--rounds") options.rounds = std::atoi(argv[i + 1]);
  }
  if (argc % 2 == 0 || options.rounds < 1) {
    std::fputs("usage: gpuemu_bench_emulator [--python PATH|none] [--only KERNEL] [--rounds N]\n",
               stderr);
    return 2;
  }
  print_throughput(options, options.python == "none" ? Baselines() : baselines(options.python));
  print_cores(options);
  print_latency();
  return 0;
}
