// Finds the user's own files that a source is made of, for the key of the module cache.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuemu::compile {

/// The content of every file that `source` includes, directly or not, and that is found beside the
/// including file or in `include_dirs`, each once, behind its path. Headers that are found nowhere
/// belong to the compiler.
std::string included_content(const std::string& path, const std::string& source,
                             const std::vector<std::string>& include_dirs);

/// The paths of these files, in the order in which they are found.
std::vector<std::string> included_files(const std::string& path, const std::string& source,
                                        const std::vector<std::string>& include_dirs);

struct IncludedText {
  std::string name;  ///< As the #include spells it.
  std::string text;
};
/// What these files hold.
std::vector<IncludedText> included_texts(const std::string& path, const std::string& source,
                                         const std::vector<std::string>& include_dirs);

/// "name" of a line such as `  # include "name"` or <name>; both forms may name a user's file.
std::optional<std::string> included_name(const std::string& line);

/// The folders that the compiler's own flags add: "-Ifolder", "-I folder", "--include-path=folder".
std::vector<std::string> include_dirs_of(const std::vector<std::string>& flags);

/// Files that flags include before the source, as #include lines.
std::string forced_includes(const std::vector<std::string>& flags);

}  // namespace gpuemu::compile
