#include "cli/archive/project_files.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/core.h>

#include "cli/archive/archive.h"
#include "cli/archive/needed_files.h"
#include "common/base/files.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kDepthMax = 8;
constexpr size_t kFilesMax = 2000;
constexpr size_t kFileBytesMax = size_t{4} << 20;
constexpr size_t kAllBytesMax = size_t{32} << 20;
constexpr std::string_view kOtherFolders[] = {"__pycache__",  "build",         "dist",
                                              "node_modules", "site-packages", "venv"};

/// Adds the file; returns false if it is too large.
bool add_file(const fs::path& file, const std::string& name, size_t& bytes, ProjectFiles& made) {
  auto text = read_file(file, kFileBytesMax);
  if (!text || bytes + text->size() > kAllBytesMax || made.files.size() >= kFilesMax) return false;
  bytes += text->size();
  made.files[name] = *std::move(text);
  return true;
}

bool is_below(const fs::path& file, const fs::path& folder) {
  const fs::path path = file.lexically_relative(folder);
  return !path.empty() && *path.begin() != "..";
}

bool is_regular(const std::string& file) {
  std::error_code failed;
  return fs::is_regular_file(fs::symlink_status(file, failed));
}

/// Returns the innermost folder with the project and the files that it needs, except those whose
/// paths an archive does not accept, such as files below a hidden folder.
fs::path common_folder(const Config& config, const std::set<std::string>& needed) {
  const fs::path own = config.folder;
  const auto takes = [](const fs::path& base, const fs::path& path) {
    return path == base || is_harmless_path(path.lexically_relative(base).generic_string());
  };
  fs::path base = own;
  for (const std::string& file : needed) {
    fs::path wider = base;
    while (!is_below(file, wider) && wider.has_relative_path()) wider = wider.parent_path();
    if (is_regular(file) && takes(wider, own) && takes(wider, file)) base = wider;
  }
  return base;
}

/// Returns whether the archive has the file, or files in the folder.
bool has_path(const std::map<std::string, std::string>& files, const std::string& path) {
  const auto next = files.lower_bound(path);
  return next != files.end() && (next->first == path || next->first.starts_with(path + "/"));
}

/// Returns where a path begins in a text such as "-I/usr/include", and where it ends in
/// "/ref.py:softmax".
std::pair<size_t, size_t> path_in(std::string_view text) {
  const size_t begin = text.starts_with("-I") ? 2 : text.find('=') + 1;
  const size_t first = text.starts_with("/") ? 0 : begin;
  return {first, std::min(text.find(':', first), text.size())};
}

/// Returns the project file with absolute paths of archived files replaced by paths relative to its
/// folder. Strings over several lines are not changed.
std::string with_relative_paths(const std::string& toml, const fs::path& own, const fs::path& base,
                                const std::map<std::string, std::string>& files) {
  std::string made;
  for (size_t i = 0; i < toml.size();) {
    const char letter = toml[i];
    const size_t line = std::min(toml.find('\n', i), toml.size());
    if (letter == '#') {
      made += toml.substr(i, line - i);
      i = line;
      continue;
    }
    const size_t close =
        letter == '"' || letter == '\'' ? toml.find(letter, i + 1) : std::string::npos;
    if (close == std::string::npos || close > line) {
      made += letter;
      ++i;
      continue;
    }
    std::string text = toml.substr(i + 1, close - i - 1);
    const auto [first, end] = path_in(text);
    const fs::path path = fs::path(text.substr(first, end - first)).lexically_normal();
    if (path.is_absolute() && has_path(files, path.lexically_relative(base).generic_string())) {
      text.replace(first, end - first, path.lexically_relative(own).generic_string());
    }
    made += letter + text + letter;
    i = close + 1;
  }
  return made;
}

/// Adds the sources below the project's folder.
void add_folder(const fs::path& folder, const fs::path& base, size_t& bytes, ProjectFiles& made) {
  std::error_code failed;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto at = fs::recursive_directory_iterator(folder, options, failed);
       !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    const std::string name = at->path().filename().string();
    const fs::file_status status = at->symlink_status(failed);
    if (fs::is_directory(status)) {
      const bool other = std::ranges::find(kOtherFolders, name) != std::end(kOtherFolders);
      if (other || name.starts_with(".") || at.depth() >= kDepthMax) {
        at.disable_recursion_pending();
      }
      continue;
    }
    const std::string path = at->path().lexically_relative(base).generic_string();
    const bool wanted = fs::is_regular_file(status) && is_source_name(name);
    if (!wanted || !is_harmless_path(path)) continue;
    if (!made.files.contains(path)) add_file(at->path(), path, bytes, made);
  }
}

}  // namespace

ProjectFiles project_files(const Config& config) {
  ProjectFiles made;
  size_t bytes = 0;
  const std::set<std::string> needed = needed_files(config);
  const fs::path own = config.folder, base = common_folder(config, needed);
  made.config = (own.lexically_relative(base) / fs::path(config.file).filename())
                    .lexically_normal()
                    .generic_string();
  add_file(config.file, made.config, bytes, made);
  for (const std::string& file : needed) {
    const std::string path = fs::path(file).lexically_relative(base).generic_string();
    if (is_regular(file) && is_harmless_path(path) && !made.files.contains(path)) {
      add_file(file, path, bytes, made);
    }
    if (!made.files.contains(path)) made.left_out.push_back(file);
  }
  add_folder(own, base, bytes, made);
  std::string& toml = made.files[made.config];
  toml = with_relative_paths(toml, own, base, made.files);
  return made;
}

}  // namespace gpuemu::cli
