// Allows one daemon per database folder. The lock file beside the folder contains the daemon's
// process id and, once it listens, its socket: "123", then "123 serves
// /home/u/.gpuemu/gpuemu.sock".
#pragma once

#include <filesystem>
#include <string>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace gpuemu {

/// Held until it is destroyed or the process ends in any way.
class FolderLock {
 public:
  /// Creates the folder and takes the lock. Unavailable if another daemon holds it; the message
  /// names its process and socket. Waits while that daemon is still starting, so that of several
  /// daemons started at once none fails before the first one answers. Unavailable at once if
  /// another program holds the lock.
  static Result<FolderLock> take(const std::filesystem::path& folder);
  /// Writes to the lock file that this daemon answers on the socket.
  Status serves(const std::string& socket_path);

 private:
  FolderLock(UniqueFd file, std::filesystem::path path)
      : file_(std::move(file)), path_(std::move(path)) {}
  Status write(const std::string& text);

  UniqueFd file_;
  std::filesystem::path path_;
};

}  // namespace gpuemu
