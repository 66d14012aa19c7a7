// The port on which remote workers register, and clients connect over TCP: TLS alone, certificates
// on both sides, a token.
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

/// One thread serves all connections; none waits for another.
class WorkerListener {
 public:
  /// Unavailable where the address cannot be listened on.
  static Result<std::unique_ptr<WorkerListener>> listen(WorkerListenerOptions options,
                                                        std::shared_ptr<RemoteRegistry> registry);
  /// Hangs up on all workers.
  ~WorkerListener();
  /// From now on gives it the connections of clients; null: no more, and none is on its way.
  void serve_clients(NetworkClients* clients);
  WorkerListener(const WorkerListener&) = delete;
  WorkerListener& operator=(const WorkerListener&) = delete;

 private:
  struct State;
  explicit WorkerListener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuemu
