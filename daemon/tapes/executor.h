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

#include "common/protocol/errors.gen.h"
#include "daemon/schedule/lane_claim.h"
#include "daemon/tapes/tape_device.h"
#include "daemon/tapes/tape_hosts.h"
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
  bool keeps_attrs = false;               ///< The tape does not keep the entry's attributes.
};

/// How a tensor is made.
struct TapeRecipe {
  tape::Entry entry;
  std::vector<uint64_t> inputs;  ///< Tensors.
};

/// What an executor asks and tells. Called without a lock.
struct TapeTape {
  /// A run or a fetch has ended; `failure` is null where it worked.
  std::function<void(const TapeTask& task, const FailurePtr& failure)> ended;
  /// Nothing where the tape has it no more.
  std::function<std::optional<TapeRecipe>(uint64_t number)> recipe;
  /// A line was done again because a device was lost: kind, device, `from`, bytes and attempt.
  std::function<void(const tape::Queued& line, uint64_t tensor)> repeated;
};

/// Thread-safe. Opens its devices when they are first needed. One that is lost is opened again, and
/// what it held is made again: from copies that are elsewhere, else from the tape.
class TapeExecutor {
 public:
  /// `seed`: of random leaves. Failed tensors beyond `kept_max` are forgotten, oldest first.
  TapeExecutor(std::shared_ptr<TapeHosts> hosts, size_t devices, uint64_t seed, size_t kept_max,
               TapeTape tape);
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

  /// Opens devices that were lost meanwhile again, where that needs no waiting.
  void mend();
  /// Where each device is, as traces name it; "" where it is not open.
  std::vector<std::string> worker_ids() const;

  enum class Condition { Unknown, Pending, Produced, Failed, Lost };
  Condition condition(uint64_t number) const;
  struct Fetched {
    Result<Tensor> tensor;
    FailurePtr failure;
  };
  /// Waits for the values. NotFound for a tensor that was freed, Cancelled if the owner's session
  /// has ended; otherwise the tensor's failure.
  Fetched fetch(uint64_t number, const TapeOwner& owner);

 private:
  using HostCopy = std::shared_ptr<const std::vector<std::byte>>;
  /// Counts in the sum of all while it is kept.
  struct KeptText {
    KeptText(std::string kept, std::atomic<uint64_t>& all) : text(std::move(kept)), sum(all) {
      sum += text.size();
    }
    ~KeptText() { sum -= text.size(); }
    KeptText(const KeptText&) = delete;
    KeptText& operator=(const KeptText&) = delete;
    const std::string text;
    std::atomic<uint64_t>& sum;
  };
  struct Held {
    std::shared_ptr<TapeOwner> owner;
    Shape shape;
    DType dtype = DType::Float32;
    std::map<uint32_t, DeviceCopy> copies = {};
    HostCopy host = {};     ///< Spilled.
    HostCopy fetched = {};  ///< For whoever asks.
    FailurePtr failure = {};
    bool is_produced = false;
    bool is_lost = false;  ///< Why it failed.
    /// Attributes that the tape does not keep.
    std::shared_ptr<const KeptText> attrs = {};
  };
  struct Pending {
    TapeTask task;
    size_t missing = 0;
    std::vector<uint64_t> followers = {};  ///< Positions.
  };
  /// What a line has changed.
  struct Outcome {
    FailurePtr failure = {};
    bool is_unavailable = false;       ///< The failure may be the device's.
    std::optional<uint32_t> put = {};  ///< A copy on this device.
    DeviceCopy copy = {};
    HostCopy host = {};
    HostCopy fetched = {};
  };

  struct FetchSource {
    HostCopy host;  ///< Else the copy at this place.
    DeviceCopy copy;
    uint32_t place = 0;
  };
  Fetched wait_for(uint64_t number, const TapeOwner& owner, FetchSource& from);
  bool is_stale(const FetchSource& from) const;
  void serve(size_t queue);
  bool wait_for_work(size_t queue, uint64_t& flushed, std::unique_lock<std::mutex>& lock);
  std::set<uint64_t> note_use(const TapeTask& task);
  void end_use(const TapeTask& task);
  void make_ready(const Pending& pending);
  Outcome execute(const TapeTask& task);
  void keep_attrs(const TapeTask& task);

  // executor_losses.cc
  Outcome execute_until_done(const TapeTask& task);
  std::vector<std::shared_ptr<TapeDevice>> devices_of(const TapeTask& task) const;
  static FailurePtr too_many_lost(const std::vector<std::string>& lost, const std::string& what);
  FailurePtr too_many_unreached(int unreached, const TapeTask& task);
  std::shared_ptr<TapeDevice> device_at(uint32_t place) const;
  bool is_current(uint32_t place, const DeviceBytes& copy) const;
  bool is_fit(uint32_t place) const;
  bool was_lost(const TapeTask& task) const;
  std::vector<std::pair<uint64_t, uint32_t>> stale_copies() const;
  using Ended = std::function<bool()>;
  Result<std::unique_lock<std::mutex>> begin_mending(const Ended& ended);
  Status mend(uint32_t place, const Ended& ended);
  Status mend_of(const TapeTask& task);
  Status reopen(uint32_t place, const Ended& ended);
  Status restore(uint64_t number, uint32_t place);
  struct Source {
    DeviceCopy copy;  ///< Else the host's.
    std::optional<uint32_t> from;
    HostCopy host;
  };
  std::optional<Source> source_of(uint64_t number, uint32_t place) const;
  Result<DeviceCopy> bring(uint64_t number, uint32_t place, const Source& source);
  struct Remaking;
  Result<Remaking> plan_remaking(uint64_t number, uint32_t place);
  Result<DeviceCopy> remake(uint64_t number, uint32_t place);
  Result<DeviceCopy> make_again(const TapeRecipe& recipe, uint64_t number, uint32_t place,
                                Remaking& work);
  std::optional<TapeRecipe> recipe_of(uint64_t number);
  void note_attempt(tape::Queued line, uint64_t number);
  void lose(uint64_t number, uint32_t place, const std::string& why);
  static Outcome failed(const Error& error, const std::string& what);
  Outcome run(const TapeTask& task);
  Outcome copy_in(const TapeTask& task);
  Outcome copy_out(const TapeTask& task);
  void settle(const TapeTask& task, Outcome& outcome, std::vector<DeviceCopy>& released);
  void keep_fetched(uint64_t number, Held& held, HostCopy values);
  void set_failed(uint64_t number, Held& held, FailurePtr failure);
  Held* find(uint64_t number);

  const std::shared_ptr<TapeHosts> hosts_;
  const uint64_t seed_;
  const size_t kept_max_;
  const TapeTape tape_;
  std::atomic<uint64_t> attrs_bytes_{0};
  std::mutex mending_;  ///< Held while a device is opened or what it held is made again.
  // Guarded by mending_:
  struct Attempts {
    uint32_t count = 0;
    uint64_t last_loss = 0;
    std::vector<std::string> lost;  ///< Workers that were lost while it was made again.
  };
  std::map<uint64_t, Attempts> attempts_;  ///< By tensor.
  uint64_t losses_ = 0;
  std::atomic<bool> is_stopping_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
  // Guarded by mutex_:
  std::vector<std::shared_ptr<TapeDevice>> devices_;  ///< Null: not open.
  uint64_t frees_ = 0;                                ///< How often something was freed.
  std::map<uint64_t, Pending> pending_;               ///< By position.
  std::vector<std::set<uint64_t>> queues_;  ///< Ready ones of each device, then of no device.
  std::map<uint64_t, Held> tensors_;
  /// Positions that have not ended, by the tensor that they read or write; true: they take a copy
  /// away.
  std::map<uint64_t, std::map<uint64_t, bool>> uses_;
  std::deque<uint64_t> failed_, fetched_;  ///< Tensors, oldest first.
  uint64_t fetched_bytes_ = 0;
};

}  // namespace gpuemu
