// Records what a program did and how long it took: ranges of host threads, ops on the device, and
// every kernel (on a GPU through CUPTI, if available; on the emulator with counters, if enabled).
// Costs nothing in programs that hold no Profiler.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ops/profile/memory_traffic.h"
#include "ops/profile/nvtx.h"
#include "ops/vendor/cupti.h"
#include "runtime/device/stream.h"
#include "runtime/profile/profile.h"

namespace gpuemu {

struct ProfilerOptions {
  bool counters = false;   ///< Emulator: count instructions, bytes and conflicts of every kernel;
                           ///< slower.
  bool nvtx = true;        ///< Emit ranges and ops as NVTX ranges too, for Nsight tools.
  bool kernels = true;     ///< GPU: record each kernel, including those of graphs.
  std::string cupti = {};  ///< Load this file instead of NVIDIA's, on any device; for tests.
  /// Limit of kept ranges, ops and kernels; later ones are only counted.
  size_t records_max = 1'000'000;
};

/// The statistics of all calls of one name.
struct TimeStatistics {
  uint64_t count = 0;
  double total_us = 0, min_us = 0, max_us = 0;
  double mean_us() const { return count == 0 ? 0 : total_us / static_cast<double>(count); }
  void add(double us);
};

/// The statistics of all launches of one entry.
struct KernelCounts {
  uint64_t launches = 0;
  TimeStatistics time;
  std::map<std::string, uint64_t> instructions;  ///< Thread instructions by group.
  uint64_t divergent_branches = 0;
  MemoryCount memory;
  SpaceBytes bytes;  ///< Moved by ld, st, atom, red, ldmatrix and stmatrix; in global memory by all
                     ///< instructions.
  std::optional<uint32_t> registers;    ///< Per thread, if a GPU reports it.
  std::optional<uint32_t> local_bytes;  ///< Per thread, if a GPU reports it.
};

/// An interval, in microseconds since the profiler began.
struct TraceSpan {
  std::string name;
  double begin_us = 0, duration_us = 0;
  uint64_t track = 0;  ///< Host thread, counted from 0; for ops the stream; for kernels CUPTI's
                       ///< stream.
  enum class Kind { Range, Op, Kernel } kind = Kind::Range;
  std::string geometry = {};  ///< Kernels of a GPU: "grid 4x1x1, block 256x1x1".
};

struct ProfileResult {
  std::vector<TraceSpan> spans;
  std::map<std::string, TimeStatistics> ops, ranges;
  std::map<std::string, KernelCounts> kernels;
  uint64_t dropped = 0;
  std::vector<std::string> notes;  ///< What is missing and why, one line each.
  /// Allocated bytes of device memory, by microseconds since the profiler began; a track of the
  /// trace. Filled in by the allocator's owner.
  std::vector<std::pair<double, uint64_t>> memory = {};

  /// Returns a trace for Perfetto and chrome://tracing.
  std::string chrome_trace() const;
  /// Returns {"ops": [...], "ranges": [...], "kernels": [...], "dropped": n, "notes": [...]}.
  std::string json() const;
};

/// Thread-safe.
class Profiler {
 public:
  /// `device` must outlive the profiler. Only one profiler with counters at a time: it sets the
  /// checks of the device's streams, and restores the defaults at its end.
  static Result<std::unique_ptr<Profiler>> create(Device& device, ProfilerOptions options);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// Begins a range of the calling thread; ranges nest. An end without a beginning is ignored.
  void begin_range(std::string_view name);
  void end_range();

  /// Marks the work that `name` issues on the stream. Captured work has no time yet and is not
  /// recorded.
  Status begin_op(std::string_view name, StreamId stream);
  Status end_op(StreamId stream);

  /// Waits for the device and ends everything that is open.
  Result<ProfileResult> stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct OpenRange {
    std::string name;
    double begin_us = 0;
  };
  struct PendingOp {
    std::string name;
    StreamId stream = 0;
    EventId begin = 0, end = 0;
  };

  Profiler(Streams& streams, ProfilerOptions options) : streams_(streams), options_(options) {}
  double now_us() const;
  uint64_t track_of_thread();
  bool full();
  void count(const std::string& entry, const LaunchReport& report);
  Status resolve(ProfileResult& result);
  /// Starts to record kernels, or notes why it cannot.
  void record_kernels();
  Status add_kernels(ProfileResult& result);

  Streams& streams_;
  const ProfilerOptions options_;
  std::unique_ptr<KernelRecorder> recorder_;
  uint64_t recorder_began_ns_ = 0;
  Clock::time_point started_;
  EventId base_ = 0;
  bool stopped_ = false;
  std::mutex mutex_;  ///< Guards all members below.
  std::map<std::thread::id, uint64_t> tracks_;
  std::map<uint64_t, std::vector<OpenRange>> open_;
  std::map<std::pair<std::thread::id, StreamId>, PendingOp> running_;
  std::vector<PendingOp> ops_;
  ProfileResult result_;
};

/// A range as long as the scope. A null profiler records nothing.
class ProfileRange {
 public:
  ProfileRange(Profiler* profiler, std::string_view name) : profiler_(profiler) {
    if (profiler_ != nullptr) profiler_->begin_range(name);
  }
  ~ProfileRange() {
    if (profiler_ != nullptr) profiler_->end_range();
  }
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;

 private:
  Profiler* profiler_;
};

}  // namespace gpuemu
