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

/// Requires that the path's folder is locked and nothing exists at the path.
Status bind_and_listen(int socket, const std::filesystem::path& path) {
  const sockaddr_un address = socket_address(path);
  // The socket's mode becomes that of its file, so no other user can connect in between.
  if (::fchmod(socket, 0600) == 0 &&
      ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(socket, kBacklog) == 0) {
    return ok_status();
  }
  return error(ErrorCode::Io, "cannot listen on {}: {}", path.native(), std::strerror(errno));
}

/// Gives the group access. The folder is opened last, when the socket belongs to the group.
Status share_with(gid_t group, const std::filesystem::path& path) {
  constexpr mode_t kSocket = 0660, kFolder = 0750, kOthers = 0077;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  struct stat info{};
  bool good = ::chown(path.c_str(), static_cast<uid_t>(-1), group) == 0 &&
              ::chmod(path.c_str(), kSocket) == 0 && ::stat(folder.c_str(), &info) == 0;
  if (good && info.st_uid == ::geteuid() && (info.st_mode & kOthers) == 0) {
    good = ::chown(folder.c_str(), static_cast<uid_t>(-1), group) == 0 &&
           ::chmod(folder.c_str(), kFolder) == 0;
  }
  if (good) return ok_status();
  return error(ErrorCode::Unavailable,
               "cannot share {} with group {}: {}; the daemon's user must be in the group "
               "([daemon.share])",
               path.native(), group, std::strerror(errno));
}

}  // namespace

Result<Listener> Listener::open(const std::filesystem::path& path, std::optional<gid_t> group) {
  GPUEMU_TRY(check_socket_path(path));
  const UniqueFd folder_lock = GPUEMU_TRY(lock_socket_folder(path));
  GPUEMU_TRY(prepare_socket_path(path));
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return error(ErrorCode::ResourceExhausted, "no socket: {}", std::strerror(errno));
  GPUEMU_TRY(bind_and_listen(socket.get(), path));
  if (group) GPUEMU_TRY(share_with(*group, path));
  struct stat file{};
  if (::lstat(path.c_str(), &file) != 0) {
    return error(ErrorCode::Io, "{}: {}", path.native(), std::strerror(errno));
  }
  return Listener(path, std::move(socket), file.st_dev, file.st_ino);
}

Listener::~Listener() {
  if (!socket_) return;
  // Even without the lock: a daemon that starts now is either refused by this one or finds nothing.
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
