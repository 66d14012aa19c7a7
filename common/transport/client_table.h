// Private to this folder: the connections of a server, under one epoll descriptor.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <sys/epoll.h>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/transport/connection.h"

namespace gpuemu {

/// Not thread-safe.
class ClientTable {
 public:
  explicit ClientTable(size_t clients_max) : clients_max_(clients_max) {}
  Status open();

  /// Watches a descriptor other than a client's for input; events carry this number.
  Status watch(int fd, uint64_t number);
  void unwatch(int fd);
  /// Returns the number of descriptors and clients that are ready; 0 after `milliseconds`.
  int wait(std::vector<epoll_event>& events, int milliseconds);

  /// Adds a client. If there are too many, drops one that can connect again. Returns false if every
  /// client waits for a reply; the new one is then dropped.
  bool add(UniqueFd socket);
  /// Returns null if it is gone.
  Connection* find(uint64_t number);
  /// Drops the client if its connection has ended; otherwise updates the events to watch for.
  void settle(Connection& client);
  /// Drops a client that does not wait for a reply; returns false if there is none.
  bool give_up_one();
  void close_overdue();
  /// Return the clients that connected or disconnected since the last call, in that order.
  std::vector<ClientPeer> take_arrived() { return std::exchange(arrived_, {}); }
  std::vector<ClientPeer> take_gone() { return std::exchange(gone_, {}); }
  /// While false, no client is read from, and none is dropped for being slow.
  void set_reading(bool reads);
  bool has_output() const;

  /// Counts the requests whose replies a client waits for.
  void begin_request(uint64_t number) { ++requests_[number]; }
  void end_request(uint64_t number);

 private:
  void close(uint64_t number);
  uint32_t events_of(const Connection& client) const;

  const size_t clients_max_;
  UniqueFd epoll_;
  bool reads_ = true;
  uint64_t last_number_ = 1024;  ///< Lower numbers are those of watch().
  std::map<uint64_t, Connection> clients_;
  std::map<uint64_t, size_t> requests_;
  std::vector<ClientPeer> arrived_, gone_;
};

}  // namespace gpuemu
