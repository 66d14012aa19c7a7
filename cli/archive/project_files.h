// The sources that another host needs to run a project's cases.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace gpuemu::cli {

struct ProjectFiles {
  /// Path -> content, relative to the project's folder, or to the innermost folder above it that
  /// contains everything needed.
  std::map<std::string, std::string> files;
  std::string config;                 ///< Path of the project file, one of `files`.
  std::vector<std::string> left_out;  ///< Files that the project needs and that are not included.
};

/// Returns sources, references and small data below the project's folder, and needed_files()
/// wherever they are. Links, hidden folders and folders of builds and packages are not followed.
/// Absolute paths in the project file become relative in the copy.
ProjectFiles project_files(const Config& config);

}  // namespace gpuemu::cli
