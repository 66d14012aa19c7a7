#include "cli/scaffold/folder.h"

#include <algorithm>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"
#include "common/base/files.h"
#include "common/base/limits.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

// Limits of the search; in a larger folder, the sources are probably elsewhere.
constexpr int kDepthMax = 6;
constexpr size_t kFilesMax = 200, kHeadersMax = 2000;

/// The list for files with this suffix, and its limit.
struct Listed {
  std::string_view ending;
  std::vector<std::string> FoundFiles::* list;
};
constexpr Listed kListed[] = {
    {".cu", &FoundFiles::cuda},     {".ptx", &FoundFiles::ptx},     {".h", &FoundFiles::headers},
    {".cuh", &FoundFiles::headers}, {".hpp", &FoundFiles::headers}, {".inc", &FoundFiles::headers},
    {".hxx", &FoundFiles::headers}, {".inl", &FoundFiles::headers},
};

bool is_skipped(const std::string& folder) {
  static constexpr std::string_view kNames[] = {"build", "node_modules", "__pycache__", "venv",
                                                "third_party"};
  // The cache folder beside a database contains compiled kernels, not sources.
  return folder.starts_with(".") || folder.ends_with(".cache") ||
         std::ranges::find(kNames, folder) != std::end(kNames);
}

bool imports(const std::string& text, const std::string& module) {
  const std::string pattern = R"((?m)^[ \t]*(?:import|from)\s+)" + module + R"(\b)";
  return RE2::PartialMatch(text, pattern);
}

/// A decorator of a kernel, up to its arguments.
constexpr const char* kTriton = R"((?m)^[ \t]*@(?:triton\.)?jit\b)";
constexpr const char* kNumba = R"((?m)^[ \t]*@(?:numba\.)?cuda\.jit\b)";

/// Returns the end of the decorator whose name ends at `at`; its arguments may take several lines.
size_t behind_decorator(const std::string& text, size_t at) {
  if (at < text.size() && text[at] == '(') at = std::min(behind_bracket(text, at), text.size());
  return std::min(text.find('\n', at), text.size());
}

/// Returns whether the body of the function whose parameters end at `at` returns a value. Kernels
/// do not; functions that kernels call do.
bool returns_value(const std::string& text, size_t at) {
  static const RE2 kReturn(R"(^[ \t]+return[ \t(]+[^ \t#\n])");
  size_t line = text.find('\n', at);
  while (line < text.size()) {
    const size_t begin = line + 1, end = std::min(text.find('\n', begin), text.size());
    const std::string one = text.substr(begin, end - begin);
    line = end;
    if (one.empty() || std::string_view(" \t\r#)").find(one[0]) != std::string_view::npos) {
      if (RE2::PartialMatch(one, kReturn)) return true;
      continue;
    }
    return false;  // A line without indentation ends the body.
  }
  return false;
}

void add_kernels(const std::string& text, const char* decorator, const std::string& file,
                 std::vector<PythonKernel>& kernels) {
  static const RE2 kOther(R"(^\s*@[\w.]+)"), kFunction(R"(^\s*def\s+(\w+)\s*\()");
  static const RE2 kDevice(R"(\bdevice\s*=\s*True\b)");
  const RE2 wanted(decorator);
  re2::StringPiece rest(text);
  while (RE2::FindAndConsume(&rest, wanted)) {
    size_t at = text.size() - rest.size();
    const size_t end = behind_decorator(text, at);
    const bool is_device = RE2::PartialMatch(text.substr(at, end - at), kDevice);
    at = end;
    re2::StringPiece behind(text.data() + at, text.size() - at);
    while (RE2::Consume(&behind, kOther)) {
      at = behind_decorator(text, text.size() - behind.size());
      behind = re2::StringPiece(text.data() + at, text.size() - at);
    }
    std::string name;
    if (!RE2::Consume(&behind, kFunction, &name) || is_device) continue;
    const size_t params = behind_bracket(text, text.size() - behind.size() - 1);
    if (params == std::string::npos || returns_value(text, params)) continue;
    kernels.push_back({file, name});
  }
}

void look_at_python(const fs::path& path, const std::string& name, FoundFiles& found) {
  const auto text = read_file(path, kSourceBytesMax);
  if (!text) return;
  if (imports(*text, "triton")) add_kernels(*text, kTriton, name, found.triton);
  if (imports(*text, "numba")) add_kernels(*text, kNumba, name, found.numba);
  if (!found.framework.empty()) return;
  for (const auto& [module, framework] :
       {std::pair("triton", "triton"), std::pair("torch", "pytorch"), std::pair("jax", "jax"),
        std::pair("tensorflow", "tensorflow")}) {
    if (imports(*text, module)) {
      found.framework = framework;
      return;
    }
  }
}

/// Sorts the lists, and shortens each to what a person would read.
void keep_most(FoundFiles& found) {
  for (std::vector<std::string>* list : {&found.cuda, &found.ptx, &found.headers}) {
    std::ranges::sort(*list);
  }
  for (const auto& [list, ending] :
       {std::pair(&found.cuda, ".cu"), std::pair(&found.ptx, ".ptx")}) {
    if (list->size() <= kFilesMax) continue;
    found.limit += fmt::format(
        "{} of {} {} files were looked at, up to {}; run it in the folders below for "
        "the others\n",
        kFilesMax, list->size(), ending, (*list)[kFilesMax - 1]);
    list->resize(kFilesMax);
  }
  if (found.headers.size() > kHeadersMax) found.headers.resize(kHeadersMax);
}

}  // namespace

FoundFiles look_around(const fs::path& folder) {
  FoundFiles found;
  std::error_code failed;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                      failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    const fs::path& path = at->path();
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      if (is_skipped(path.filename().string()) || at.depth() >= kDepthMax) {
        at.disable_recursion_pending();
      }
      continue;
    }
    const std::string name = path.lexically_relative(folder).string();
    const std::string ending = path.extension().string();
    const auto* const listed = std::ranges::find(kListed, ending, &Listed::ending);
    if (listed != std::end(kListed)) (found.*listed->list).push_back(name);
    if (ending == ".py") look_at_python(path, name, found);
  }
  keep_most(found);
  return found;
}

}  // namespace gpuemu::cli
