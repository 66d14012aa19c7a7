#include "common/transport/client_table.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gpuemu {
namespace {

constexpr size_t kEventsMax = 64;

}  // namespace

Status ClientTable::open() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (epoll_) return ok_status();
  return error(ErrorCode::ResourceExhausted, "no epoll descriptor: {}", std::strerror(errno));
}

Status ClientTable::watch(int fd, uint64_t number) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return ok_status();
  return error(ErrorCode::ResourceExhausted, "cannot watch a descriptor: {}", std::strerror(errno));
}

void ClientTable::unwatch(int fd) { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

int ClientTable::wait(std::vector<epoll_event>& events, int milliseconds) {
  events.resize(kEventsMax);
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsMax, milliseconds);
  return std::max(count, 0);
}

bool ClientTable::add(UniqueFd socket) {
  if (clients_.size() >= clients_max_ && !give_up_one()) return false;
  const uint64_t number = ++last_number_;
  const int fd = socket.get();
  Connection& client = clients_.try_emplace(number, std::move(socket), number).first->second;
  arrived_.push_back(client.peer());
  epoll_event event{.events = events_of(client), .data = {.u64 = number}};
  if (client.is_open() && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return true;
  close(number);
  return true;
}

Connection* ClientTable::find(uint64_t number) {
  const auto at = clients_.find(number);
  return at == clients_.end() ? nullptr : &at->second;
}

uint32_t ClientTable::events_of(const Connection& client) const {
  return (reads_ ? uint32_t{EPOLLIN} : 0U) | (client.has_output() ? uint32_t{EPOLLOUT} : 0U);
}

void ClientTable::settle(Connection& client) {
  if (!client.is_open()) return close(client.number());
  epoll_event event{.events = events_of(client), .data = {.u64 = client.number()}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, client.socket(), &event);
}

void ClientTable::close(uint64_t number) {
  const auto at = clients_.find(number);
  gone_.push_back(at->second.peer());
  clients_.erase(at);  // The kernel removes a closed descriptor from epoll.
}

/// Drops a client: first those in the middle of a handshake or message, which no working client
/// stays in for long; then the one that has been silent longest.
bool ClientTable::give_up_one() {
  const auto rank = [](const Connection& client) {
    return std::pair(!client.is_midway(), client.last_progress());
  };
  const Connection* chosen = nullptr;
  for (const auto& [number, client] : clients_) {
    if (requests_.contains(number)) continue;
    if (chosen == nullptr || rank(client) < rank(*chosen)) chosen = &client;
  }
  if (chosen == nullptr) return false;
  close(chosen->number());
  return true;
}

void ClientTable::close_overdue() {
  if (!reads_) return;
  const auto now = Connection::Clock::now();
  std::vector<uint64_t> overdue;
  for (const auto& [number, client] : clients_) {
    if (client.is_overdue(now)) overdue.push_back(number);
  }
  for (const uint64_t number : overdue) close(number);
}

void ClientTable::set_reading(bool reads) {
  if (reads_ == reads) return;
  reads_ = reads;
  for (auto& [number, client] : clients_) {
    if (reads) client.excuse();
    epoll_event event{.events = events_of(client), .data = {.u64 = number}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, client.socket(), &event);
  }
}

bool ClientTable::has_output() const {
  return std::ranges::any_of(clients_, [](const auto& entry) { return entry.second.has_output(); });
}

void ClientTable::end_request(uint64_t number) {
  const auto at = requests_.find(number);
  if (at != requests_.end() && --at->second == 0) requests_.erase(at);
}

}  // namespace gpuemu
