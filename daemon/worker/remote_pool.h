// Workers on other machines, as a seat at a local worker uses them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/arena.h"
#include "common/base/result.h"
#include "daemon/worker/plan.h"
#include "daemon/worker/plan_codec.h"
#include "daemon/worker/tape_channel.h"
#include "daemon/worker/worker_client.h"

namespace gpuemu {

/// One plan, with all that a worker elsewhere needs for it.
struct RemoteWork {
  const WorkerOptions& options;  ///< Those of the local worker that would run it.
  const ModuleText& module;
  const ExecutionPlan& plan;
  Arena& arena;                     ///< Inputs are read from it, outputs written to it.
  const std::atomic<bool>* cancel;  ///< Null: never.
  uint32_t attempt;                 ///< 1: the first.
};

/// A remote worker that is lent to one user, until it is destroyed.
class RemoteWorker {
 public:
  virtual ~RemoteWorker() = default;
  virtual std::string name() const = 0;
  /// Nothing when it was lost meanwhile: then nothing was written to the arena. Errors are those of
  /// WorkerClient.
  virtual std::optional<Result<ExecutionReport>> run(const RemoteWork& work) = 0;
};

/// Thread-safe.
class RemotePool {
 public:
  virtual ~RemotePool() = default;
  /// One that does nothing and fits to these options; null where there is none.
  virtual std::unique_ptr<RemoteWorker> take(const WorkerOptions& options) = 0;
  /// Whether one that fits is connected, idle or not.
  virtual bool has(const WorkerOptions& options) const = 0;
  /// How many that fit are connected.
  virtual size_t count(const WorkerOptions& options) const { return has(options) ? 1 : 0; }
  /// A connected one that fits, for the tensors of a tape's device, which keeps nothing of another
  /// channel; the one that has the fewest. Null where there is none.
  virtual std::shared_ptr<TapeChannel> tape_channel(const WorkerOptions&, size_t /*device*/) {
    return nullptr;
  }
  /// Waits until a worker comes, goes or becomes idle, at most this long. False when there will be
  /// none any more.
  virtual bool wait(std::chrono::milliseconds most) = 0;
};

}  // namespace gpuemu
