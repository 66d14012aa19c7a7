// Writes a set of files either completely or not at all, and never overwrites existing ones.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::cli {

struct FilePlan {
  std::filesystem::path folder;
  std::map<std::string, std::string> files;  ///< Path in the folder -> text.
  /// Names of references for the user to write. One that the user has written is kept; another one
  /// is replaced.
  std::set<std::string> stubs = {};
};

struct WrittenFiles {
  std::vector<std::string> written;
  std::map<std::string, std::string> backups;  ///< Replaced file -> its backup.
  std::vector<std::string> kept;               ///< References that the user has written.
};

/// Writes the files. InvalidArgument lists every file that exists, unless `force` is set: existing
/// files are then renamed to NAME.bak, NAME.bak2 and so on. If a write fails, all changes are
/// undone.
Result<WrittenFiles> write_files(const FilePlan& plan, bool force);

}  // namespace gpuemu::cli
