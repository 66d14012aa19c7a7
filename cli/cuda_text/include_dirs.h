// Finds the include folders of a folder's sources.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gpuemu::cli {

/// Returns the existing folders that compile_commands.json and CMakeLists.txt below `folder` name,
/// as absolute paths, each once.
std::vector<std::string> include_dirs_of_build(const std::filesystem::path& folder);

/// Adds to `dirs` the folders that `source` and its includes need to find their headers: folders of
/// `headers`, or above `folder` up to the root of the repository. `headers` are files below
/// `folder`, relative to it.
void add_include_dirs(const std::filesystem::path& folder, const std::string& source,
                      const std::vector<std::string>& headers, std::vector<std::string>& dirs);

/// Explains a compiler message about a missing header, and suggests what to do; "" for other
/// messages.
std::string about_missing_header(const std::string& compiler_says);

}  // namespace gpuemu::cli
