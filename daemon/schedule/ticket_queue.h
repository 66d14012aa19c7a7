// Serves tickets of many sessions, one session after the other.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace gpuemu {

/// Not thread-safe; the pool guards it.
class TicketQueue {
 public:
  using Ticket = uint64_t;

  /// Queues behind the session's own tickets; a session that had none queues behind all sessions.
  Ticket enter(const std::string& session);
  /// The ticket that is served next.
  std::optional<Ticket> next() const;
  /// Serves it: its session, when it has more tickets, goes behind all others. REQUIRES: next().
  void serve();
  /// Gives the ticket up, wherever it stands.
  void leave(const std::string& session, Ticket ticket);
  size_t size() const;

 private:
  std::map<std::string, std::deque<Ticket>> tickets_;  ///< No empty queues.
  std::deque<std::string> turns_;                      ///< Each session of tickets_ once.
  Ticket last_ = 0;
};

}  // namespace gpuemu
