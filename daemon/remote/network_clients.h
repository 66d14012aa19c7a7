// Serves clients that connect over TCP, through the port for workers, with the part of the protocol
// that they may use.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "common/base/unique_fd.h"
#include "common/tls/tls_channel.h"

namespace gpuemu {

struct NetworkClientsOptions {
  std::string token;  ///< The token that daemon.listen requires; the first request carries it.
  std::function<std::string(std::string_view request, uint64_t connection)> answer;
  std::function<void(uint64_t connection)> connected, disconnected;
  std::function<void(const std::string& line)> log;
};

/// Serves each connection in a thread of its own. Thread-safe.
class NetworkClients {
 public:
  explicit NetworkClients(NetworkClientsOptions options);
  /// Closes all connections once their current requests are answered.
  ~NetworkClients();
  NetworkClients(const NetworkClients&) = delete;
  NetworkClients& operator=(const NetworkClients&) = delete;

  /// Serves an established connection whose first message has been received. `peer` is its address.
  void serve(std::unique_ptr<TlsChannel> channel, TlsChannel::Message first, std::string peer);

 private:
  class Line;

  const NetworkClientsOptions options_;
  UniqueFd stop_;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::list<std::unique_ptr<Line>> lines_;
  uint64_t last_number_;
};

}  // namespace gpuemu
