// Input and output of the tape scheduler: input tape, output queue, handles, ticks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/numeric/dtype.h"

namespace gpuemu::tape {

/// Largest name of a tensor, in bytes.
inline constexpr size_t kIdBytesMax = 64;
inline constexpr uint32_t kDevicesMax = 256;
inline constexpr double kLatencyUs = 10, kBytesPerUs = 10'000;

/// Ops that make no tensor.
inline constexpr std::string_view kFetch = "fetch", kDrop = "drop";
/// Ops without inputs that exist only in tapes.
inline constexpr std::string_view kRandn = "randn", kOnes = "ones", kTensor = "tensor";

/// A line of the input tape.
struct Entry {
  uint64_t seq = 0;
  std::string session;  ///< Name of the session.
  std::string id;       ///< "" for fetch and drop.
  std::string op;
  std::vector<std::string> inputs;
  std::vector<int64_t> shape = {};
  DType dtype = DType::Float32;
  std::string attrs = "{}";                          ///< A JSON object.
  std::optional<uint64_t> bytes = {}, cost_us = {};  ///< Absent: computed from the rest.
  uint64_t at = 0;                                   ///< Tick in which it is admitted.

  bool makes_tensor() const { return op != kFetch && op != kDrop; }
  /// Returns whether the op is one without inputs that exists only in tapes.
  bool is_tape_leaf() const { return op == kRandn || op == kOnes || op == kTensor; }
  bool is_leaf() const { return makes_tensor() && inputs.empty(); }
  bool operator==(const Entry&) const = default;
};

enum class Kind : uint8_t { Run, Move, Spill, Load, Fetch, Free };
std::string_view name_of(Kind kind);  ///< "run"
std::optional<Kind> kind_from_name(std::string_view name);

/// A line of the output queue.
struct Queued {
  uint64_t pos = 0;
  Kind kind = Kind::Run;
  std::optional<uint64_t> seq = {};  ///< The tape's entry; none for lines that the scheduler adds.
  std::string session, id;           ///< The tensor.
  std::optional<uint32_t> device = {};  ///< None: all devices (free), or the host's copy (fetch).
  std::optional<uint32_t> from = {};    ///< Source of a move.
  uint64_t bytes = 0;                   ///< Bytes that a move, spill or load copies.
  std::vector<uint64_t> needs = {};     ///< Positions that must have ended; ascending.
  /// 1 or 2 if it is a repetition, because its result was lost with its device.
  uint32_t attempt = 0;
  bool operator==(const Queued&) const = default;
};

enum class State : uint8_t { Pending, Ready, Spilled, Freed, Lost, Failed };
std::string_view name_of(State state);  ///< "pending"
std::optional<State> state_from_name(std::string_view name);

/// The location of a tensor.
struct Handle {
  std::string id, session;
  std::vector<uint32_t> devices = {};  ///< Ascending.
  bool host = false;
  uint64_t bytes = 0, refs = 0;
  State state = State::Pending;
  bool operator==(const Handle&) const = default;
};

struct Tick {
  uint64_t tick = 0, time_us = 0;
  std::vector<uint64_t> started = {}, ended = {};  ///< Positions, in this order.
  std::vector<std::optional<uint64_t>> busy = {};  ///< The position that each device executes.
  uint64_t waiting = 0;                            ///< Admitted ops that have not started.
  bool operator==(const Tick&) const = default;
};

struct Device {
  uint32_t index = 0;
  std::string name, worker_id;
  uint64_t memory_bytes = 0;  ///< 0: no limit.
  double latency_us = kLatencyUs, bytes_per_us = kBytesPerUs;
  bool operator==(const Device&) const = default;
};

struct Session {
  std::string name;
  double weight = 1;
  uint64_t device_us = 0;  ///< Estimated, for placed ops.
  bool operator==(const Session&) const = default;
};

enum class Policy : uint8_t { Balanced, Locality };
std::string_view name_of(Policy policy);  ///< "balanced"
std::optional<Policy> policy_from_name(std::string_view name);

struct Totals {
  uint64_t ops = 0, moves = 0, moved_bytes = 0, spills = 0, makespan_us = 0;
  bool operator==(const Totals&) const = default;
};

/// The content of a trace file.
struct Trace {
  std::string gpuemu;  ///< Version of the program that wrote it.
  uint64_t seed = 0;
  Policy policy = Policy::Balanced;
  bool simulated = true;
  std::vector<Device> devices = {};
  std::vector<Session> sessions = {};
  std::vector<Entry> input_tape = {};
  std::vector<Queued> output_queue = {};
  std::vector<Handle> handles = {};
  std::vector<Tick> ticks = {};
  Totals totals = {};
  bool operator==(const Trace&) const = default;
};

}  // namespace gpuemu::tape
