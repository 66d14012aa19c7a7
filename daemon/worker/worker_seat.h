// A slot's place at a worker, which slots share: its plans run one after the other while the other
// slots draw, compute references and compare. A plan goes to a remote worker where one is idle.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/worker/remote_pool.h"
#include "daemon/worker/worker_process.h"

namespace gpuemu {

struct DeviceProperties;
struct ExecutionPlan;
struct ExecutionReport;

/// A worker and whose turn it is. Thread-safe; used through seats.
struct SharedWorker {
  /// As WorkerProcess has it; seat `i` uses arena `i`. `elsewhere` may be null.
  SharedWorker(WorkerOptions given, const std::vector<Arena*>& memory,
               std::shared_ptr<RemotePool> elsewhere = nullptr)
      : options(std::move(given)),
        arenas(memory),
        remotes(std::move(elsewhere)),
        process(options, {memory.begin(), memory.end()}) {}

  const WorkerOptions options;
  const std::vector<Arena*> arenas;
  const std::shared_ptr<RemotePool> remotes;
  std::mutex turn;  ///< Guards the process.
  WorkerProcess process;
  /// The process at the end of the last turn; does not wait for one.
  std::atomic<int> pid = -1;
  std::atomic<uint64_t> restarts = 0;
};

/// Used by one thread at a time. Errors are those of WorkerProcess.
class WorkerSeat {
 public:
  WorkerSeat(std::shared_ptr<SharedWorker> worker, uint32_t arena)
      : worker_(std::move(worker)), arena_(arena) {}

  Result<DeviceProperties> properties();
  /// Takes an idle remote worker; else waits for its turn, loads the module where the worker does
  /// not have it, and sends the plan, whose arena becomes this seat's. REQUIRES: no plan of this
  /// seat in flight.
  Status begin(const std::string& key, const std::string& name, const std::string& ptx,
               ExecutionPlan plan);
  /// Waits for the answer of a begin() that succeeded; the turn is the next seat's then. A plan
  /// whose remote worker is lost runs on another, or here; Unavailable after the second loss.
  Result<ExecutionReport> finish();
  /// begin() and finish() are Cancelled once `*cancel` is true, which must outlive their use. For
  /// ever when null.
  void stop_when(const std::atomic<bool>* cancel) {
    cancel_ = cancel;
    cancelled_ = false;
  }
  /// Whether one of them was, since stop_when().
  bool was_cancelled() const { return cancelled_; }

  int pid() const { return worker_->pid; }
  uint64_t restarts() const { return worker_->restarts; }

 private:
  /// A plan that a remote worker has.
  struct Elsewhere {
    std::unique_ptr<RemoteWorker> worker;
    ModuleText module;
    ExecutionPlan plan;
  };
  void end_turn();
  std::unique_ptr<RemoteWorker> take_remote() const;
  Status begin_here(const ModuleText& module, const ExecutionPlan& plan);
  Result<ExecutionReport> finish_here();
  Result<ExecutionReport> finish_elsewhere(Elsewhere work);

  std::shared_ptr<SharedWorker> worker_;
  uint32_t arena_;
  const std::atomic<bool>* cancel_ = nullptr;
  bool cancelled_ = false;
  // From begin() to finish(), one of the two:
  std::unique_lock<std::mutex> turn_;
  std::optional<Elsewhere> elsewhere_;
};

}  // namespace gpuemu
