// Follows #include lines. Ignores preprocessor conditions, which can only add files to a cache key.
#include "runtime/compile/source_text/includes.h"

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "common/base/files.h"
#include "common/base/limits.h"

namespace gpuemu::compile {
namespace {

namespace fs = std::filesystem;

struct Pending {  // A source whose #include lines are still to be followed.
  fs::path path;
  std::string source;
  std::string name = {};  ///< The spelling in the #include.
};

std::optional<fs::path> locate(const std::string& name, const fs::path& beside,
                               const std::vector<std::string>& include_dirs) {
  std::vector<fs::path> folders = {beside};
  folders.insert(folders.end(), include_dirs.begin(), include_dirs.end());
  for (const fs::path& folder : folders) {
    std::error_code failed;
    fs::path found = fs::weakly_canonical(folder / name, failed);
    if (!failed && fs::is_regular_file(found, failed)) return found;
  }
  return {};
}

/// Returns the values of an option: "-Ifolder", "-I folder", "--include-path=folder".
std::vector<std::string> values_of(const std::vector<std::string>& flags,
                                   std::initializer_list<std::string_view> spellings) {
  std::vector<std::string> values;
  for (size_t i = 0; i < flags.size(); ++i) {
    for (const std::string_view spelling : spellings) {
      if (!flags[i].starts_with(spelling)) continue;
      std::string rest = flags[i].substr(spelling.size());
      if (rest.empty() && i + 1 < flags.size()) rest = flags[i + 1];
      if (rest.starts_with('=')) rest.erase(0, 1);
      if (!rest.empty()) values.push_back(rest);
      break;
    }
  }
  return values;
}

/// Returns every file that `first` includes, directly or not.
std::vector<Pending> all_included(const Pending& first,
                                  const std::vector<std::string>& include_dirs) {
  std::vector<Pending> all;
  std::set<fs::path> seen;
  std::vector<Pending> pending = {first};
  while (!pending.empty()) {
    const Pending current = std::move(pending.back());
    pending.pop_back();
    std::istringstream lines(current.source);
    for (std::string line; std::getline(lines, line);) {
      const auto name = included_name(line);
      if (!name) continue;
      const auto found = locate(*name, current.path.parent_path(), include_dirs);
      if (!found || !seen.insert(*found).second) continue;
      auto text = read_file(*found, kSourceBytesMax);
      if (!text) continue;  // The compiler will report the problem.
      all.push_back({*found, *std::move(text), *name});
      pending.push_back(all.back());
    }
  }
  return all;
}

}  // namespace

std::optional<std::string> included_name(const std::string& line) {
  size_t at = line.find_first_not_of(" \t");
  if (at == std::string::npos || line[at] != '#') return {};
  at = line.find_first_not_of(" \t", at + 1);
  if (at == std::string::npos || line.compare(at, 7, "include") != 0) return {};
  at = line.find_first_of("\"<", at + 7);
  if (at == std::string::npos) return {};
  const size_t end = line.find(line[at] == '<' ? '>' : '"', at + 1);
  if (end == std::string::npos) return {};
  return line.substr(at + 1, end - at - 1);
}

std::vector<IncludedText> included_texts(const std::string& path, const std::string& source,
                                         const std::vector<std::string>& include_dirs) {
  std::vector<IncludedText> texts;
  for (Pending& file : all_included({path, source}, include_dirs)) {
    texts.push_back({std::move(file.name), std::move(file.source), file.path.string()});
  }
  return texts;
}

std::vector<std::string> include_dirs_of(const std::vector<std::string>& flags) {
  return values_of(flags, {"-I", "--include-path", "-isystem", "--system-include"});
}

std::string forced_includes(const std::vector<std::string>& flags) {
  std::string lines;
  for (const std::string& name : values_of(flags, {"-include", "--pre-include", "-pre-include"})) {
    lines += "#include \"" + name + "\"\n";
  }
  return lines;
}

std::string included_content(const std::string& path, const std::string& source,
                             const std::vector<std::string>& include_dirs) {
  std::string out;
  for (const Pending& file : all_included({path, source}, include_dirs)) {
    out += file.path.string() + '\0' + file.source + '\0';
  }
  return out;
}

std::vector<std::string> included_files(const std::string& path, const std::string& source,
                                        const std::vector<std::string>& include_dirs) {
  std::vector<std::string> paths;
  for (const Pending& file : all_included({path, source}, include_dirs)) {
    paths.push_back(file.path.string());
  }
  return paths;
}

}  // namespace gpuemu::compile
