// Where the headers of a folder's sources lie.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gpuemu::cli {

/// Folders that compile_commands.json and CMakeLists.txt below `folder` name and that exist,
/// absolute, each once.
std::vector<std::string> include_dirs_of_build(const std::filesystem::path& folder);

/// Adds to `dirs` the folders, of those that `headers` lie in, with which `source` and what it
/// includes find their headers. `headers` are files below `folder`, relative to it.
void add_include_dirs(const std::filesystem::path& folder, const std::string& source,
                      const std::vector<std::string>& headers, std::vector<std::string>& dirs);

/// What a compiler says of a header that it does not find, as a reason and what to do; "" where it
/// says something else.
std::string about_missing_header(const std::string& compiler_says);

}  // namespace gpuemu::cli
