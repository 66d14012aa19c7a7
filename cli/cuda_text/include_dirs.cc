#include "cli/cuda_text/include_dirs.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"
#include "common/base/files.h"
#include "common/base/limits.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

// A source with more headers of its own than this is a library.
constexpr size_t kHeadersMax = 500;

void add_existing(const fs::path& folder, const std::string& dir, std::vector<std::string>& dirs) {
  std::error_code failed;
  const fs::path full = fs::path(dir).is_absolute() ? fs::path(dir) : folder / dir;
  if (!fs::is_directory(full, failed)) return;
  const std::string plain = full.lexically_normal().string();
  if (std::ranges::find(dirs, plain) == dirs.end()) dirs.push_back(plain);
}

bool is_found(const fs::path& beside, const std::string& header,
              const std::vector<std::string>& dirs) {
  std::error_code failed;
  if (fs::exists(beside / header, failed)) return true;
  return std::ranges::any_of(
      dirs, [&](const std::string& dir) { return fs::exists(fs::path(dir) / header, failed); });
}

/// Returns whether every compiler has a header of this name; a file with that name elsewhere is a
/// different header.
bool is_of_toolkit(const std::string& header) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"assert.h", "complex.h", "ctype.h", "errno.h", "float.h", "limits.h", "math.h", "stdarg.h",
       "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h"});
  return header.find_first_of("./") == std::string::npos || header.starts_with("cu") ||
         std::ranges::find(kNames, header) != kNames.end();
}

/// Adds the nearest folder above that has the header: `folder` may be a part of a program.
void add_folder_above(const fs::path& folder, const std::string& header,
                      std::vector<std::string>& dirs) {
  constexpr int kAboveMax = 3;
  std::error_code failed;
  if (is_of_toolkit(header) || fs::exists(folder / ".git", failed)) return;
  fs::path above = folder.parent_path();
  for (int level = 0; level < kAboveMax && above.has_relative_path(); ++level) {
    for (const char* below : {"include", "src", ""}) {
      if (!fs::is_regular_file(above / below / header, failed)) continue;
      add_existing(folder, (above / below).string(), dirs);
      return;
    }
    if (fs::exists(above / ".git", failed)) return;
    above = above.parent_path();
  }
}

std::vector<std::string> headers_in(const std::string& text) {
  static const RE2 kInclude(R"((?m)^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">])");
  std::vector<std::string> names;
  re2::StringPiece rest(text);
  std::string name;
  while (RE2::FindAndConsume(&rest, kInclude, &name)) names.push_back(name);
  return names;
}

/// Returns the file that an #include line refers to; "" for one of the toolkit or the system.
std::string file_of(const fs::path& beside, const std::string& header,
                    const std::vector<std::string>& dirs) {
  std::error_code failed;
  if (fs::exists(beside / header, failed)) return (beside / header).string();
  for (const std::string& dir : dirs) {
    if (fs::exists(fs::path(dir) / header, failed)) {
      return (fs::path(dir) / header).string();
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> include_dirs_of_build(const fs::path& folder) {
  static const RE2 kFlag(R"re((?:-I|-isystem)[ \\]*"?([^\s"\\,\]]+))re");
  static const RE2 kCMake(R"(include_directories\s*\(([^)]*)\))");
  std::vector<std::string> dirs;
  for (const char* name : {"compile_commands.json", "build/compile_commands.json"}) {
    const auto text = read_file(folder / name, kSourceBytesMax);
    if (!text) continue;
    re2::StringPiece rest(*text);
    std::string dir;
    while (RE2::FindAndConsume(&rest, kFlag, &dir)) add_existing(folder, dir, dirs);
  }
  const auto text = read_file(folder / "CMakeLists.txt", kSourceBytesMax);
  if (!text) return dirs;
  re2::StringPiece rest(*text);
  std::string list;
  while (RE2::FindAndConsume(&rest, kCMake, &list)) {
    for (const std::string_view name :
         {"${CMAKE_CURRENT_SOURCE_DIR}", "${CMAKE_SOURCE_DIR}", "${PROJECT_SOURCE_DIR}"}) {
      for (size_t at = list.find(name); at != std::string::npos; at = list.find(name)) {
        list = list.substr(0, at) + "." + list.substr(at + name.size());
      }
    }
    static const RE2 kWord(R"re("?([^\s"]+)"?)re");
    re2::StringPiece words(list);
    std::string word;
    while (RE2::FindAndConsume(&words, kWord, &word)) add_existing(folder, word, dirs);
  }
  return dirs;
}

void add_include_dirs(const fs::path& folder, const std::string& source,
                      const std::vector<std::string>& headers, std::vector<std::string>& dirs) {
  std::vector<std::string> files = {(folder / source).string()};
  std::set<std::string> seen(files.begin(), files.end());
  for (size_t at = 0; at < files.size() && at < kHeadersMax; ++at) {
    const auto text = read_file(files[at], kSourceBytesMax);
    if (!text) continue;
    const fs::path beside = fs::path(files[at]).parent_path();
    for (const std::string& header : headers_in(*text)) {
      if (!is_found(beside, header, dirs)) {
        const auto here = std::ranges::find_if(headers, [&](const std::string& file) {
          return file == header || file.ends_with("/" + header);
        });
        if (here != headers.end()) {
          add_existing(folder, here->substr(0, here->size() - header.size()), dirs);
        } else {
          add_folder_above(folder, header, dirs);
        }
      }
      const std::string file = file_of(beside, header, dirs);
      if (!file.empty() && seen.insert(file).second) files.push_back(file);
    }
  }
}

std::string about_missing_header(const std::string& compiler_says) {
  static const RE2 kMissing(
      R"re((?:cannot open source file "([^"]+)"|error: ([^\s:]+): No such file))re");
  std::string nvrtc, host;
  if (!RE2::PartialMatch(compiler_says, kMissing, &nvrtc, &host)) return {};
  const std::string header = nvrtc.empty() ? host : nvrtc;
  for (const char* framework : {"torch/", "ATen/", "c10/", "pybind11/", "tensorflow/", "xla/"}) {
    if (!header.starts_with(framework)) continue;
    return fmt::format(
        "it includes {}, which is for the host: put its __global__ functions into a file of their "
        "own that does not, and include that file here",
        header);
  }
  if (header.find_first_of("./") == std::string::npos) {
    return fmt::format(
        "it includes <{}>, which only nvcc has: install nvcc, or put its __global__ functions into "
        "a "
        "file of their own that does not include it, and include that file here",
        header);
  }
  return fmt::format(
      "it includes {}, which is not in this folder: name the folder that has it with --include",
      header);
}

}  // namespace gpuemu::cli
