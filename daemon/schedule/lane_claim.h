// The owners of lanes: sessions, and their requests and jobs.
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

/// Interactive: a person waits for the result, so it goes first, within a budget.
enum class Urgency { Interactive, Batch };

/// A session, as far as lanes need it. Thread-safe.
class LaneSession {
 public:
  LaneSession(uint64_t number, std::string name) : number_(number), name_(std::move(name)) {}

  /// In the order in which sessions were opened; 0 if there is no session.
  uint64_t number() const { return number_; }
  const std::string& name() const { return name_; }

  std::atomic<double> weight{1};
  /// How long its cases have held a lane, and the limit; 0 for no limit.
  std::atomic<int64_t> used_us{0}, limit_us{0};
  /// Number of requests and jobs that are not done.
  std::atomic<size_t> unfinished{0};

  /// Adds time for which a case or op held a device.
  void add_used(std::chrono::microseconds used);

  /// The budget of its user for a day, shared by all of the user's sessions; null for no limit. Set
  /// before the session is shared.
  std::shared_ptr<DayBudget> day;

  /// Returns "session NAME: 1 s of device time is used up (time_limit_s)", or the message for the
  /// user's budget; nothing while time is left.
  std::optional<std::string> time_used_up() const;

  /// Sets the device memory that its cases may use; 0 for no limit.
  void set_memory_limit(uint64_t bytes);
  uint64_t memory_limit() const;
  uint64_t memory_bytes() const;
  /// Waits until its other cases have left so much. "session NAME: needs 600 MiB, 100 of 512 MiB
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

/// Wakes waiting threads, so that they check their conditions again.
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
  /// Unique.
  uint64_t number() const { return number_; }
  Urgency urgency() const { return urgency_; }
  /// Whether its work continues without the client that requested it.
  std::atomic<bool> is_job{false};
  /// Whether one of its plans ran in the daemon, because there was no worker.
  std::atomic<bool> ran_inside{false};

  /// Ends its waiting, now and later. Only the first reason is kept.
  void stop(LaneStop why);
  bool is_stopped() const { return is_stopped_; }
  /// Like is_stopped(), for code that polls it while a case runs.
  const std::atomic<bool>& stop_flag() const { return is_stopped_; }
  /// Returns why it is stopped; nothing otherwise. Stops it if the session's time is used up.
  std::optional<LaneStop> stopped();
  /// Sets a function that is called once with the reason, immediately if it is already stopped;
  /// null removes it.
  void on_stop(std::function<void(const LaneStop&)> told);
  /// Ends its work: it no longer counts as unfinished.
  void finish();
  /// Returns true if it waits for a lane and holds none.
  bool is_waiting() const { return waits_ > 0 && holds_ == 0; }
  bool is_finished() const { return finished_; }

  /// Lives from before the wait for a lane until after it, so that stop() can end the wait.
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
  /// Returns a lane that was held for this long.
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

/// Null for no session, as in tests.
using LaneClaim = std::shared_ptr<LaneUse>;

/// The device memory of one case, counted for its session. The destructor releases it.
class MemoryHold {
 public:
  /// Returns Cancelled if the session may not have this much, which stops the claim, or if the
  /// claim is stopped meanwhile.
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
