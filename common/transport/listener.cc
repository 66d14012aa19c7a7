#include "common/transport/listener.h"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/transport/socket_path.h"

namespace gpuemu {
namespace {

/// Clients that connect faster than the server accepts wait here instead of failing.
constexpr int kBacklog = 1024;

/// REQUIRES: the folder of the path is locked, and nothing lies at the path.
Status bind_and_listen(int socket, const std::filesystem::path& path) {
  const sockaddr_un address = socket_address(path);
  // The mode of the socket becomes that of its file: nobody else can connect in between.
  if (::fchmod(socket, 0600) == 0 &&
      ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(socket, kBacklog) == 0) {
    return ok_status();
  }
  return error(ErrorCode::Io, "cannot listen on {}: {}", path.native(), std::strerror(errno));
}

}  // namespace

Result<Listener> Listener::open(const std::filesystem::path& path) {
  GPUEMU_TRY(check_socket_path(path));
  const UniqueFd folder_lock = GPUEMU_TRY(lock_socket_folder(path));
  GPUEMU_TRY(prepare_socket_path(path));
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return error(ErrorCode::ResourceExhausted, "no socket: {}", std::strerror(errno));
  GPUEMU_TRY(bind_and_listen(socket.get(), path));
  struct stat file{};
  if (::lstat(path.c_str(), &file) != 0) {
    return error(ErrorCode::Io, "{}: {}", path.native(), std::strerror(errno));
  }
  return Listener(path, std::move(socket), file.st_dev, file.st_ino);
}

Listener::~Listener() {
  if (!socket_) return;
  // Without the lock too: a daemon that starts now is refused by this one or finds nothing.
  const auto folder_lock = lock_socket_folder(path_);
  struct stat file{};
  if (::lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
}

bool Listener::is_missing() const {
  struct stat file{};
  return ::lstat(path_.c_str(), &file) != 0 && errno == ENOENT;
}

int Listener::accept() const {
  return ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

}  // namespace gpuemu
