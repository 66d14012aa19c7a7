// What this process leaves for the report: its findings, launches and the calls that there are not.
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
#include "bindings/libcuda/call_site.h"
#include "bindings/libcuda/settings.h"
#include "runtime/device/stream.h"
#include "runtime/run_record/run_record.h"

namespace gpuemu::libcuda {

/// Any thread. With `gpuemu run` every finding is in the process's file as soon as it is known, so
/// that a program that crashes loses none; without it they are told on stderr at the end.
class Recorder {
 public:
  /// Once, before the others.
  void start(const Settings& settings, const Allocations* allocations);
  /// A launch that is about to be issued: its tag. `stays` for one that may run again, in a graph.
  uint64_t launch_begins(StreamId stream, std::shared_ptr<const CallSite> site, bool stays);
  /// It was refused.
  void launch_refused(uint64_t tag);
  /// It ran: its findings are recorded. The stream that it was issued to.
  StreamId launch_ended(uint64_t tag, const LaunchReport& report);
  /// A wrong call of the host. `what` says of the memory concerned what is known, null for none.
  void host_finding(const char* kind, const std::string& message, const char* call,
                    const Allocation* what, int64_t offset);
  void unsupported(const char* call);
  void count_kernel(const std::string& entry);
  /// At the end of the process.
  void finish();

 private:
  struct Launch {
    StreamId stream = kDefaultStream;
    std::shared_ptr<const CallSite> site;
    bool stays = false;
  };
  struct Known {
    RunFinding finding;
    uint64_t written = 0;  ///< What the file says of its count.
  };
  void add(RunFinding finding);
  void describe_allocation(RunFinding& finding, const DeviceFinding& seen) const;
  void write(const std::string& line);
  void write_process();

  Settings settings_;
  const Allocations* allocations_ = nullptr;
  std::atomic<uint64_t> next_tag_ = 1, launches_ = 0;
  std::mutex mutex_;  ///< Guards what follows.
  std::FILE* file_ = nullptr;
  std::unordered_map<uint64_t, Launch> running_;
  std::vector<Known> findings_;
  std::map<std::string, size_t> by_key_;
  std::map<std::string, uint64_t> unsupported_;
  std::set<std::string> kernels_;
};

}  // namespace gpuemu::libcuda
