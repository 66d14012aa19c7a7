// Measures the caching allocator, compared with the device's own, and how much memory it wastes on
// a recorded fuzzing trace with size classes of several widths.
//   gpuemu_bench_memory [--backend emulator|cuda = emulator] [--trace FILE]
// A line of the trace is "a ID BYTES" or "f ID".
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ops/memory/pool.h"
#include "runtime/backends/backends.h"

namespace {

using gpuemu::Device;
using gpuemu::Pool;
using gpuemu::PoolOptions;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 400, kPairs = 100, kReplays = 15;
constexpr uint64_t kSizes[] = {256, 4096, 100'000, 1 << 20, 16 << 20};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<int>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// Nanoseconds of one allocate and of one free.
struct Cost {
  double allocate = 0, free = 0;
};

/// Allocates `pairs` addresses, then frees them, `rounds` times.
template <typename Allocate, typename Free>
Cost cost_of(int rounds, int pairs, Allocate allocate, Free give_back) {
  std::vector<double> takes, gives;
  std::vector<uint64_t> addresses(static_cast<size_t>(pairs));
  for (int i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    for (uint64_t& address : addresses) address = allocate();
    const auto middle = Clock::now();
    for (const uint64_t address : addresses) give_back(address);
    const auto end = Clock::now();
    const auto each = [&](auto time) {
      return std::chrono::duration<double, std::nano>(time).count() / pairs;
    };
    takes.push_back(each(middle - begin));
    gives.push_back(each(end - middle));
  }
  return {median(takes), median(gives)};
}

void compare(Device& device) {
  std::printf("%-12s %22s %22s %8s\n", "bytes", "pool, ns (take/free)", "device, ns", "ratio");
  for (const uint64_t bytes : kSizes) {
    Pool pool(gpuemu::device_memory(device), {});
    // One round uses at most 256 MiB.
    const int pairs = static_cast<int>(std::clamp<uint64_t>((256 << 20) / bytes, 4, kPairs));
    const auto cached = cost_of(
        kRounds, pairs, [&] { return *pool.allocate(bytes, "bench"); },
        [&](uint64_t address) { (void)pool.free(address); });
    const auto own = cost_of(
        5, std::min(pairs, 20), [&] { return *device.allocate(bytes, "bench"); },
        [&](uint64_t address) { (void)device.free(address); });
    std::printf("%-12llu %10.0f /%10.0f %10.0f /%10.0f %8.0f\n",
                static_cast<unsigned long long>(bytes), cached.allocate, cached.free, own.allocate,
                own.free, (own.allocate + own.free) / (cached.allocate + cached.free));
  }
}

struct Event {
  bool is_free = false;
  uint64_t id = 0, bytes = 0;
};

std::vector<Event> read_trace(const std::string& file) {
  std::vector<Event> out;
  std::ifstream in(file);
  std::string what;
  while (in >> what) {
    Event event{what == "f"};
    in >> event.id;
    if (!event.is_free) in >> event.bytes;
    out.push_back(event);
  }
  return out;
}

/// Returns false if the trace does not fit the device.
bool replay(Pool& pool, const std::vector<Event>& trace) {
  std::map<uint64_t, uint64_t> live;
  for (const Event& event : trace) {
    if (event.is_free) {
      (void)pool.free(live[event.id]);
      continue;
    }
    const auto address = pool.allocate(event.bytes, "trace");
    if (!address) return false;
    live[event.id] = *address;
  }
  return true;
}

/// Replays the same trace without a pool.
void replay_bare(Device& device, const std::vector<Event>& trace) {
  std::map<uint64_t, uint64_t> live;
  for (const Event& event : trace) {
    if (event.is_free) {
      (void)device.free(live[event.id]);
    } else {
      live[event.id] = *device.allocate(event.bytes, "trace");
    }
  }
}

/// Returns the median time of the whole trace in microseconds.
template <typename Replay>
double replay_us(Replay replay) {
  std::vector<double> times;
  for (int i = 0; i < kReplays; ++i) {
    const auto begin = Clock::now();
    replay();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return median(times);
}

void time_trace(Device& device, const std::vector<Event>& trace) {
  Pool pool(gpuemu::device_memory(device), {});
  const double bare = replay_us([&] { replay_bare(device, trace); });
  const double pooled = replay_us([&] { (void)replay(pool, trace); });
  std::printf("the trace from the device %.0f us, from the pool %.0f us, ratio %.1f\n", bare,
              pooled, bare / pooled);
}

int fragment(Device& device, const std::string& file) {
  const std::vector<Event> trace = read_trace(file);
  if (trace.empty()) {
    std::fprintf(stderr, "no events in %s; record a trace first\n", file.c_str());
    return 3;
  }
  std::printf("\n%zu events of %s\n%-20s %16s %16s %16s %14s %10s\n", trace.size(), file.c_str(),
              "classes a doubling", "peak live", "held then", "peak reserved", "fragmentation",
              "segments");
  for (const uint32_t steps : {1U, 2U, 4U, 8U, 16U}) {
    Pool pool(gpuemu::device_memory(device), PoolOptions{.classes_per_doubling = steps});
    if (!replay(pool, trace)) return 3;
    const auto all = pool.statistics();
    std::printf("%-20u %16llu %16llu %16llu %13.1f%% %10llu\n", steps,
                static_cast<unsigned long long>(all.peak_requested_bytes),
                static_cast<unsigned long long>(all.peak_held_bytes),
                static_cast<unsigned long long>(all.peak_reserved_bytes), 100 * all.fragmentation(),
                static_cast<unsigned long long>(all.segments_taken));
  }
  time_trace(device, trace);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string backend = "emulator", trace = GPUEMU_SOURCE_DIR "/bench/fuzz_allocations.txt";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--backend") {
      backend = argv[i + 1];
    } else if (option == "--trace") {
      trace = argv[i + 1];
    }
  }
  gpuemu::DeviceRequest request;
  request.backend = backend;
  auto device = gpuemu::open_device(request);
  if (!device) {
    std::fprintf(stderr, "%s\n", device.error().message.c_str());
    return 3;
  }
  // With a second thread, which every program on a GPU has, locks have their usual cost.
  std::thread([] {}).join();
  std::printf("%s\n", (*device)->properties().name.c_str());
  compare(**device);
  return fragment(**device, trace);
}
