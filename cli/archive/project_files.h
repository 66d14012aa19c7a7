// What another machine needs to run a project's cases: its sources.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace gpuemu::cli {

struct ProjectFiles {
  /// Path -> content, from the project's folder on, or from the innermost one above it with all
  /// that it needs.
  std::map<std::string, std::string> files;
  std::string config;                 ///< Path of the project file among them.
  std::vector<std::string> left_out;  ///< What the project needs and is not among them.
};

/// Sources, references and small data below the project's folder, and needed_files() wherever they
/// lie; nothing behind links, in hidden folders or in those of builds and packages. Absolute paths
/// of the project file are relative ones in the copy.
ProjectFiles project_files(const Config& config);

}  // namespace gpuemu::cli
