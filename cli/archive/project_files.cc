#include "cli/archive/project_files.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/core.h>

#include "cli/archive/archive.h"
#include "common/base/files.h"
#include "common/config/source_kind.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kDepthMax = 8;
constexpr size_t kFilesMax = 2000;
constexpr size_t kFileBytesMax = size_t{4} << 20;
constexpr size_t kAllBytesMax = size_t{32} << 20;
constexpr std::string_view kSuffixes[] = {".c",   ".cc",  ".cpp", ".csv",  ".cu",   ".cuh",
                                          ".h",   ".hh",  ".hpp", ".inl",  ".json", ".npy",
                                          ".npz", ".ptx", ".py",  ".toml", ".txt"};
constexpr std::string_view kOtherFolders[] = {"__pycache__",  "build",         "dist",
                                              "node_modules", "site-packages", "venv"};

bool is_source(const fs::path& file) {
  return std::ranges::find(kSuffixes, file.extension().string()) != std::end(kSuffixes);
}

/// Adds the file unless it is too large; false then.
bool add_file(const fs::path& file, const std::string& name, size_t& bytes, ProjectFiles& made) {
  auto text = read_file(file, kFileBytesMax);
  if (!text || bytes + text->size() > kAllBytesMax || made.files.size() >= kFilesMax) return false;
  bytes += text->size();
  made.files[name] = *std::move(text);
  return true;
}

/// What gpuemu.toml names, as it is read: absolute paths.
std::set<std::string> named_files(const Config& config) {
  std::set<std::string> names;
  for (const OpConfig& op : config.ops) {
    names.insert(op.reference);
    names.insert(op.op_script);
  }
  for (const KernelConfig& kernel : config.kernels) {
    if (source_kind(kernel.source) != SourceKind::Builtin) names.insert(kernel.source);
  }
  names.erase("");
  return names;
}

}  // namespace

ProjectFiles project_files(const Config& config) {
  ProjectFiles made;
  size_t bytes = 0;
  std::error_code failed;
  const fs::path folder = config.folder;
  made.config = fs::path(config.file).filename().string();
  add_file(config.file, made.config, bytes, made);
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
    const std::string path = at->path().lexically_relative(folder).generic_string();
    if (!fs::is_regular_file(status) || !is_source(at->path()) || !is_harmless_path(path)) continue;
    if (!made.files.contains(path)) add_file(at->path(), path, bytes, made);
  }
  for (const std::string& file : named_files(config)) {
    const std::string path = fs::path(file).lexically_relative(folder).generic_string();
    if (!made.files.contains(path)) made.left_out.push_back(file);
  }
  return made;
}

}  // namespace gpuemu::cli
