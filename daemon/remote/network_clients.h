// Clients that connect over TCP, through the port for workers: what of the protocol they may ask.
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
  std::string token;  ///< daemon.listen has it; the first request shows it.
  std::function<std::string(std::string_view request, uint64_t connection)> answer;
  std::function<void(uint64_t connection)> connected, disconnected;
  std::function<void(const std::string& line)> log;
};

/// Answers each connection in a thread of its own. Thread-safe.
class NetworkClients {
 public:
  explicit NetworkClients(NetworkClientsOptions options);
  /// Hangs up on all, once what they asked is answered.
  ~NetworkClients();
  NetworkClients(const NetworkClients&) = delete;
  NetworkClients& operator=(const NetworkClients&) = delete;

  /// Serves an established connection whose first message has come. `peer` is its address.
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
