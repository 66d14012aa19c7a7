// How the daemon's messages reach a worker and its answers come back.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/arena.h"
#include "common/base/result.h"
#include "daemon/process/child_process.h"

namespace gpuemu {

struct WorkerOptions;

/// One worker at a time, which may be started again once it has ended. Used by one thread at a
/// time.
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

}  // namespace gpuemu
