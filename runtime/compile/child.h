// Runs programs of the toolkit as child processes with a timeout, and makes folders for their
// files.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::compile {

/// A temporary folder, removed with its content by the destructor.
class ScratchFolder {
 public:
  static Result<ScratchFolder> create();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  std::filesystem::path operator/(const std::string& name) const {
    return std::filesystem::path(path_) / name;
  }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Runs a command. Returns its exit status, or 128 plus the number of the signal that ended it.
/// Output and errors go to `log`. `path_first` is prepended to the child's PATH, because the child
/// may look for its own tools there. Cancelled if `cancel` becomes true: the child and its children
/// are terminated, or not started.
Result<int> run_child(const std::vector<std::string>& command, const std::filesystem::path& log,
                      const std::string& path_first = "",
                      const std::atomic<bool>* cancel = nullptr);

}  // namespace gpuemu::compile
