// Private to this folder: the connections of a server under one epoll descriptor.
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

/// For one thread.
class ClientTable {
 public:
  explicit ClientTable(size_t clients_max) : clients_max_(clients_max) {}
  Status open();

  /// Watches a descriptor that is no client for input; it is reported under this number.
  Status watch(int fd, uint64_t number);
  void unwatch(int fd);
  /// Descriptors and clients that have something to do; none after `milliseconds`.
  int wait(std::vector<epoll_event>& events, int milliseconds);

  /// Where there are too many, hangs up on one that can connect again. False when every client
  /// waits for a reply: then this one is hung up on.
  bool add(UniqueFd socket);
  /// Null when it is gone.
  Connection* find(uint64_t number);
  /// Hangs up where the connection has ended; else adjusts what it is watched for.
  void settle(Connection& client);
  /// Hangs up on a client that waits for nothing; false when there is none.
  bool give_up_one();
  void close_overdue();
  /// Whoever has come and gone since the last call, in that order.
  std::vector<ClientPeer> take_arrived() { return std::exchange(arrived_, {}); }
  std::vector<ClientPeer> take_gone() { return std::exchange(gone_, {}); }
  /// While false no client is read from, and none is hung up on for being slow.
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
  uint64_t last_number_ = 1024;  ///< Below are the numbers of watch().
  std::map<uint64_t, Connection> clients_;
  std::map<uint64_t, size_t> requests_;
  std::vector<ClientPeer> arrived_, gone_;
};

}  // namespace gpuemu
