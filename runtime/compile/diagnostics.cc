// Extracts the error lines from a compiler log.
#include "runtime/compile/diagnostics.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <sstream>

#include <fmt/core.h>

#include "common/base/limits.h"

namespace gpuemu::compile {
namespace {

/// Returns the column of the '^' below a source line, which nvcc and NVRTC indent by two; 0: `line`
/// is no such line.
size_t column_in(std::string_view line) {
  constexpr size_t kIndent = 2;
  const size_t caret = line.find_first_not_of(' ');
  const bool alone = caret != std::string_view::npos && line.substr(caret) == "^";
  return alone && caret >= kIndent ? caret - kIndent + 1 : 0;
}

}  // namespace

std::string error_lines(std::string_view log) {
  constexpr int kLinesMax = 20;
  std::istringstream in{std::string(log)};
  std::string out;
  int kept = 0;
  bool wants_column = false;
  for (std::string line; std::getline(in, line);) {
    const bool is_error =
        line.find("error:") != std::string::npos || line.find("error :") != std::string::npos;
    if (is_error && kept == kLinesMax) break;
    if (is_error) {
      if (kept++ > 0) out += '\n';
      out += line;
      wants_column = true;
    } else if (const size_t column = column_in(line); wants_column && column > 0) {
      out += fmt::format(" (column {})", column);
      wants_column = false;
    } else if (line.empty() || line.find("warning") != std::string::npos ||
               line.find("remark") != std::string::npos) {
      wants_column = false;  // What follows belongs to something else.
    }
  }
  return kept == 0 ? std::string(log.substr(0, kMessageCharsMax)) : out;
}

std::string source_errors(std::string_view log) {
  std::string out = error_lines(log);
  const auto names = [&](std::string_view text) { return out.find(text) != std::string::npos; };
  struct Declared {
    std::string_view type, header;
  };
  constexpr Declared kTypes[] = {{"\"half\" is undefined", "cuda_fp16.h"},
                                 {"\"__half\" is undefined", "cuda_fp16.h"},
                                 {"\"half2\" is undefined", "cuda_fp16.h"},
                                 {"\"__half2\" is undefined", "cuda_fp16.h"},
                                 {"\"__nv_bfloat16\" is undefined", "cuda_bf16.h"},
                                 {"\"__nv_bfloat162\" is undefined", "cuda_bf16.h"}};
  std::string help;
  if (names("No such file or directory") || names("cannot open source file")) {
    help += "; add the folder of that header to include_dirs";
  }
  const auto known =
      std::ranges::find_if(kTypes, [&](const Declared& one) { return names(one.type); });
  if (known != std::end(kTypes)) help += fmt::format("; add #include <{}>", known->header);
  // "nvcc fatal   : Unknown option '--bananas'", "nvrtc: error: unrecognized option --bananas
  // found"
  if (names("Unknown option") || names("unrecognized option")) {
    help += "; correct runtime.compile_flags";
  }
  while (!help.empty() && out.ends_with('\n')) out.pop_back();
  return out + help;
}

std::string without_ours(const std::string& lines, const std::string& path, size_t first_line,
                         const std::vector<std::string>& names) {
  std::istringstream in{lines};
  std::string theirs, ours;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(path)) {
      if (ours.empty()) ours = line.substr(path.size());
    } else {
      theirs += (theirs.empty() ? "" : "\n") + line;
    }
  }
  if (!theirs.empty() || ours.empty()) return theirs;
  size_t number = 0;  // The 3 in "(3): error: ...".
  std::sscanf(ours.c_str(), "(%zu)", &number);
  const size_t message = ours.find("error");
  if (number < first_line || number - first_line >= names.size() || message == std::string::npos) {
    return "entry" + ours;
  }
  return fmt::format("entry '{}': {}", names[number - first_line], ours.substr(message));
}

}  // namespace gpuemu::compile
