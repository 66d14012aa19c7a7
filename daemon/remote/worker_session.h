// Private to this folder: a remote worker's connection to its daemon, from connecting to its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/host_port.h"
#include "common/tls/tls_channel.h"
#include "daemon/remote/remote_service.h"

namespace gpuemu {

struct RemoteOptions {
  HostPort address;
  std::string worker_id;
  TlsFiles files;
  std::string token_file, token;
  DeviceProperties device;
  std::string program;  ///< Path of gpuemu-worker.
};

/// How an attempt to serve ended.
struct SessionEnd {
  enum class Kind {
    Lost,         ///< The worker was accepted, and the connection has ended.
    Unreachable,  ///< There was no answer; another attempt may succeed.
    Refused       ///< Further attempts are useless.
  };
  Kind kind = Kind::Lost;
  std::string why;  ///< Refused, Unreachable: the reason, for the user.
};

/// Connects, registers and serves until the connection ends.
SessionEnd serve_daemon(const RemoteOptions& options,
                        const std::shared_ptr<const TlsContext>& context, RemoteService& service);

}  // namespace gpuemu
