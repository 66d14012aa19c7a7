// Round robin over the sessions that wait.
#include "daemon/schedule/ticket_queue.h"

#include <algorithm>

namespace gpuemu {

TicketQueue::Ticket TicketQueue::enter(const std::string& session) {
  std::deque<Ticket>& queue = tickets_[session];
  if (queue.empty()) turns_.push_back(session);
  queue.push_back(++last_);
  return last_;
}

std::optional<TicketQueue::Ticket> TicketQueue::next() const {
  if (turns_.empty()) return std::nullopt;
  return tickets_.at(turns_.front()).front();
}

void TicketQueue::serve() {
  std::string session = std::move(turns_.front());
  turns_.pop_front();
  const auto found = tickets_.find(session);
  found->second.pop_front();
  if (found->second.empty()) {
    tickets_.erase(found);
  } else {
    turns_.push_back(std::move(session));
  }
}

size_t TicketQueue::size() const {
  size_t count = 0;
  for (const auto& [session, queue] : tickets_) count += queue.size();
  return count;
}

void TicketQueue::leave(const std::string& session, Ticket ticket) {
  const auto found = tickets_.find(session);
  if (found == tickets_.end()) return;
  std::erase(found->second, ticket);
  if (!found->second.empty()) return;
  tickets_.erase(found);
  std::erase(turns_, session);
}

}  // namespace gpuemu
