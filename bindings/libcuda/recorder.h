// Records the findings, launches and unsupported calls of this process for the report.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "bindings/libcuda/allocations.h"
#include "bindings/libcuda/call_sites/call_site.h"
#include "bindings/libcuda/launch_counter.h"
#include "bindings/libcuda/settings.h"
#include "bindings/libcuda/undefined_values.h"
#include "runtime/device/stream.h"
#include "runtime/run_record/run_record.h"

namespace gpuemu::libcuda {

/// An argument of a launch that may be an address, and its parameter's name.
struct PointerArgument {
  std::string name;
  uint64_t value = 0;
};

/// Under `gpuemu run` it writes each finding immediately to the process's file, so that a crash
/// loses none. Otherwise it prints the findings to stderr when the process exits. Thread-safe after
/// start().
class Recorder {
 public:
  /// Must be called once, before anything else. `allocations` must outlive the recorder.
  void start(const Settings& settings, const Allocations* allocations);
  /// Registers a launch before it is issued and returns its tag. `stays` is for a captured launch,
  /// which may run any number of times until launch_dropped(). `pointers` are the arguments that
  /// may be addresses.
  uint64_t launch_begins(StreamId stream, std::shared_ptr<const CallSite> site, bool stays,
                         std::vector<PointerArgument> pointers);
  /// A captured launch runs once more, in this stream. `is_certain`: it does not depend on a
  /// condition, so it counts as issued now and not when it ends.
  void launch_repeats(uint64_t tag, StreamId stream, bool is_certain);
  /// A captured launch will not run again: it is removed when its last run has ended.
  void launch_dropped(uint64_t tag);
  /// Removes a launch that could not be issued.
  void launch_refused(uint64_t tag);
  /// Counts a launch for which the program got an error.
  void launch_rejected() { launches_.reject(); }
  /// Records the findings of a launch that ran on `device`, and keeps the undefined values that it
  /// stored in undefined(). Returns the stream to which it was issued.
  StreamId launch_ended(int device, uint64_t tag, const LaunchReport& report);
  /// Records that an issued launch could not run, unless it is because the device is lost, which
  /// an earlier finding says.
  void launch_failed(uint64_t tag, const std::string& entry, const Error& why);
  UndefinedValues& undefined() { return undefined_; }
  /// Records a wrong call of the host. `what` is the allocation concerned, or null.
  void host_finding(const char* kind, const std::string& message, const char* call,
                    const Allocation* what, int64_t offset);
  /// Records a failed launch whose error was never read. `reason` is the error's text.
  void unchecked_launch(const CallSite& site, const std::string& entry, const std::string& reason);
  /// Records a finding, or counts it if it is already known.
  void add(RunFinding finding);
  /// Counts a call of a function that is not implemented.
  void unsupported(const char* call);
  /// Notes a kernel that is launched, and the pytest test that launches it.
  void count_kernel(const std::string& entry, const std::string& test);
  /// Completes the record when the process exits; with `--checks +leak` it looks for leaks first.
  void finish();

 private:
  struct Launch {
    StreamId stream = kDefaultStream;
    std::shared_ptr<const CallSite> site;
    bool stays = false, is_dropped = false;
    uint64_t runs = 0;  ///< Runs of a captured launch that have not ended.
    std::vector<PointerArgument> pointers;
    bool is_counted = false;  ///< As issued, see launch_repeats().
  };
  struct Known {
    RunFinding finding;
    uint64_t written = 0;  ///< The part of its count that is already in the file.
  };
  /// Returns a launch whose run has ended, and removes it unless it may run again.
  Launch end_run(uint64_t tag);
  /// Counts a known finding again, and writes it if it is the first one of its test.
  void add_again(Known& known, const RunFinding& again);
  /// Bounds and alignment are always checked; their findings are reported only with `memory`.
  bool is_wanted(DeviceFindingKind kind) const;
  void describe_allocation(RunFinding& finding, const DeviceFinding& seen,
                           const std::vector<PointerArgument>& pointers) const;
  void write(const std::string& line);
  void write_process();
  RunProcess process_record();

  Settings settings_;
  const Allocations* allocations_ = nullptr;
  UndefinedValues undefined_;
  std::atomic<uint64_t> next_tag_ = 1;
  LaunchCounter launches_;
  std::mutex mutex_;  ///< Guards the members below.
  std::FILE* file_ = nullptr;
  std::unordered_map<uint64_t, Launch> running_;
  std::vector<Known> findings_;
  std::map<std::string, size_t> by_key_;
  std::map<std::string, uint64_t> unsupported_;
  std::map<std::string, std::set<std::string>> kernels_;  ///< With the tests that launched them.
};

}  // namespace gpuemu::libcuda
