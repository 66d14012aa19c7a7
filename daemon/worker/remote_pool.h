// Workers on other machines, as used through a seat at a local worker.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/arena.h"
#include "common/base/result.h"
#include "daemon/executor/plan.h"
#include "daemon/worker/plan_codec.h"
#include "daemon/worker/tape_channel.h"
#include "daemon/worker/worker_client.h"

namespace gpuemu {

/// A plan with everything that a remote worker needs for it.
struct RemoteWork {
  const WorkerOptions& options;  ///< Options of the local worker that would run it.
  const ModuleText& module;
  const ExecutionPlan& plan;
  Arena& arena;                     ///< Inputs are read from it, outputs written to it.
  const std::atomic<bool>* cancel;  ///< Null: never cancelled.
  uint32_t attempt;                 ///< Starts at 1.
};

/// A remote worker, lent to one user until this object is destroyed.
class RemoteWorker {
 public:
  virtual ~RemoteWorker() = default;
  virtual std::string name() const = 0;
  /// Returns nothing if the worker was lost; the arena is then unchanged. Errors are those of
  /// WorkerClient.
  virtual std::optional<Result<ExecutionReport>> run(const RemoteWork& work) = 0;
};

/// Thread-safe.
class RemotePool {
 public:
  virtual ~RemotePool() = default;
  /// Returns an idle worker that fits these options; null if there is none.
  virtual std::unique_ptr<RemoteWorker> take(const WorkerOptions& options) = 0;
  /// Returns whether a fitting worker is connected, idle or not.
  virtual bool has(const WorkerOptions& options) const = 0;
  /// Returns how many fitting workers are connected.
  virtual size_t count(const WorkerOptions& options) const { return has(options) ? 1 : 0; }
  /// Returns a channel to the fitting worker with the fewest channels, for the tensors of one
  /// device of a tape. Tensors of different channels are separate. Null if there is none.
  virtual std::shared_ptr<TapeChannel> tape_channel(const WorkerOptions&, size_t /*device*/) {
    return nullptr;
  }
  /// Waits until a worker connects, disconnects or becomes idle, at most this long. Returns false
  /// if there will be no more workers.
  virtual bool wait(std::chrono::milliseconds most) = 0;
};

}  // namespace gpuemu
