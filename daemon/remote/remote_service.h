// Private to this folder: executes on a remote worker the work of its daemon.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "common/base/arena.h"
#include "daemon/remote/mailbox.h"
#include "daemon/worker/plan_codec.h"
#include "daemon/worker/worker_client.h"
#include "runtime/device/device.h"

namespace gpuemu {

/// Records which work was cancelled. Thread-safe.
class Cancelling {
 public:
  void begin(uint64_t work);
  void cancel(uint64_t work);
  /// Cancels all work, present and future.
  void lose();
  const std::atomic<bool>& flag() const { return flag_; }

 private:
  std::mutex mutex_;
  uint64_t current_ = 0, cancelled_ = 0;  // Guarded by mutex_.
  bool lost_ = false;                     // Guarded by mutex_.
  std::atomic<bool> flag_{false};
};

/// Runs plans in processes of its own, one for each set of options. Used by one thread.
class RemoteService {
 public:
  /// `program` is the path of gpuemu-worker.
  RemoteService(DeviceProperties device, std::string program)
      : device_(std::move(device)), program_(std::move(program)) {}

  /// Serves until the mailbox is closed. Corruption for messages that no daemon sends.
  Status serve(Mailbox& mailbox, Cancelling& cancelling);

 private:
  /// A process with the memory that its plans use.
  struct Runner {
    std::unique_ptr<Arena> arena;
    std::unique_ptr<WorkerClient> process;
    uint64_t last_use = 0;
  };
  struct Work {
    RemoteMessage begin;
    Runner* runner = nullptr;
    std::string module_key;
  };
  Result<WorkerOptions> own_options(WorkerOptions options) const;
  Status tape(const RemoteMessage& message, Mailbox& mailbox);
  Result<std::vector<std::byte>> ask_tape(const RemoteMessage& message);
  Status handle(const RemoteMessage& message, Mailbox& mailbox, Cancelling& cancelling);
  Status begin(const RemoteMessage& message, Cancelling& cancelling);
  Status store(const RemoteMessage& message);
  Status execute(const RemoteMessage& message, Mailbox& mailbox, Cancelling& cancelling);
  Result<Runner*> runner_for(WorkerOptions options);
  /// Returns nothing if the mailbox is closed.
  Result<std::optional<ModuleText>> module_of(Mailbox& mailbox);
  Result<ExecutionReport> run(const ModuleText& module, const ExecutionPlan& plan,
                              Cancelling& cancelling);
  void answer(const Result<ExecutionReport>& report, const ExecutionPlan& plan, Mailbox& mailbox);

  const DeviceProperties device_;
  const std::string program_;
  std::map<std::string, Runner> runners_;  ///< By their options.
  /// Processes that hold tensors of tapes, by their options and the tape's device.
  std::map<std::string, std::unique_ptr<WorkerClient>> tapes_;
  std::map<std::string, ModuleText> modules_;
  std::optional<Work> work_;
  uint64_t uses_ = 0;
};

}  // namespace gpuemu
