// A slot's place at a worker, which slots share: its plans run one after the other while the other
// slots draw, compute references and compare. A plan goes to a remote worker where one is idle.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/worker/busy_wait.h"
#include "daemon/worker/remote_pool.h"
#include "daemon/worker/worker_client.h"

namespace gpuemu {

struct DeviceProperties;
struct ExecutionPlan;
struct ExecutionReport;

/// Where plans run.
struct WorkerPlaces {
  std::shared_ptr<RemotePool> remotes = {};  ///< Null: there are none.
  MakeWorkerLink link = worker_process;      ///< Makes the local worker.
  bool has_processes = true;                 ///< Whether `link` makes processes.
  /// Held while a local worker runs a plan; workers that share it take turns. Null: one for each.
  std::shared_ptr<std::mutex> turn = {};
  /// A plan waits for a remote worker while one is connected, however busy it is; else it goes to
  /// an idle one or the local worker.
  bool prefers_remote = false;
  /// Whether the local worker runs plans. REQUIRES: else there are remotes.
  bool runs_local = true;
};

/// A local worker, whose turn it is, and the remote ones that take its plans. Thread-safe; used
/// through seats.
struct SharedWorker {
  /// As WorkerClient has it; seat `i` uses arena `i`.
  SharedWorker(WorkerOptions given, const std::vector<Arena*>& memory, WorkerPlaces found = {})
      : options(std::move(given)),
        arenas(memory),
        places(std::move(found)),
        turn(places.turn == nullptr ? std::make_shared<std::mutex>() : places.turn),
        local(options, {memory.begin(), memory.end()}, places.link) {}

  const WorkerOptions options;
  const std::vector<Arena*> arenas;
  const WorkerPlaces places;
  const std::shared_ptr<std::mutex> turn;  ///< Guards `local`.
  const std::chrono::microseconds busy_wait = busy_wait_of(options.backend);
  WorkerClient local;
  /// The process of `local` at the end of the last turn; does not wait for one.
  std::atomic<int> pid = -1;
  std::atomic<uint64_t> restarts = 0;
};

/// Used by one thread at a time. Errors are those of WorkerClient.
class WorkerSeat {
 public:
  WorkerSeat(std::shared_ptr<SharedWorker> worker, uint32_t arena)
      : worker_(std::move(worker)), arena_(arena) {}

  Result<DeviceProperties> properties();
  /// Takes a remote worker, as WorkerPlaces says; else waits for its turn, loads the module where
  /// the worker does not have it, and sends the plan, whose arena becomes this seat's. REQUIRES: no
  /// plan of this seat in flight.
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

  /// How many plans of this seat the local worker was given, where that is no process: they ran in
  /// the daemon.
  uint64_t plans_inside() const { return plans_inside_; }
  int pid() const { return worker_->pid; }
  uint64_t restarts() const { return worker_->restarts; }

 private:
  /// A plan that a remote worker has.
  struct Elsewhere {
    std::unique_ptr<RemoteWorker> worker;
    ModuleText module;
    ExecutionPlan plan;
  };
  void take_turn();
  void end_turn();
  /// Null: the local worker's. Waits for a remote one where it shall.
  Result<std::unique_ptr<RemoteWorker>> find_place();
  Error cancelled();
  Status begin_here(const ModuleText& module, const ExecutionPlan& plan);
  Result<ExecutionReport> finish_here();
  Result<ExecutionReport> finish_elsewhere(Elsewhere work);

  std::shared_ptr<SharedWorker> worker_;
  uint32_t arena_;
  const std::atomic<bool>* cancel_ = nullptr;
  bool cancelled_ = false;
  uint64_t plans_inside_ = 0;
  // From begin() to finish(), one of the two:
  std::unique_lock<std::mutex> turn_;
  std::optional<Elsewhere> elsewhere_;
};

}  // namespace gpuemu
