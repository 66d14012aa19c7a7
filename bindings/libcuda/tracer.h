// Writes the times of driver functions and kernels, for `gpuemu run --trace`.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "bindings/libcuda/settings.h"
#include "runtime/device/stream.h"

namespace gpuemu::libcuda {

/// Thread-safe after start(). Does nothing unless the run is traced.
class Tracer {
 public:
  /// Must be called once, before anything else.
  void start(const Settings& settings);
  bool is_on() const { return is_on_; }
  /// Writes a driver function of this thread; times are those of now_ns().
  void call(const char* name, uint64_t begin_ns, uint64_t end_ns);
  /// Writes a kernel that has just ended.
  void kernel(const std::string& entry, int device, StreamId stream, const LaunchReport& report);

 private:
  void write(uint64_t row, const std::string& row_name, const std::string& line);

  std::atomic<bool> is_on_ = false;
  std::mutex mutex_;  ///< Guards the members below.
  std::FILE* file_ = nullptr;
  std::set<uint64_t> rows_;  ///< Rows whose names are written.
};

/// CLOCK_MONOTONIC.
uint64_t now_ns();

/// Lives as long as a driver function runs. Only the outermost one of a thread counts, so that a
/// function is traced under its own name and not under that of a helper.
class CallScope {
 public:
  /// `name` must live as long as the process.
  explicit CallScope(const char* name);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  const char* name_ = nullptr;
  uint64_t begin_ns_ = 0;
};

}  // namespace gpuemu::libcuda
