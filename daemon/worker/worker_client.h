// The daemon's side of one worker: starts it, sends it work, kills and restarts it. Not
// thread-safe.
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
  std::string emulated_devices = {};  ///< See runtime.emulated_devices; "": from the environment.
  int sm = 0;                         ///< Emulated compute capability; 0: the default.
  uint32_t threads = 1;               ///< Emulator: threads per launch.
  std::string contraction = "auto";
  uint64_t contraction_seed = 0;  ///< Seed of contraction "random".
  uint64_t memory_limit_bytes = uint64_t{8}
                                << 30;  ///< Limit for all that the device holds at a time.
  /// Folder for the kernels of tapes, which the worker compiles itself; "": not cached.
  std::string cache_folder = {};
  uint64_t grace_ms = 5'000;  ///< Time beyond a plan's timeout before the worker is killed.
  /// Limit of a tape's request, including compiling its kernel.
  uint64_t ask_ms = kTapeRequestMs;
};

/// Sends messages to a worker and receives its answers. One worker at a time; it can be started
/// again once it has ended. Not thread-safe.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  /// Starts the worker. Requires that none runs. Unavailable if it cannot be started. Plans refer
  /// to the arenas by index.
  virtual Status start(const WorkerOptions& options, std::span<const Arena* const> arenas) = 0;
  /// Returns whether it has not ended yet.
  virtual bool running() = 0;
  /// Unavailable if the worker is gone, Timeout at the deadline.
  virtual Status send(std::span<const std::byte> bytes, Deadline deadline) = 0;
  /// Appends what has arrived, from one byte to `bytes_max`; errors as for send().
  virtual Status receive(std::vector<std::byte>& to, size_t bytes_max, Deadline deadline) = 0;
  /// Kills it immediately.
  virtual void kill() = 0;
  /// Asks it to end and waits until the deadline; then calls kill().
  virtual void stop(Deadline deadline) = 0;
  /// Returns -1 if it does not run or is not a process.
  virtual int pid() const = 0;
  /// Returns the end of its error output.
  virtual std::string error_tail() = 0;
  /// Returns for example "exit code 3" or "signal 11 (Segmentation fault)"; "" while it runs or if
  /// it is unknown.
  virtual std::string ending() const = 0;
};

using MakeWorkerLink = std::function<std::unique_ptr<WorkerLink>()>;

/// Returns a link to a process of WorkerOptions::program.
std::unique_ptr<WorkerLink> worker_process();

class WorkerClient {
 public:
  /// Starts on first use. Plans refer to the arenas by index; they must outlive this object. By
  /// default the worker is a process.
  WorkerClient(WorkerOptions options, std::vector<const Arena*> arenas,
               const MakeWorkerLink& link = worker_process);
  ~WorkerClient();
  WorkerClient(const WorkerClient&) = delete;
  WorkerClient& operator=(const WorkerClient&) = delete;

  /// Returns the properties of its device; starts it if necessary.
  Result<DeviceProperties> properties();
  /// Returns the entries of a PTX module. Compile for text that is not valid PTX.
  Result<std::vector<EntryInfo>> load(const std::string& key, const std::string& name,
                                      const std::string& ptx);
  /// Sends the plan and returns; a plan behind another one may be sent with the next call that
  /// waits or looks. The worker runs plans in the order in which they were begun; only one of each
  /// arena may be in flight. Requires the module loaded with load().
  Status begin(const ExecutionPlan& plan);
  /// Does so with the result of encode_plan(), for callers that encode before their turn.
  Status begin(const ExecutionPlan& plan, std::vector<std::byte> message);
  /// Waits for the answer to begin() of this arena. Errors: Unavailable if the worker ended (a new
  /// one gets the plans after this one, and their modules), Timeout if it did not answer within the
  /// plan's timeout plus a grace period (it is killed), Cancelled if it did not answer soon after
  /// `*cancel` became true (it is killed too).
  Result<ExecutionReport> finish(const std::atomic<bool>* cancel = nullptr, uint32_t arena = 0);
  /// Receives the answers that have arrived, without waiting.
  void look();
  /// Returns whether no plan waits for its answer. finish() then returns at once.
  bool is_idle() const;
  /// Returns the answer to a request of daemon/tapes. Unavailable once the worker is gone: its
  /// tensors are lost, and no other is started. Timeout if the request takes longer than
  /// WorkerOptions::ask_ms; the worker is then killed. Requires that it was started and no plan is
  /// in flight.
  Result<std::vector<std::byte>> ask(std::span<const std::byte> request);
  /// Returns whether it was started and has not ended.
  bool runs();
  /// Returns -1 if it does not run.
  int pid() const;
  uint64_t restarts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpuemu
