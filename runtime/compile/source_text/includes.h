// Finds the user's files that a source includes, for the cache key.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuemu::compile {

/// Returns the content of every file that `source` includes, directly or not, and that is found
/// beside the including file or in `include_dirs`; each once, after its path. Headers that are not
/// found belong to the compiler.
std::string included_content(const std::string& path, const std::string& source,
                             const std::vector<std::string>& include_dirs);

/// Returns the paths of these files, in the order in which they are found.
std::vector<std::string> included_files(const std::string& path, const std::string& source,
                                        const std::vector<std::string>& include_dirs);

struct IncludedText {
  std::string name;  ///< The spelling in the #include.
  std::string text;
  std::string path;  ///< Absolute.
};
/// Returns the contents of these files.
std::vector<IncludedText> included_texts(const std::string& path, const std::string& source,
                                         const std::vector<std::string>& include_dirs);

/// Returns the "name" of a line such as `  # include "name"` or <name>; both forms may name a
/// user's file.
std::optional<std::string> included_name(const std::string& line);

/// Returns the folders added by the compiler's flags: "-Ifolder", "-I folder",
/// "--include-path=folder".
std::vector<std::string> include_dirs_of(const std::vector<std::string>& flags);

/// Returns #include lines for the files that flags include before the source.
std::string forced_includes(const std::vector<std::string>& flags);

}  // namespace gpuemu::compile
