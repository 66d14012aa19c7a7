// The tape of a daemon: what sessions append to it is scheduled over the daemon's devices and run
// there, in an order that follows from the tape alone.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "common/base/result.h"
#include "common/protocol/replies.h"
#include "daemon/tapes/executor.h"
#include "daemon/tapes/tape_ops.h"
#include "runtime/tape/scheduler.h"
#include "runtime/tape/trace_json.h"

namespace gpuemu {

/// Entries of one session that have not ended.
inline constexpr uint64_t kTapeUnfinishedMax = 10'000;

struct TapeSettings {
  std::shared_ptr<TapeHosts> hosts;  ///< Where the devices are.
  std::vector<std::string> names;    ///< Names that devices have in turn; not empty.
  uint64_t memory_bytes = 0;         ///< Each device's; 0: no limit.
  uint64_t seed = 0;
  tape::Policy policy = tape::Policy::Balanced;
  std::chrono::milliseconds tick{0};  ///< Between two ticks at least; each is logged then.
  size_t entries_max = 100'000;       ///< Lines of each layer that are kept.
  std::string version;                ///< The program's, for traces.
  std::function<void(const std::string& line)> log = {};
};

/// A session that asks.
struct TapeClient {
  uint64_t number = 0;
  std::string user;  ///< Whose it is; "" where the daemon has one user.
  std::shared_ptr<LaneSession> lanes;
};

/// Thread-safe. Opens its devices when the first entry arrives.
class Tapes {
 public:
  explicit Tapes(TapeSettings settings);
  /// Ends what runs.
  ~Tapes();
  Tapes(const Tapes&) = delete;
  Tapes& operator=(const Tapes&) = delete;

  /// Takes all of the list of entries or none. InvalidRequest names the entry; Busy where too many
  /// have not ended; LimitExceeded where the session may not have so much memory or time.
  std::variant<TapeAcceptedReply, ErrorReply> submit(const TapeClient& client,
                                                     const std::string& entries_json);
  /// Waits for the end of all entries, but not longer than `wait`.
  TapeStatusReply status(const TapeClient& client, std::chrono::milliseconds wait);
  /// Waits for the values. An error of the op that failed where the tensor has none.
  std::variant<TensorReply, ErrorReply> fetch(const TapeClient& client, const std::string& id);
  /// The trace as JSON text: of one session's entries, by its number or its name, or of all that
  /// the user may see ("": of every user's).
  struct Wanted {
    std::optional<uint64_t> number = {};
    std::string name, user;
    tape::Layers layers = {};
  };
  /// NotFound for a name that is none of the tape's.
  Result<std::string> trace(const Wanted& wanted);
  /// Drops the session's tensors and what it waits for.
  void end(uint64_t number);
  /// Ends all waiting, now and later.
  void shutdown();

 private:
  /// A session with entries.
  struct Taped {
    std::shared_ptr<TapeOwner> owner;
    uint64_t done = 0, total = 0, failed = 0;
  };
  /// What a name on the tape stands for.
  struct Label {
    std::string session, user;
    std::shared_ptr<TapeOwner> owner;
  };

  Status open();
  Taped& taped(const TapeClient& client);
  std::optional<ErrorReply> refusal(const TapeClient& client, const Taped& taped,
                                    const std::vector<tape::Entry>& entries) const;
  std::optional<ErrorReply> memory_refusal(const TapeClient& client, const Taped& taped,
                                           const std::vector<tape::Entry>& entries) const;
  void keep_added(Taped& taped, uint64_t first, std::vector<tape::Entry> entries);
  void drive();
  bool may_step() const;
  void tell_tick();
  void start(uint64_t pos);
  void ended(const TapeTask& task, const FailurePtr& failure);
  std::optional<TapeRecipe> recipe(uint64_t number) const;
  void repeated(const tape::Queued& line, uint64_t tensor);
  void count_ended(const TapeOwner& owner, bool has_failed);
  tape::Trace visible_trace(const Wanted& wanted) const;
  bool is_wanted(const Wanted& wanted, const std::string& name) const;
  void correct_handles(tape::Trace& trace) const;

  const TapeSettings settings_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::thread driver_;
  // Guarded by mutex_:
  bool is_stopping_ = false;
  std::unique_ptr<TapeOps> ops_;  ///< Null: the devices are not open.
  std::unique_ptr<tape::Scheduler> scheduler_;
  std::shared_ptr<TapeExecutor> executor_;
  std::map<uint64_t, Taped> sessions_;          ///< By number.
  std::map<std::string, Label> labels_;         ///< By name on the tape.
  std::map<uint64_t, std::string> long_attrs_;  ///< Those that the tape does not keep, by `seq`.
  std::map<uint64_t, std::shared_ptr<TapeOwner>> unfinished_;  ///< By `seq`; no drops.
};

}  // namespace gpuemu
