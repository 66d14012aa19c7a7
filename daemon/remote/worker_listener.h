// The port on which remote workers register and clients connect over TCP: always TLS, with
// certificates on both sides and a token.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/host_port.h"
#include "common/tls/tls_context.h"
#include "daemon/remote/network_clients.h"
#include "daemon/remote/remote_registry.h"

namespace gpuemu {

struct WorkerListenerOptions {
  HostPort address;
  std::shared_ptr<const TlsContext> context;
  std::string token;
  std::function<void(const std::string& line)> log;
};

/// Serves all connections from one thread; none waits for another.
class WorkerListener {
 public:
  /// Unavailable if the address cannot be used.
  static Result<std::unique_ptr<WorkerListener>> listen(WorkerListenerOptions options,
                                                        std::shared_ptr<RemoteRegistry> registry);
  /// Closes the connections of all workers.
  ~WorkerListener();
  /// Passes connections of clients to `clients` from now on. Null: no more are passed, and none is
  /// in progress when this returns.
  void serve_clients(NetworkClients* clients);
  WorkerListener(const WorkerListener&) = delete;
  WorkerListener& operator=(const WorkerListener&) = delete;

 private:
  struct State;
  explicit WorkerListener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuemu
