// A slot's seat at a worker that several slots share: their plans run one after the other, while
// other slots draw cases, compute references and compare. A plan goes to a remote worker if one is
// idle.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/executor/plan.h"
#include "daemon/worker/busy_wait.h"
#include "daemon/worker/remote_pool.h"
#include "daemon/worker/worker_client.h"

namespace gpuemu {

struct DeviceProperties;

/// Where plans run.
struct WorkerPlaces {
  std::shared_ptr<RemotePool> remotes = {};  ///< Null: none.
  MakeWorkerLink link = worker_process;      ///< Creates the local worker.
  bool has_processes = true;                 ///< `link` creates processes.
  /// Held while a local worker runs a plan; workers that share it take turns. Null: a mutex of its
  /// own.
  std::shared_ptr<std::mutex> turn = {};
  /// A plan waits for a remote worker while one is connected, however busy; otherwise it goes to an
  /// idle one or the local worker.
  bool prefers_remote = false;
  /// The local worker runs plans. If false, remotes must be set.
  bool runs_local = true;
};

/// A local worker with the turn for it, and the remote ones that take its plans. Thread-safe; used
/// through seats.
struct SharedWorker {
  /// As for WorkerClient; seat `i` uses arena `i`.
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
  std::mutex properties_mutex;
  std::optional<DeviceProperties> properties;  ///< Guarded by properties_mutex.
  /// Process id of `local` at the end of the last turn; reading it does not wait.
  std::atomic<int> pid = -1;
  std::atomic<uint64_t> restarts = 0;
};

/// Not thread-safe. Errors are those of WorkerClient.
class WorkerSeat {
 public:
  WorkerSeat(std::shared_ptr<SharedWorker> worker, uint32_t arena)
      : worker_(std::move(worker)), arena_(arena) {}
  /// A seat for the same thread with another arena. Both have the turn together, so that plans of
  /// both may be in flight.
  WorkerSeat beside(uint32_t arena) const {
    WorkerSeat other(worker_, arena);
    other.turn_ = turn_;
    return other;
  }

  /// Asks the worker once; later calls do not wait for its turn.
  Result<DeviceProperties> properties();
  /// Takes a remote worker according to WorkerPlaces; otherwise waits for its turn, loads the
  /// module if the worker lacks it, and sends the plan with this seat's arena. Requires no plan of
  /// this seat in flight.
  Status begin(const std::string& key, const std::string& name, const std::string& ptx,
               ExecutionPlan plan);
  /// Begins as begin() does, but never on a remote worker, whose device may be another one.
  Status begin_local(const std::string& key, const std::string& name, const std::string& ptx,
                     ExecutionPlan plan);
  /// Waits for the answer to a successful begin(), and passes the turn on once all answers of the
  /// seats beside it have arrived. A plan whose remote worker is lost runs on another one, or here;
  /// Unavailable after the second loss.
  Result<ExecutionReport> finish();
  /// Receives the answers of the seats beside it and passes the turn on. Requires no plan of this
  /// seat in flight.
  void settle();
  /// Returns whether plans go to a worker that runs them one after the other, however many are
  /// sent.
  bool may_queue() const;
  /// Returns whether its worker is a device that other seats poll for.
  bool is_contended() const { return worker_->busy_wait.count() > 0; }
  /// Makes begin() and finish() return Cancelled once `*cancel` is true. The flag must outlive its
  /// use. Null: never.
  void stop_when(const std::atomic<bool>* cancel) {
    cancel_ = cancel;
    cancelled_ = false;
  }
  /// Returns whether that happened since stop_when().
  bool was_cancelled() const { return cancelled_; }

  /// Returns how many plans of this seat ran in the daemon, because the local worker is not a
  /// process.
  uint64_t plans_inside() const { return plans_inside_; }
  int pid() const { return worker_->pid; }
  uint64_t restarts() const { return worker_->restarts; }

 private:
  /// A plan that a remote worker is running.
  struct Elsewhere {
    std::unique_ptr<RemoteWorker> worker;
    ModuleText module;
    ExecutionPlan plan;
  };
  void take_turn();
  void end_turn();
  /// Returns null for the local worker. Waits for a remote one if it should.
  Result<std::unique_ptr<RemoteWorker>> find_place();
  Error cancelled();
  Status begin_here(const ModuleText& module, const ExecutionPlan& plan);
  Result<ExecutionReport> finish_here();
  Result<ExecutionReport> judged(Result<ExecutionReport> report);
  Result<ExecutionReport> finish_elsewhere(Elsewhere work);

  std::shared_ptr<SharedWorker> worker_;
  /// Shared by the seats beside each other.
  struct Turn {
    std::unique_lock<std::mutex> lock;  ///< Held while plans are in flight.
    std::set<uint32_t> in_flight;       ///< Arenas of plans whose answers are still at the worker.
    std::map<uint32_t, Result<ExecutionReport>> answers;  ///< For seats that did not ask yet.
  };
  std::shared_ptr<Turn> turn_ = std::make_shared<Turn>();
  uint32_t arena_;
  const std::atomic<bool>* cancel_ = nullptr;
  bool cancelled_ = false;
  uint64_t plans_inside_ = 0;
  // Exactly one of these is set from begin() to finish():
  bool is_here_ = false;
  std::optional<Elsewhere> elsewhere_;
};

}  // namespace gpuemu
