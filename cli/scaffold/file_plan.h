// Files that are to be written all together or not at all, and never over what is there.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::cli {

struct FilePlan {
  std::filesystem::path folder;
  std::map<std::string, std::string> files;  ///< Path in the folder -> text.
};

struct WrittenFiles {
  std::vector<std::string> written;
  std::map<std::string, std::string> backups;  ///< What was replaced -> where it is kept.
};

/// InvalidArgument naming every file that exists, unless `force`: then each is first renamed to
/// NAME.bak, NAME.bak2 and so on. Where a write fails, what was written is taken back.
Result<WrittenFiles> write_files(const FilePlan& plan, bool force);

}  // namespace gpuemu::cli
