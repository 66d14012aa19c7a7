// Programs of the toolkit as child processes that end when they hang, and folders for their files.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::compile {

/// A folder that is removed with its content.
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

/// The exit status; 128 and the signal's number where one ended it. Output and errors go to `log`.
/// `path_first` is put in front of PATH for the child, which may look for its own tools there.
/// Cancelled once `cancel` is true: the child and its children are ended, or never started.
Result<int> run_child(const std::vector<std::string>& command, const std::filesystem::path& log,
                      const std::string& path_first = "",
                      const std::atomic<bool>* cancel = nullptr);

}  // namespace gpuemu::compile
