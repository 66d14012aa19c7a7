// The tape of a daemon: schedules the entries that sessions append to it over the daemon's devices,
// and runs them there, in an order that depends only on the tape.
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
#include "common/protocol/errors.gen.h"
#include "common/protocol/tapes.gen.h"
#include "daemon/tapes/executor.h"
#include "daemon/tapes/tape_ops.h"
#include "runtime/tape/scheduler.h"
#include "runtime/tape/trace_json.h"

namespace gpuemu {

/// The most unfinished entries of one session.
inline constexpr uint64_t kTapeUnfinishedMax = 10'000;

struct TapeSettings {
  std::shared_ptr<TapeHosts> hosts;  ///< Provides the devices.
  std::vector<std::string> names;    ///< Names for the devices, used in turn; not empty.
  uint64_t memory_bytes = 0;         ///< The limit of each device; 0: none.
  uint64_t seed = 0;
  tape::Policy policy = tape::Policy::Balanced;
  std::chrono::milliseconds tick{0};  ///< The least time between two ticks, each of which is then
                                      ///< logged.
  size_t entries_max = 100'000;       ///< The most lines kept of each layer.
  std::string version;                ///< Version of the program, for traces.
  std::function<void(const std::string& line)> log = {};
};

/// The session that sends a request.
struct TapeClient {
  uint64_t number = 0;
  std::string user;  ///< Its owner; "" if the daemon has a single user.
  std::shared_ptr<LaneSession> lanes;
};

/// Thread-safe. Opens its devices when the first entry arrives.
class Tapes {
 public:
  explicit Tapes(TapeSettings settings);
  /// Ends all running work.
  ~Tapes();
  Tapes(const Tapes&) = delete;
  Tapes& operator=(const Tapes&) = delete;

  /// Accepts all entries of the list or none. InvalidRequest names the invalid entry; Busy if too
  /// many entries are unfinished; LimitExceeded if the session may not use so much memory or time.
  std::variant<TapeAcceptedReply, ErrorReply> submit(const TapeClient& client,
                                                     const std::string& entries_json);
  /// Waits for the end of all entries, but at most for `wait`.
  TapeStatusReply status(const TapeClient& client, std::chrono::milliseconds wait);
  /// Waits for the values of a tensor. If it has none, returns the error of the op that failed.
  std::variant<TensorReply, ErrorReply> fetch(const TapeClient& client, const std::string& id);
  /// Selects the entries of a trace: those of one session, by its number or its name, or all that
  /// the user may see ("": those of every user).
  struct Wanted {
    std::optional<uint64_t> number = {};
    std::string name, user;
    tape::Layers layers = {};
  };
  /// Returns the trace as JSON text. NotFound if the tape has no such name.
  Result<std::string> trace(const Wanted& wanted);
  /// Drops the session's tensors and pending work.
  void end(uint64_t number);
  /// Ends all waiting, present and future.
  void shutdown();

 private:
  /// A session with entries.
  struct Taped {
    std::shared_ptr<TapeOwner> owner;
    uint64_t done = 0, total = 0, failed = 0;
  };
  /// The tensor that a name on the tape refers to.
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
  /// The tensor was freed, or will never be made: its drop has taken effect, if it has one.
  void end_drop(uint64_t tensor);
  tape::Trace visible_trace(const Wanted& wanted) const;
  bool is_wanted(const Wanted& wanted, const std::string& name) const;
  void correct_handles(tape::Trace& trace) const;

  const TapeSettings settings_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::thread driver_;
  // Guarded by mutex_:
  bool is_stopping_ = false;
  std::unique_ptr<TapeOps> ops_;  ///< Null until the devices are open.
  std::unique_ptr<tape::Scheduler> scheduler_;
  std::shared_ptr<TapeExecutor> executor_;
  std::map<uint64_t, Taped> sessions_;   ///< By number.
  std::map<std::string, Label> labels_;  ///< By name on the tape.
  /// Attributes that the tape does not keep, by `seq`.
  std::map<uint64_t, std::string> long_attrs_;
  std::map<uint64_t, std::shared_ptr<TapeOwner>> unfinished_;  ///< By `seq`; no drops.
  /// Drops that have not taken effect, by tensor.
  std::map<uint64_t, std::shared_ptr<TapeOwner>> drops_;
};

}  // namespace gpuemu
