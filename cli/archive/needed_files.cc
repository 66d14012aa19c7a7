#include "cli/archive/needed_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/config/source_kind.h"
#include "runtime/compile/source_text/includes.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kScriptsMax = 200;
constexpr std::string_view kSuffixes[] = {".c",   ".cc",  ".cpp", ".csv",  ".cu",   ".cuh",
                                          ".h",   ".hh",  ".hpp", ".inl",  ".json", ".npy",
                                          ".npz", ".ptx", ".py",  ".toml", ".txt"};

bool is_of_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '.';
}

/// Splits a line of Python into words; "pkg.module" is one word.
std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  for (size_t i = 0; i < line.size();) {
    const auto* const end = std::ranges::find_if_not(line.substr(i), is_of_word);
    const auto length = static_cast<size_t>(end - (line.data() + i));
    if (length > 0) words.emplace_back(line.substr(i, length));
    i += std::max<size_t>(length, 1);
  }
  return words;
}

bool is_file(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(fs::symlink_status(path, failed));
}

/// Adds the module or package that a name in an import refers to, or that a part of the name refers
/// to: "a.b" in `from a.b import c`, "a" in `import a.b`.
void add_module(std::string name, const fs::path& folder, std::vector<std::string>& found) {
  name.erase(0, name.find_first_not_of('.'));
  while (!name.empty()) {
    std::string path = name;
    std::ranges::replace(path, '.', '/');
    for (const fs::path& one : {folder / (path + ".py"), folder / path / "__init__.py"}) {
      if (is_file(one)) found.push_back(one.lexically_normal().string());
    }
    const size_t dot = name.rfind('.');
    name.erase(dot == std::string::npos ? 0 : dot);
  }
}

/// Adds a file beside the script that a string in it names.
void add_data(const std::string& name, const fs::path& folder, std::vector<std::string>& found) {
  const fs::path path = (folder / name).lexically_normal();
  if (is_source_name(path.string()) && is_file(path)) found.push_back(path.string());
}

/// Returns the modules that the lines of a script import, and the files that its strings name.
std::vector<std::string> files_of_script(const std::string& script, const fs::path& folder) {
  std::vector<std::string> found;
  for (size_t begin = 0; begin < script.size();) {
    const size_t end = std::min(script.find('\n', begin), script.size());
    const std::string line = script.substr(begin, end - begin);
    begin = end + 1;
    const std::vector<std::string> words = split_words(line);
    if (!words.empty() && (words[0] == "import" || words[0] == "from")) {
      const std::string package = words[0] == "from" && words.size() > 1 ? words[1] + "." : "";
      for (size_t i = 1; i < words.size(); ++i) {
        add_module(words[i], folder, found);
        add_module(package + words[i], folder, found);
      }
      continue;
    }
    for (size_t i = 0; (i = line.find_first_of("\"'", i)) != std::string::npos;) {
      const size_t close = line.find(line[i], i + 1);
      if (close == std::string::npos) break;
      add_data(line.substr(i + 1, close - i - 1), folder, found);
      i = close + 1;
    }
  }
  return found;
}

/// Adds a script and, recursively, the files that it refers to.
void add_script(const std::string& script, std::set<std::string>& needed) {
  std::vector<std::string> waiting = {script};
  std::set<std::string> seen;
  while (!waiting.empty() && seen.size() < kScriptsMax) {
    const std::string file = waiting.back();
    waiting.pop_back();
    if (!seen.insert(file).second) continue;
    needed.insert(file);
    const auto text = read_file(file, kSourceBytesMax);
    if (!text || fs::path(file).extension() != ".py") continue;
    std::ranges::copy(files_of_script(*text, fs::path(file).parent_path()),
                      std::back_inserter(waiting));
  }
}

}  // namespace

bool is_source_name(const std::string& path) {
  return std::ranges::find(kSuffixes, fs::path(path).extension().string()) != std::end(kSuffixes);
}

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

std::map<std::string, std::vector<std::string>> headers_by_kernel(const Config& config) {
  std::vector<std::string> folders = config.include_dirs;
  std::ranges::copy(compile::include_dirs_of(config.compile_flags), std::back_inserter(folders));
  const std::string forced = compile::forced_includes(config.compile_flags);
  std::map<std::string, std::vector<std::string>> headers;
  for (const KernelConfig& kernel : config.kernels) {
    if (!is_cuda_source(kernel.source)) continue;
    const auto source = read_file(kernel.source, kSourceBytesMax);
    if (!source) continue;  // A run reports the error in it.
    headers[kernel.name] = compile::included_files(kernel.source, forced + *source, folders);
  }
  return headers;
}

std::set<std::string> needed_files(const Config& config) {
  std::set<std::string> needed;
  for (const auto& [kernel, headers] : headers_by_kernel(config)) {
    for (const std::string& one : headers) needed.insert(fs::path(one).lexically_normal().string());
  }
  for (const std::string& file : named_files(config)) {
    if (fs::path(file).extension() == ".py") {
      add_script(file, needed);
    } else {
      needed.insert(file);
    }
  }
  return needed;
}

}  // namespace gpuemu::cli
