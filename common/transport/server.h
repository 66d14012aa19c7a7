// The daemon's side of the wire: NNG's REP protocol on a Unix domain socket, with many concurrent
// requests. Handlers run on a pool of threads, so that a long request delays no other. If a client
// repeats a request while it runs (NNG's REQ does so after 60 s), it is not run twice: both get the
// same reply.
//
// Implements the protocol without NNG, because the listener of NNG 1.5 stops for good when a peer
// disconnects during the handshake, and leaks its descriptors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "common/base/result.h"

namespace gpuemu {

/// The other end of a connection, as reported by the kernel.
struct ClientPeer {
  uint64_t connection = 0;  ///< Its number, never reused.
  pid_t pid = 0;            ///< The process that connected; 0 if it is not visible from here.
  uid_t uid = 0;
  gid_t gid = 0;
  bool has_shown_token = false;  ///< To connect at all; its sessions then need no other token.
};

struct ServerOptions {
  size_t threads_max = 64;  ///< Handlers that run concurrently; threads start as needed.
  size_t queued_max = 256;  ///< Requests received and not answered; further ones wait in their
                            ///< clients.
  /// Concurrent clients. When another one arrives, one that has sent half a handshake or message,
  /// or that has been silent longest, is dropped; NNG's clients reconnect.
  size_t connections_max = 512;
  /// Members of this group may connect too: the socket gets mode 0660 and its folder, if it was
  /// private, mode 0750.
  std::optional<gid_t> group = {};
  /// Called for every connection before its first request runs, and when it has ended, possibly
  /// while its requests still run. Called by one thread; must not block.
  std::function<void(const ClientPeer&)> on_connected = {}, on_disconnected = {};
};

class Server {
 public:
  /// Takes a request and returns the reply. Runs on several threads concurrently; must not throw.
  using Handler = std::function<std::string(std::string_view request, const ClientPeer& peer)>;

  /// Listens on a Unix domain socket with mode 0600, in a folder that is created with mode 0700 if
  /// it is missing. Replaces a socket file on which nobody answers. InvalidArgument if the path is
  /// longer than kSocketPathBytesMax, Unavailable if a daemon already answers there.
  static Result<std::unique_ptr<Server>> listen(const std::filesystem::path& socket_path,
                                                Handler handler, const ServerOptions& options = {});
  /// Calls stop().
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Accepts no further requests, waits for the running handlers, delivers their replies and
  /// removes the socket file. May be called from any thread except a handler's; further calls
  /// return at once.
  void stop();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuemu
