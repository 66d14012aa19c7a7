// Who asks for lanes: a session, and of it one request or job.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "daemon/schedule/day_budget.h"

namespace gpuemu {

/// What somebody waits for goes first, within a budget.
enum class Urgency { Interactive, Batch };

/// A session as lanes see it. Thread-safe.
class LaneSession {
 public:
  LaneSession(uint64_t number, std::string name) : number_(number), name_(std::move(name)) {}

  /// In the order of their opening; 0: of no session.
  uint64_t number() const { return number_; }
  const std::string& name() const { return name_; }

  std::atomic<double> weight{1};
  /// How long its cases have held a lane, and how long they may; 0: as long as they like.
  std::atomic<int64_t> used_us{0}, limit_us{0};
  /// Requests and jobs that are not done.
  std::atomic<size_t> unfinished{0};

  /// A case or op has held a device for so long.
  void add_used(std::chrono::microseconds used);

  /// What its user may use in a day, in all sessions; null: as much as there is. Set before others
  /// know the session.
  std::shared_ptr<DayBudget> day;

  /// "session NAME: 1 s of device time is used up (time_limit_s)", or that the user's is; nothing
  /// while there is some.
  std::optional<std::string> time_used_up() const;

  /// Device memory that its cases may have; 0: as much as there is.
  void set_memory_limit(uint64_t bytes);
  uint64_t memory_limit() const;
  uint64_t memory_bytes() const;
  /// Waits until its other cases have left so much. "session NAME: 600 MiB wanted, 100 of 512 MiB
  /// are free (memory_limit_mb)" where that can never be; nothing when it has the memory or
  /// `ended()` is true, which it checks every now and then: then release_memory() is owed alike.
  std::optional<std::string> take_memory(uint64_t bytes, const std::function<bool()>& ended);
  void release_memory(uint64_t bytes);

 private:
  const uint64_t number_;
  const std::string name_;
  mutable std::mutex mutex_;
  std::condition_variable memory_changed_;
  uint64_t memory_ = 0, memory_limit_ = 0;  // Guarded by mutex_.
};

/// Why a request or job gets no more lanes.
struct LaneStop {
  enum class Why { SessionEnded, LimitReached, WorkEnded, DaemonStops } why = Why::SessionEnded;
  std::string text;
};

/// Whoever waits is told by it to look again.
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void wake() = 0;
};

/// One request or job of a session. Thread-safe.
class LaneUse {
 public:
  LaneUse(std::shared_ptr<LaneSession> session, Urgency urgency);
  ~LaneUse();
  LaneUse(const LaneUse&) = delete;
  LaneUse& operator=(const LaneUse&) = delete;

  LaneSession& session() const { return *session_; }
  /// Differs from that of every other.
  uint64_t number() const { return number_; }
  Urgency urgency() const { return urgency_; }
  /// Whether its work goes on without the client that asked for it.
  std::atomic<bool> is_job{false};
  /// Whether a plan of it ran in the daemon, because there was no worker.
  std::atomic<bool> ran_inside{false};

  /// Ends its waiting, now and later. The first reason counts.
  void stop(LaneStop why);
  bool is_stopped() const { return is_stopped_; }
  /// As is_stopped(), for what looks at it while a case runs.
  const std::atomic<bool>& stop_flag() const { return is_stopped_; }
  /// Nothing while it goes on. Stops it where the session's time is used up.
  std::optional<LaneStop> stopped();
  /// Called once with the reason, at once where it is stopped already; null: nobody is.
  void on_stop(std::function<void(const LaneStop&)> told);
  /// Its work is done: it counts no more among the unfinished ones.
  void finish();
  /// Waits for a lane and holds none.
  bool is_waiting() const { return waits_ > 0 && holds_ == 0; }
  bool is_finished() const { return finished_; }

  /// From before its wait for a lane until after it, so that stop() ends it.
  class Wait {
   public:
    Wait(LaneUse& use, Waker& where);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    LaneUse& use_;
    Waker& where_;
  };
  void hold() { ++holds_; }
  /// Gives a lane back that it held for so long.
  void release(std::chrono::microseconds used);

 private:
  const std::shared_ptr<LaneSession> session_;
  const uint64_t number_;
  const Urgency urgency_;
  std::atomic<int> waits_{0}, holds_{0};
  std::atomic<bool> finished_{false}, is_stopped_{false};
  std::mutex mutex_;
  // Guarded by mutex_:
  std::optional<LaneStop> stop_;
  std::function<void(const LaneStop&)> told_;
  std::vector<Waker*> waiting_at_;
};

/// Null: of no session, as in tests.
using LaneClaim = std::shared_ptr<LaneUse>;

/// Device memory of one case, as its session counts it. Gives it back at its end.
class MemoryHold {
 public:
  /// Cancelled where the session may not have so much, which stops the claim, and where the claim
  /// is stopped meanwhile.
  static Result<MemoryHold> take(const LaneClaim& claim, uint64_t bytes);
  MemoryHold(MemoryHold&&) noexcept = default;
  MemoryHold& operator=(MemoryHold&&) = delete;
  ~MemoryHold();

 private:
  MemoryHold(LaneClaim claim, uint64_t bytes) : claim_(std::move(claim)), bytes_(bytes) {}
  LaneClaim claim_;  ///< Null after a move.
  uint64_t bytes_;
};

}  // namespace gpuemu
