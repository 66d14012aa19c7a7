// Does the lines of an output queue on devices: runs ops, copies tensors between devices and host,
// frees them. Which line goes where is decided before.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/protocol/replies.h"
#include "daemon/schedule/lane_claim.h"
#include "daemon/tapes/tape_device.h"
#include "runtime/tape/tape.h"

namespace gpuemu {

/// Identifies the session that owns a tensor.
struct TapeOwner {
  uint64_t number = 0;  ///< The session's number.
  std::string name;     ///< The session's name on the tape.
  std::shared_ptr<LaneSession> lanes;
  std::atomic<bool> is_over{false};  ///< The session has ended: skip the rest of its work.
};

/// Why a tensor has no values: what became of the op that failed first.
struct TapeFailure {
  WireErrorCode code = WireErrorCode::InternalError;
  std::string message;
};
using FailurePtr = std::shared_ptr<const TapeFailure>;

/// One line and what it needs to know. Tensors are numbered by the `seq` that makes them.
struct TapeTask {
  tape::Queued line;
  uint64_t tensor = 0;
  std::shared_ptr<TapeOwner> owner;
  std::optional<tape::Entry> entry = {};  ///< Where it is a run.
  std::vector<uint64_t> inputs = {};      ///< Where it is a run: tensors.
};

/// Thread-safe.
class TapeExecutor {
 public:
  /// Called without a lock when a run or a fetch has ended; `failure` is null where it worked.
  using Ended = std::function<void(const TapeTask& task, const FailurePtr& failure)>;

  /// `seed`: of random leaves. Failed tensors beyond `kept_max` are forgotten, oldest first.
  TapeExecutor(std::vector<std::shared_ptr<TapeDevice>> devices, uint64_t seed, size_t kept_max,
               Ended ended);
  /// Ends what runs.
  ~TapeExecutor();
  TapeExecutor(const TapeExecutor&) = delete;
  TapeExecutor& operator=(const TapeExecutor&) = delete;

  /// Unavailable where the system has no threads.
  Status begin();
  /// Begins no more lines and ends all waiting.
  void stop();
  /// There will be such a tensor.
  void declare(uint64_t number, std::shared_ptr<TapeOwner> owner, Shape shape, DType dtype);
  /// Does the line when all that it needs has ended. REQUIRES: those were started before.
  void start(TapeTask task);
  /// Lines that were started and have not ended.
  size_t outstanding() const;
  /// The tensor will not be made.
  void fail(uint64_t number, FailurePtr failure);
  /// Forgets the owner's tensors and frees their memory.
  void abandon(const TapeOwner& owner);

  enum class Condition { Unknown, Pending, Produced, Failed };
  Condition condition(uint64_t number) const;
  /// Waits for the values. NotFound for a tensor that was freed, Cancelled for an owner that is
  /// over; else the failure.
  struct Fetched {
    Result<Tensor> tensor;
    FailurePtr failure;
  };
  Fetched fetch(uint64_t number, const TapeOwner& owner);

 private:
  using HostCopy = std::shared_ptr<const std::vector<std::byte>>;
  struct Held {
    std::shared_ptr<TapeOwner> owner;
    Shape shape;
    DType dtype = DType::Float32;
    std::map<uint32_t, DeviceCopy> copies = {};
    HostCopy host = {};     ///< Spilled.
    HostCopy fetched = {};  ///< For whoever asks.
    FailurePtr failure = {};
    bool is_produced = false;
  };
  struct Pending {
    TapeTask task;
    size_t missing = 0;
    std::vector<uint64_t> followers = {};  ///< Positions.
  };
  /// What a line has changed.
  struct Outcome {
    FailurePtr failure = {};
    std::optional<uint32_t> put = {};  ///< A copy on this device.
    DeviceCopy copy = {};
    HostCopy host = {};
    HostCopy fetched = {};
  };

  void serve(size_t queue);
  std::set<uint64_t> note_use(const TapeTask& task);
  void end_use(const TapeTask& task);
  void make_ready(const Pending& pending);
  Outcome execute(const TapeTask& task);
  Outcome run(const TapeTask& task);
  Outcome copy_in(const TapeTask& task);
  Outcome copy_out(const TapeTask& task);
  void settle(const TapeTask& task, Outcome& outcome, std::vector<DeviceCopy>& released);
  void keep_fetched(uint64_t number, Held& held, HostCopy values);
  void set_failed(uint64_t number, Held& held, FailurePtr failure);
  Held* find(uint64_t number);

  const std::vector<std::shared_ptr<TapeDevice>> devices_;
  const uint64_t seed_;
  const size_t kept_max_;
  const Ended ended_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
  // Guarded by mutex_:
  bool is_stopping_ = false;
  std::map<uint64_t, Pending> pending_;     ///< By position.
  std::vector<std::set<uint64_t>> queues_;  ///< Ready ones of each device, then of no device.
  std::map<uint64_t, Held> tensors_;
  /// Positions that have not ended, by the tensor that they read or write; true: they take a copy
  /// away.
  std::map<uint64_t, std::map<uint64_t, bool>> uses_;
  std::deque<uint64_t> failed_, fetched_;  ///< Tensors, oldest first.
  uint64_t fetched_bytes_ = 0;
};

}  // namespace gpuemu
