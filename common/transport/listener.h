// Private to this folder: the socket file of a server, from bind to unlink.
#pragma once

#include <filesystem>
#include <optional>

#include <sys/types.h>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace gpuemu {

/// A listening Unix domain socket, mode 0600, or 0660 for a group. Its destructor removes its own
/// file, never another's.
class Listener {
 public:
  /// Errors as for Server::listen.
  static Result<Listener> open(const std::filesystem::path& path, std::optional<gid_t> group = {});
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  int socket() const { return socket_.get(); }
  /// Returns whether nothing exists at the path any more. A file of another owner is left alone.
  bool is_missing() const;
  /// Accepts the next client; returns -1 with errno if there is none.
  int accept() const;

 private:
  Listener(std::filesystem::path path, UniqueFd socket, dev_t device, ino_t inode)
      : path_(std::move(path)), socket_(std::move(socket)), device_(device), inode_(inode) {}

  std::filesystem::path path_;
  UniqueFd socket_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace gpuemu
