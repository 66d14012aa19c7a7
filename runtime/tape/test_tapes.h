// Test helpers of this folder: compact notation for tapes, and a checker of output queues.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/tape/scheduler.h"

namespace gpuemu::tape {

inline Entry op(const std::string& id, const std::string& name, std::vector<std::string> inputs,
                uint64_t bytes = 64, uint64_t cost_us = 5) {
  return {.session = "alice",
          .id = id,
          .op = name,
          .inputs = std::move(inputs),
          .shape = {static_cast<int64_t>(bytes / 4)},
          .bytes = bytes,
          .cost_us = cost_us};
}
inline Entry leaf(const std::string& id, uint64_t bytes = 64) { return op(id, "ones", {}, bytes); }
inline Entry fetch(const std::string& id) {
  return {.session = "alice", .op = "fetch", .inputs = {id}};
}
inline Entry drop(const std::string& id) {
  return {.session = "alice", .op = "drop", .inputs = {id}};
}
inline Entry of(const std::string& session, Entry entry) {
  entry.session = session;
  return entry;
}

inline std::vector<Device> devices(size_t count, uint64_t memory_bytes = 0) {
  std::vector<Device> all;
  for (uint32_t i = 0; i < count; ++i) {
    all.push_back({.index = i, .name = "emulated", .memory_bytes = memory_bytes});
  }
  return all;
}

inline Trace scheduled(const std::vector<Entry>& tape, Settings settings) {
  Scheduler scheduler(std::move(settings));
  const auto added = scheduler.add(tape);
  EXPECT_TRUE(added) << added.error().message;
  while (scheduler.step()) {
  }
  return scheduler.trace();
}

/// Executes an output queue line by line, in the order of positions.
class Replay {
 public:
  explicit Replay(const Trace& trace) : trace_(trace), used_(trace.devices.size()) {}

  /// Returns "" if the queue is valid, else the first problem.
  std::string problem() {
    for (const Queued& line : trace_.output_queue) {
      std::string wrong = execute(line);
      if (wrong.empty()) wrong = needs_problem(line);
      if (!wrong.empty()) return fmt::format("line {} ({}): {}", line.pos, line.id, wrong);
    }
    return ticks_problem();
  }

 private:
  using Tensor = std::pair<std::string, std::string>;
  static constexpr int kHost = -1;

  std::string execute(const Queued& line) {
    const Tensor tensor{line.session, line.id};
    std::set<int>& places = places_[tensor];
    const int device = line.device ? static_cast<int>(*line.device) : kHost;
    switch (line.kind) {
      case Kind::Run: {
        const Entry& entry = trace_.input_tape[*line.seq];
        for (const std::string& id : entry.inputs) {
          if (!places_[{entry.session, id}].contains(device)) return "input " + id + " is missing";
        }
        if (!ran_.insert(*line.seq).second) return "it ran before";
        bytes_[tensor] = *entry.bytes;
        return put(tensor, device);
      }
      case Kind::Move:
        if (!places.contains(static_cast<int>(*line.from))) return "nothing at the source";
        if (places.contains(device)) return "it is there already";
        return put(tensor, device);
      case Kind::Load:
        if (!places.contains(kHost)) return "nothing at the host";
        places.erase(kHost);
        return put(tensor, device);
      case Kind::Spill:
        if (!places.contains(device)) return "nothing to spill";
        take(tensor, device);
        places.insert(kHost);
        return "";
      case Kind::Fetch:
        return places.contains(device) ? "" : "nothing to fetch";
      case Kind::Free:
        if (places.empty()) return "it is free already";
        for (const int place : std::set<int>(places)) {
          if (!line.device || place == device) take(tensor, place);
        }
        return "";
    }
    return "an unknown kind";
  }
  std::string put(const Tensor& tensor, int device) {
    places_[tensor].insert(device);
    uint64_t& used = used_[static_cast<size_t>(device)];
    used += bytes_[tensor];
    const uint64_t limit = trace_.devices[static_cast<size_t>(device)].memory_bytes;
    return limit != 0 && used > limit ? "the device's memory is exceeded" : "";
  }
  void take(const Tensor& tensor, int place) {
    places_[tensor].erase(place);
    if (place != kHost) used_[static_cast<size_t>(place)] -= bytes_[tensor];
  }
  static std::string needs_problem(const Queued& line) {
    for (const uint64_t pos : line.needs) {
      if (pos >= line.pos) return "it needs a later line";
    }
    return "";
  }
  /// Checks that each line starts and ends once, after what it needs, and that a device runs one at
  /// a time.
  std::string ticks_problem() {
    std::map<uint64_t, int> state;  // 1: started, 2: ended.
    for (const Tick& tick : trace_.ticks) {
      for (const uint64_t pos : tick.ended) {
        if (state[pos]++ != 1) return fmt::format("line {} ends at a wrong time", pos);
      }
      std::set<uint32_t> starting;
      for (const uint64_t pos : tick.started) {
        if (state[pos]++ != 0) return fmt::format("line {} starts twice", pos);
        const Queued& line = trace_.output_queue[pos];
        for (const uint64_t needed : line.needs) {
          if (state[needed] != 2) return fmt::format("line {} starts before {} ends", pos, needed);
        }
        if (line.device && !starting.insert(*line.device).second) return "a device starts two";
      }
    }
    for (const Queued& line : trace_.output_queue) {
      if (state[line.pos] != 2) return fmt::format("line {} never ends", line.pos);
    }
    return "";
  }

  const Trace& trace_;
  std::vector<uint64_t> used_;
  std::map<Tensor, std::set<int>> places_;
  std::map<Tensor, uint64_t> bytes_;
  std::set<uint64_t> ran_;
};

}  // namespace gpuemu::tape
