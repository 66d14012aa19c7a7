// What another machine needs to run a project's cases: its sources.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace gpuemu::cli {

struct ProjectFiles {
  std::map<std::string, std::string> files;  ///< Path in the project's folder -> content.
  std::string config;                        ///< Path of the project file among them.
  std::vector<std::string> left_out;         ///< What gpuemu.toml names and is not among them.
};

/// Sources, references and small data below the project's folder; nothing behind links, in hidden
/// folders or in those of builds and packages.
ProjectFiles project_files(const Config& config);

}  // namespace gpuemu::cli
