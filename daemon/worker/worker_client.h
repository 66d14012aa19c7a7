// The daemon's side of one worker: starts it, feeds it, kills and restarts it. Used by one thread
// at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/arena.h"
#include "common/base/result.h"
#include "daemon/process/child_process.h"

namespace gpuemu {

struct DeviceProperties;
struct EntryInfo;
struct ExecutionPlan;
struct ExecutionReport;

inline constexpr uint64_t kTapeRequestMs = 600'000;

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
  /// Folder for the kernels of tapes, which the worker compiles itself; "": they are not kept.
  std::string cache_folder = {};
  uint64_t grace_ms = 5'000;  ///< Beyond a plan's time-out before the worker is killed.
  /// A request of a tape takes at most this long, with the compilation of its kernel.
  uint64_t ask_ms = kTapeRequestMs;
};

/// How messages reach a worker and its answers come back: one worker at a time, which may be
/// started again once it has ended. Used by one thread at a time.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  /// REQUIRES: none runs. Unavailable when it cannot be started. The arenas are those that plans
  /// name by their place.
  virtual Status start(const WorkerOptions& options, std::span<const Arena* const> arenas) = 0;
  /// Whether it has not ended yet.
  virtual bool running() = 0;
  /// Unavailable when the worker is gone, Timeout at the deadline.
  virtual Status send(std::span<const std::byte> bytes, Deadline deadline) = 0;
  /// Appends what has arrived, at least one byte, at most `bytes_max`; errors as send().
  virtual Status receive(std::vector<std::byte>& to, size_t bytes_max, Deadline deadline) = 0;
  /// Ends it now, whatever it does.
  virtual void kill() = 0;
  /// Asks it to end and waits until the deadline; then kill().
  virtual void stop(Deadline deadline) = 0;
  /// -1 when it does not run or is not a process.
  virtual int pid() const = 0;
  /// The last that it wrote about its troubles.
  virtual std::string error_tail() = 0;
  /// "exit code 3", "signal 11 (Segmentation fault)"; "" while it runs or where nothing is known.
  virtual std::string ending() const = 0;
};

using MakeWorkerLink = std::function<std::unique_ptr<WorkerLink>()>;

/// A process of WorkerOptions::program.
std::unique_ptr<WorkerLink> worker_process();

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
  /// The same with what encode_plan() makes of it, for callers that do it before their turn.
  Status begin(const ExecutionPlan& plan, const std::vector<std::byte>& message);
  /// Waits for the answer of begin(). Unavailable when the worker died (the next call starts a
  /// fresh one and loads its plan's module again by itself), Timeout when it did not
  /// answer within the plan's time-out plus a grace (it is killed). Cancelled when it does not
  /// answer soon after `*cancel` became true (it is killed, too).
  Result<ExecutionReport> finish(const std::atomic<bool>* cancel = nullptr);
  /// The answer to a request of daemon/tapes. Unavailable once the worker is gone: what it kept is
  /// gone, too, and no other is started. Timeout where the request takes longer than
  /// WorkerOptions::ask_ms; the worker is killed then. REQUIRES: it was started, no plan in flight.
  Result<std::vector<std::byte>> ask(std::span<const std::byte> request);
  /// Whether it was started and has not ended.
  bool runs();
  /// -1 when it does not run now.
  int pid() const;
  uint64_t restarts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpuemu
