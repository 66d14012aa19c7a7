// The daemon's end of the wire: NNG's REP on a Unix domain socket, on which many requests are
// answered at once. A handler runs on a pool of threads, so that a long request delays nobody
// else's. A request that its client repeats while the first one runs (NNG's REQ does so after 60 s)
// is not run twice: both get the answer of the run under way.
//
// The protocol is spoken here and not by NNG: the listener of NNG 1.5 ends for good when a peer
// hangs up during the handshake, and keeps its descriptors.
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

/// Who is at the other end of a connection, as the kernel says.
struct ClientPeer {
  uint64_t connection = 0;  ///< Its number, which no later connection gets again.
  pid_t pid = 0;            ///< The process that connected; 0 where this one cannot see it.
  uid_t uid = 0;
  gid_t gid = 0;
  bool has_shown_token = false;  ///< To connect at all: its sessions need no other.
};

struct ServerOptions {
  size_t threads_max = 64;  ///< Handlers that run at the same time; threads start as needed.
  size_t queued_max = 256;  ///< Requests received and not answered; more wait in their clients.
  /// Clients at the same time. Where one more arrives, one that has sent half a handshake or
  /// message, or that has been silent for longest, is hung up on; NNG's clients connect again.
  size_t connections_max = 512;
  /// Members of this group may connect too: the socket has mode 0660 and, where it was the user's
  /// alone, its folder 0750.
  std::optional<gid_t> group = {};
  /// Told of every connection before its first request runs, and when it has ended, which may be
  /// while its requests run. Called by one thread; must not block.
  std::function<void(const ClientPeer&)> on_connected = {}, on_disconnected = {};
};

class Server {
 public:
  /// Request in, reply out. Runs on several threads at once; must not throw.
  using Handler = std::function<std::string(std::string_view request, const ClientPeer& peer)>;

  /// Listens on a Unix domain socket: mode 0600, in a folder that is made with mode 0700 when it
  /// does not exist. A socket file on which nobody answers is replaced. InvalidArgument when the
  /// path is longer than kSocketPathBytesMax, Unavailable when a daemon already answers there.
  static Result<std::unique_ptr<Server>> listen(const std::filesystem::path& socket_path,
                                                Handler handler, const ServerOptions& options = {});
  /// As stop().
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Takes no further requests, waits for the running handlers and delivers their replies, removes
  /// the socket file. Any thread but a handler's; further calls return at once.
  void stop();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuemu
