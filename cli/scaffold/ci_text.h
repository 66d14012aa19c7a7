// Files for CI: this repository's own templates, pinned to this version.
#pragma once

#include <map>
#include <string>

namespace gpuemu::cli {

/// Returns path in the project -> text. `where` is "github" or "gitlab"; empty for others.
std::map<std::string, std::string> ci_files(const std::string& where, const std::string& version);

}  // namespace gpuemu::cli
