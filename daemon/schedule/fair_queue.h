// Decides whose case is next when a lane is free. Uses no clock and no threads: the time is an
// argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "daemon/schedule/lane_claim.h"

namespace gpuemu {

/// Device time that a session's interactive cases may take before all batch work, in any window.
inline constexpr std::chrono::microseconds kInteractiveBudget{2'000'000};
inline constexpr std::chrono::microseconds kInteractiveWindow{10'000'000};

/// A session with running cases whose next case arrives within this time has not paused: the case
/// was being drawn.
inline constexpr std::chrono::microseconds kNoPause{100'000};

/// A session keeps a lane for cases that hold it for about this long or less: changing the session
/// costs longer ones little.
inline constexpr std::chrono::microseconds kKeptLaneMax{50'000};

/// Weighted fair queueing: a case adds its time / weight to the virtual time of its session, and
/// the session with the smallest virtual time is next; running cases count as long as its earlier
/// ones took. The groups of a session get equal shares, and the jobs of a group take turns. Not
/// thread-safe.
class FairQueue {
 public:
  using Time = std::chrono::microseconds;
  using Ticket = uint64_t;

  struct Place {
    uint64_t session = 0;  ///< In the order in which sessions were opened.
    double weight = 1;     ///< Applies from now on to the whole session.
    uint64_t group = 0;    ///< The slots that can run it.
    uint64_t job = 0;
    Urgency urgency = Urgency::Batch;
  };

  /// Adds a waiting case. `goes_on`: it replaces a case that has just ended, so the session has not
  /// paused.
  Ticket enter(const Place& place, Time now, bool goes_on = false);
  /// Returns the next case to serve, of the groups that have room.
  std::optional<Ticket> next(Time now, const std::function<bool(uint64_t group)>& has_room) const;
  /// Returns whether the case may have the lane that its session has just returned, although
  /// another session may be next: then no other processes need to wake up. The session leads
  /// by at most one such case on each busy lane.
  bool may_keep_lane(Ticket ticket, Time now,
                     const std::function<bool(uint64_t group)>& has_room) const;
  /// Gives the lane to the case that next() returned, or that may keep it.
  void serve(Ticket ticket, Time now, const std::function<bool(uint64_t group)>& has_room);
  /// Stops waiting.
  void leave(Ticket ticket, Time now);
  /// Ends a served case that held its lane for `used`.
  void end(Ticket ticket, Time used, Time now);

  uint64_t group_of(Ticket ticket) const;
  size_t waiting() const { return waiting_; }
  /// Returns whether a case of another session waits.
  bool others_wait(uint64_t session) const;
  /// Returns how many cases of the session have been served and have not ended.
  size_t running_of(uint64_t session) const;
  /// Number of remembered sessions, for tests.
  size_t sessions() const { return sessions_.size(); }

 private:
  struct Job {
    std::deque<Ticket> tickets;  ///< Not empty.
    Urgency urgency = Urgency::Batch;
  };
  struct Group {
    double used = 0;  ///< Virtual time.
    size_t running = 0;
    Time emptied{0};
    std::map<uint64_t, Job> jobs;
    std::deque<uint64_t> turns;  ///< Each job once.
    bool is_idle() const { return running == 0 && jobs.empty(); }
  };
  struct Session {
    double used = 0;  ///< Virtual time.
    double weight = 1;
    double usual = 0;  ///< How long its cases hold a lane.
    size_t waiting = 0, running = 0;
    Time emptied{0};  ///< When its last waiting case was served or left.
    std::map<uint64_t, Group> groups;
    std::deque<std::pair<Time, Time>> interactive;  ///< When a case ended, and the time it used.
    std::map<Ticket, Time> interactive_running;     ///< When it began.
    bool is_idle() const { return waiting == 0 && running == 0; }
    /// Its virtual time once the running cases have ended.
    double promised() const { return used + static_cast<double>(running) * usual / weight; }
  };
  struct Served {
    Place place;
    bool is_running = false;
  };
  using HasRoom = std::function<bool(uint64_t)>;

  static bool is_within_budget(const Session& session, Time now);
  std::optional<Ticket> next_of(const Session& session, const HasRoom& has_room,
                                bool only_interactive) const;
  std::optional<Ticket> next_among(Time now, const HasRoom& has_room, bool only_interactive) const;
  Session& begin_waiting(const Place& place, Time now, bool goes_on);
  void drop(const Place& place, Ticket ticket, Time now, bool is_served);
  void forget_idle(Time now);

  std::map<uint64_t, Session> sessions_;
  std::map<Ticket, Served> places_;  ///< Waiting and running cases.
  Ticket last_ = 0;
  size_t waiting_ = 0;
  size_t running_ = 0;
  /// The virtual time at which a session starts if no other session waits: that of the last case
  /// served as batch, or the largest used time when nothing ran.
  double clock_ = 0;
};

}  // namespace gpuemu
