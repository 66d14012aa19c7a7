// Private to this folder: a remote worker's connection to its daemon, from dialling to its end.
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

/// What became of a try to serve.
struct SessionEnd {
  enum class Kind {
    Lost,         ///< It was accepted, and the connection has ended.
    Unreachable,  ///< Nobody answered; it may be tried again.
    Refused       ///< Trying again is of no use.
  };
  Kind kind = Kind::Lost;
  std::string why;  ///< Refused, Unreachable: for people.
};

/// Connects, registers and serves until the connection ends.
SessionEnd serve_daemon(const RemoteOptions& options,
                        const std::shared_ptr<const TlsContext>& context, RemoteService& service);

}  // namespace gpuemu
