// Probes, locks and cleans up a Unix domain socket path with plain system calls.
#include "common/transport/socket_path.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/base/file_lock.h"
#include "common/base/limits.h"
#include "common/base/private_path.h"
#include "common/transport/sp_wire.h"

namespace gpuemu {
namespace {

/// Completes the SP handshake before disconnecting: a daemon of an earlier version, which listens
/// with NNG 1.5, stops accepting forever if a peer leaves before it has sent its half.
void shake_hands(int fd) {
  constexpr timeval kPatience{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  if (::send(fd, kReqHandshake.data(), kReqHandshake.size(), MSG_NOSIGNAL) < 0) return;
  char header[kHandshakeBytes];
  ssize_t got = 0;
  for (size_t have = 0; have < sizeof(header); have += static_cast<size_t>(got)) {
    got = ::recv(fd, header + have, sizeof(header) - have, 0);
    if (got <= 0) return;
  }
}

/// Daemons hold it while they probe the socket's holder, which takes at most a second.
constexpr std::chrono::seconds kLockPatience{3};

}  // namespace

Status check_socket_path(const std::filesystem::path& path) {
  if (path.empty()) return error(ErrorCode::InvalidArgument, "the socket path is empty");
  const size_t bytes = path.native().size();
  if (bytes <= kSocketPathBytesMax) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "socket path {} has {} bytes, at most {} are possible; choose a shorter one",
               path.native(), bytes, kSocketPathBytesMax);
}

sockaddr_un socket_address(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.native().size() + 1);
  return address;
}

Result<std::string> holder_of(const std::filesystem::path& path) {
  GPUEMU_TRY(check_socket_path(path));
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return error(ErrorCode::Io, "no socket: {}", std::strerror(errno));
  // A suspended daemon accepts nobody; if its queue is full, connecting would block forever.
  constexpr timeval kPatience{1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  const sockaddr_un address = socket_address(path);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const ErrorCode code = errno == ENOENT         ? ErrorCode::NotFound
                           : errno == ECONNREFUSED ? ErrorCode::Unavailable
                                                   : ErrorCode::Io;
    return error(code, "{}: {}", path.native(), std::strerror(errno));
  }
  shake_hands(fd.get());
  ucred peer{};
  socklen_t peer_bytes = sizeof(peer);
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) != 0) {
    return std::string("another process");
  }
  if (peer.uid != ::geteuid() && peer.uid != 0) {
    return error(ErrorCode::Io, "{} is served by {} of user {}; choose a socket path of your own",
                 path.native(), name_of_process(peer.pid), peer.uid);
  }
  return name_of_process(peer.pid);
}

Status prepare_socket_path(const std::filesystem::path& path) {
  const auto holder = holder_of(path);
  if (holder) {
    return error(ErrorCode::Unavailable,
                 "{} already serves {}; stop it first or choose another socket path", *holder,
                 path.native());
  }
  if (holder.error().code == ErrorCode::NotFound) return ok_status();
  struct stat file{};
  if (::lstat(path.c_str(), &file) == 0 && !S_ISSOCK(file.st_mode)) {
    return error(ErrorCode::InvalidArgument,
                 "{} exists and is not a socket; remove it or choose another socket path",
                 path.native());
  }
  // Nobody listens: a daemon was killed. Other errors do not prove that.
  if (holder.error().code != ErrorCode::Unavailable) return holder.error();
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return error(ErrorCode::Io, "cannot remove the stale socket {}: {}", path.native(),
                 std::strerror(errno));
  }
  return ok_status();
}

Result<UniqueFd> lock_socket_folder(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  GPUEMU_TRY(make_private_folder(folder));
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    return error(ErrorCode::Io, "cannot open the folder {} of the socket: {}", folder.native(),
                 std::strerror(errno));
  }
  GPUEMU_TRY(lock_file(fd.get(), folder, kLockPatience));
  return fd;
}

}  // namespace gpuemu
