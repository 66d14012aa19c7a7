// One daemon per database folder. The lock file beside the folder holds the daemon's process number
// and, once it listens, its socket: "123" and then "123 serves /home/u/.gpuemu/gpuemu.sock".
#pragma once

#include <filesystem>
#include <string>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace gpuemu {

/// Held until it is destroyed or the process ends, however it ends.
class FolderLock {
 public:
  /// Makes the folder. Unavailable when another daemon has it, with its process and socket; while
  /// that one is still starting this waits, so that of daemons started at once none reports before
  /// the first answers. Unavailable at once when another program has locked the file.
  static Result<FolderLock> take(const std::filesystem::path& folder);
  /// Tells those who come later that this daemon answers.
  Status serves(const std::string& socket_path);

 private:
  FolderLock(UniqueFd file, std::filesystem::path path)
      : file_(std::move(file)), path_(std::move(path)) {}
  Status write(const std::string& text);

  UniqueFd file_;
  std::filesystem::path path_;
};

}  // namespace gpuemu
