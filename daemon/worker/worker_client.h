// The daemon's side of one worker: starts it, feeds it, kills and restarts it. Used by one thread
// at a time.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "common/base/arena.h"
#include "common/base/result.h"
#include "daemon/worker/worker_link.h"

namespace gpuemu {

struct DeviceProperties;
struct EntryInfo;
struct ExecutionPlan;
struct ExecutionReport;

struct WorkerOptions {
  std::string program;  ///< Path of gpuemu-worker.
  std::string backend;  ///< "emulator", "cuda"
  int device_index = 0;
  std::string emulated_devices = {};  ///< As in runtime.emulated_devices; "": the environment's.
  int sm = 0;                         ///< Emulated compute capability; 0 = the default.
  uint32_t threads = 1;               ///< Emulator: threads per launch.
  std::string contraction = "auto";
  uint64_t contraction_seed = 0;  ///< Seed of contraction "random".
  uint64_t memory_limit_bytes = uint64_t{8}
                                << 30;  ///< Limit for all that the device holds at a time.
  uint64_t grace_ms = 5'000;            ///< Beyond a plan's time-out before the worker is killed.
};

class WorkerClient {
 public:
  /// Starts lazily at the first call. The arenas are those that plans name by their place; they
  /// must outlive it. A process by default.
  WorkerClient(WorkerOptions options, std::vector<const Arena*> arenas,
               const MakeWorkerLink& link = worker_process);
  ~WorkerClient();
  WorkerClient(const WorkerClient&) = delete;
  WorkerClient& operator=(const WorkerClient&) = delete;

  /// Properties of its device; starts it when needed.
  Result<DeviceProperties> properties();
  /// Entries of a PTX module. Compile for text that is not PTX.
  Result<std::vector<EntryInfo>> load(const std::string& key, const std::string& name,
                                      const std::string& ptx);
  /// Sends the plan and returns at once; REQUIRES: no plan in flight, module loaded with load().
  Status begin(const ExecutionPlan& plan);
  /// Waits for the answer of begin(). Unavailable when the worker died (the next call starts a
  /// fresh one and loads its plan's module again by itself), Timeout when it did not
  /// answer within the plan's time-out plus a grace (it is killed). Cancelled when it does not
  /// answer soon after `*cancel` became true (it is killed, too).
  Result<ExecutionReport> finish(const std::atomic<bool>* cancel = nullptr);
  /// -1 when it does not run now.
  int pid() const;
  uint64_t restarts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpuemu
