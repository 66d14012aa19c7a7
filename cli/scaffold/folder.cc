#include "cli/scaffold/folder.h"

#include <algorithm>

#include <re2/re2.h>

#include "common/base/files.h"
#include "common/base/limits.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

// Limits of the search; in a larger folder, the sources are probably elsewhere.
constexpr int kDepthMax = 4;
constexpr size_t kFilesMax = 200, kHeadersMax = 2000;

/// The list for files with this suffix, and its limit.
struct Listed {
  std::string_view ending;
  std::vector<std::string> FoundFiles::* list;
  size_t most;
};
constexpr Listed kListed[] = {
    {".cu", &FoundFiles::cuda, kFilesMax},       {".ptx", &FoundFiles::ptx, kFilesMax},
    {".h", &FoundFiles::headers, kHeadersMax},   {".cuh", &FoundFiles::headers, kHeadersMax},
    {".hpp", &FoundFiles::headers, kHeadersMax}, {".inc", &FoundFiles::headers, kHeadersMax},
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

void add_kernels(const std::string& text, const char* pattern, const std::string& file,
                 std::vector<PythonKernel>& kernels) {
  re2::StringPiece rest(text);
  std::string name;
  while (RE2::FindAndConsume(&rest, pattern, &name)) kernels.push_back({file, name});
}

/// Matches a decorator, further ones below it, and the function.
constexpr const char* kTriton =
    R"((?m)^[ \t]*@(?:triton\.)?jit\b[^\n]*\n(?:[ \t]*@[^\n]*\n)*[ \t]*def\s+(\w+))";
constexpr const char* kNumba =
    R"((?m)^[ \t]*@(?:numba\.)?cuda\.jit\b[^\n]*\n(?:[ \t]*@[^\n]*\n)*[ \t]*def\s+(\w+))";

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
    if (listed != std::end(kListed) && (found.*listed->list).size() < listed->most) {
      (found.*listed->list).push_back(name);
    }
    if (ending == ".py") look_at_python(path, name, found);
  }
  for (std::vector<std::string>* list : {&found.cuda, &found.ptx, &found.headers}) {
    std::ranges::sort(*list);
  }
  return found;
}

}  // namespace gpuemu::cli
