// Measures the scheduling of an op of a tape, compared with hashing its line: the tape is a random
// program.
//   gpuemu_bench_tape [ops = 100000]
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <time.h>

#include "runtime/tape/scheduler.h"

namespace {

using gpuemu::tape::Device;
using gpuemu::tape::Entry;
using gpuemu::tape::Scheduler;

/// Processor time, which other load on the machine affects least.
double seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// A tenth are leaves, the others read two of the last 50 values; each value is dropped after 50
/// more.
std::vector<Entry> program(size_t ops, size_t sessions) {
  std::mt19937_64 random(1);
  std::vector<Entry> tape;
  for (size_t i = 0; i < ops; ++i) {
    const std::string session = fmt::format("s{}", i % sessions);
    const auto name = [&](size_t number) { return fmt::format("t{}", number); };
    Entry entry{.session = session, .id = name(i), .op = "ones", .shape = {4, 4}};
    const size_t own = i / sessions;
    if (own > 0 && random() % 10 != 0) {
      entry.op = "add";
      for (int input = 0; input < 2; ++input) {
        const size_t back = 1 + random() % std::min<size_t>(own, 40);
        entry.inputs.push_back(name(i - back * sessions));
      }
    }
    tape.push_back(std::move(entry));
    if (own >= 50) {
      tape.push_back({.session = session, .op = "drop", .inputs = {name(i - 50 * sessions)}});
    }
  }
  return tape;
}

double microseconds_of_an_op(size_t ops, uint32_t devices, size_t sessions, uint64_t memory) {
  std::vector<Entry> tape = program(ops, sessions);
  std::vector<Device> all;
  for (uint32_t i = 0; i < devices; ++i) all.push_back({.index = i, .memory_bytes = memory});
  const double begin = seconds();
  Scheduler scheduler({.devices = std::move(all)});
  if (!scheduler.add(std::move(tape))) std::abort();
  while (scheduler.step()) {
  }
  return (seconds() - begin) * 1e6 / static_cast<double>(ops);
}

/// Looks up the same lines by name in a hash table, which every scheduler must do.
double microseconds_of_a_lookup(size_t ops) {
  const std::vector<Entry> tape = program(ops, 1);
  const double begin = seconds();
  std::unordered_map<std::string, size_t> numbers;
  size_t sum = 0;
  for (const Entry& entry : tape) {
    for (const std::string& input : entry.inputs) sum += numbers[input];
    if (entry.makes_tensor()) numbers[entry.id] = sum;
  }
  return (seconds() - begin) * 1e6 / static_cast<double>(ops);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t ops = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  const double lookup = microseconds_of_a_lookup(ops);
  std::printf("%-44s %8s %8s\n", "scheduling an op", "us", "lookups");
  struct Row {
    const char* what;
    uint32_t devices;
    size_t sessions;
    uint64_t memory;
  };
  for (const Row& row : {Row{"1 device", 1, 1, 0}, Row{"8 devices", 8, 1, 0},
                         Row{"8 devices, 64 sessions", 8, 64, 0},
                         Row{"2 devices that hold 40 tensors each", 2, 1, 40 * 64}}) {
    const double us = microseconds_of_an_op(ops, row.devices, row.sessions, row.memory);
    std::printf("%-44s %8.2f %8.1f\n", row.what, us, us / lookup);
  }
  return 0;
}
