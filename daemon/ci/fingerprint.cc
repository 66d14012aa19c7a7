#include "daemon/ci/fingerprint.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "common/base/blake2.h"
#include "common/base/files.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

// A folder with more files is not a folder of references, and hashing it costs more than it saves.
constexpr size_t kPythonFilesMax = 2000;
constexpr size_t kEntriesSeenMax = 50'000;
constexpr size_t kPythonBytesMax = size_t{8} << 20;
// Hashing more than this would take longer than the cases do.
constexpr size_t kReadBytesMax = size_t{256} << 20;
constexpr std::string_view kTooLarge = "-";

/// Returns whether no verdict depends on the setting.
bool is_apart(const std::string& key) {
  return key.starts_with("daemon.") || key.starts_with("ci.") || key.starts_with("project.") ||
         key.starts_with("policies.fail_on_regression") || key == "validation.seed";
}

/// Returns "ops[3]." for the setting "ops[3].name" whose value is `name`.
std::string prefix_of(const Config& config, const std::string& list, const std::string& name) {
  for (const Config::Setting& setting : config.settings) {
    if (setting.key.starts_with(list + "[") && setting.key.ends_with("].name") &&
        setting.value == "\"" + name + "\"") {
      return setting.key.substr(0, setting.key.size() - 4);
    }
  }
  return "";
}

/// Returns the project-wide settings and those below one of `prefixes`.
std::string settings_text(const Config& config, const std::vector<std::string>& prefixes) {
  std::string text;
  for (const Config::Setting& setting : config.settings) {
    const bool listed = setting.key.starts_with("ops[") || setting.key.starts_with("kernels[");
    const bool meant = std::ranges::any_of(prefixes, [&](const std::string& prefix) {
      return !prefix.empty() && setting.key.starts_with(prefix);
    });
    if (listed ? !meant : is_apart(setting.key)) continue;
    text += setting.key + "=" + setting.value + "\n";
  }
  return text;
}

bool is_skipped(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.starts_with(".") || name == "__pycache__" || name == "node_modules" ||
         name == "site-packages";
}

/// Returns the content of every Python file below `folder`; nothing if there is too much.
std::optional<std::string> python_text(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> files;
  size_t seen = 0;
  auto at = fs::recursive_directory_iterator(folder, failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    if (++seen > kEntriesSeenMax || files.size() > kPythonFilesMax) return std::nullopt;
    if (at->is_directory(failed) && is_skipped(at->path())) at.disable_recursion_pending();
    if (at->path().extension() == ".py" && at->is_regular_file(failed)) {
      files.push_back(at->path());
    }
  }
  if (failed) return std::nullopt;
  std::ranges::sort(files);
  std::string text;
  for (const fs::path& file : files) {
    const auto content = read_file(file, kPythonBytesMax);
    if (!content) return std::nullopt;
    text += file.string() + "\n" + content_hash({*content}) + "\n";
  }
  return text;
}

}  // namespace

std::string hash_of_file(const std::string& path) {
  const auto content = read_file(path, kReadBytesMax);
  if (content) return content_hash({*content});
  return content.error().code == ErrorCode::NotFound ? "" : std::string(kTooLarge);
}

std::optional<std::vector<FileContent>> contents_of(const ReferenceReads& reads,
                                                    fs::file_time_type start) {
  if (!reads.complete) return std::nullopt;
  std::vector<FileContent> contents;
  for (const std::string& path : reads.files) {
    std::error_code missing;
    const auto changed = fs::last_write_time(path, missing);
    if (!missing && changed >= start) return std::nullopt;
    contents.push_back({path, hash_of_file(path)});
    if (contents.back().hash == kTooLarge) return std::nullopt;
  }
  return contents;
}

std::optional<std::string> fingerprint_of(const Config& config, const OpConfig& op,
                                          const InspectOptions& options,
                                          const RunIdentity& identity) {
  std::vector<std::string> prefixes = {prefix_of(config, "ops", op.name)};
  std::string kernels;
  for (const std::string& name : op.kernels) {
    const KernelConfig* kernel = config.find_kernel(name);
    if (kernel == nullptr) return std::nullopt;
    const auto key = source_key(config, *kernel, options);
    if (!key) return std::nullopt;
    kernels += *key + "\n";
    prefixes.push_back(prefix_of(config, "kernels", name));
  }
  std::string python;
  for (const std::string& script : {op.reference, op.op_script}) {
    if (script.empty()) continue;
    const auto text = python_text(fs::path(script).parent_path());
    if (!text || !fs::exists(script)) return std::nullopt;
    python += *text;
  }
  return content_hash(
      {"op\n", op.name, "\n", identity.text, settings_text(config, prefixes), kernels, python});
}

std::optional<std::string> fingerprint_of(const Config& config, const KernelConfig& kernel,
                                          const InspectOptions& options,
                                          const RunIdentity& identity) {
  const auto key = source_key(config, kernel, options);
  if (!key) return std::nullopt;
  std::vector<std::string> prefixes = {prefix_of(config, "kernels", kernel.name)};
  for (const OpConfig& op : config.ops) {  // Its launches are evaluated with the op's dims.
    if (std::ranges::find(op.kernels, kernel.name) == op.kernels.end()) continue;
    prefixes.push_back(prefix_of(config, "ops", op.name));
  }
  return content_hash(
      {"kernel\n", kernel.name, "\n", identity.text, settings_text(config, prefixes), *key});
}

}  // namespace gpuemu
