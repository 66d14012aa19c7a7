#include "cli/debug/breakpoints.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace gpuemu::cli {
namespace {

constexpr size_t kNearest = 4;
constexpr const char* kUsage = "break [FILE:]LINE|ptx:LINE|FUNCTION [block X,Y,Z] [thread X,Y,Z]";

uint64_t line_of(const DebugInstruction& at, const BreakSpec& spec) {
  return spec.ptx ? at.ptx_line : at.line;
}

/// Returns the file of the first known line of a function.
std::string file_of(const DebugProgram& program, const std::string& entry) {
  for (const DebugFunction& function : program.functions) {
    if (function.name != entry) continue;
    for (const DebugInstruction& at : function.body) {
      if (at.line != 0) return at.file;
    }
  }
  return "";
}

std::vector<DebugPlace> places_of_line(const DebugProgram& program, const BreakSpec& spec,
                                       const std::string& own_file) {
  std::vector<DebugPlace> places;
  for (uint32_t f = 0; f < program.functions.size(); ++f) {
    bool inside = false;
    const std::vector<DebugInstruction>& body = program.functions[f].body;
    for (uint32_t i = 0; i < body.size(); ++i) {
      const bool file = spec.ptx || (spec.file.empty() ? body[i].file == own_file
                                                       : is_file(body[i].file, spec.file));
      const bool here = file && line_of(body[i], spec) == spec.line;
      if (here && !inside) places.push_back({f, i});
      inside = here;
    }
  }
  return places;
}

/// Makes the error with the lines with code around one that has none.
Error no_code(const DebugProgram& program, const BreakSpec& spec, const std::string& own_file) {
  std::vector<uint64_t> lines;
  for (const DebugFunction& function : program.functions) {
    for (const DebugInstruction& at : function.body) {
      const bool file =
          spec.ptx || (spec.file.empty() ? at.file == own_file : is_file(at.file, spec.file));
      if (file && line_of(at, spec) != 0) lines.push_back(line_of(at, spec));
    }
  }
  std::ranges::sort(lines);
  lines.erase(std::ranges::unique(lines).begin(), lines.end());
  if (lines.empty()) {
    return error(ErrorCode::InvalidArgument,
                 "no line of '{}' is known; the kernel was compiled without -lineinfo, or the file "
                 "is another one: `source` shows what there is, ptx:LINE always works",
                 spec.file.empty() ? own_file : spec.file);
  }
  std::ranges::stable_sort(lines, {}, [&](uint64_t line) {
    return line > spec.line ? line - spec.line : spec.line - line;
  });
  lines.resize(std::min(lines.size(), kNearest));
  return error(ErrorCode::InvalidArgument,
               "line {} has no code; the nearest lines with code are {}", spec.line,
               fmt::join(lines, ", "));
}

/// Parses "kernels.cu:12", "ptx:12", "12" or a function into `spec`.
Status parse_target(const std::string& word, BreakSpec& spec) {
  const size_t colon = word.rfind(':');
  const std::string number = colon == std::string::npos ? word : word.substr(colon + 1);
  const auto line = parse_count(number, "line");
  if (!line && colon == std::string::npos) return spec.function = word, ok_status();
  if (!line || *line == 0) {
    return error(ErrorCode::InvalidArgument, "'{}': a line is a number from 1; usage: {}", word,
                 kUsage);
  }
  spec.line = *line;
  if (colon == std::string::npos) return ok_status();
  spec.ptx = word.substr(0, colon) == "ptx";
  if (!spec.ptx) spec.file = word.substr(0, colon);
  return ok_status();
}

/// Compares the name as in the PTX, or as in the source: "twice" for "_Z5twicef".
bool is_function(const std::string& name, const std::string& typed) {
  if (name == typed) return true;
  return name.starts_with("_Z") &&
         name.find(fmt::format("{}{}", typed.size(), typed)) != std::string::npos;
}

}  // namespace

std::string index_text(const Dim3& at) { return fmt::format("({},{},{})", at.x, at.y, at.z); }

bool is_file(const std::string& path, const std::string& file) {
  return path == file || path.ends_with("/" + file);
}

std::string place_text(const DebugInstruction& at) {
  return at.line != 0 ? fmt::format("{}:{}", at.file, at.line)
                      : fmt::format("PTX line {}", at.ptx_line);
}

Result<BreakSpec> parse_break(const Words& words) {
  BreakSpec spec;
  if (words.empty()) {
    return error(ErrorCode::InvalidArgument, "where to stop is missing; usage: {}", kUsage);
  }
  GPUEMU_TRY(parse_target(words[0], spec));
  for (size_t at = 1; at < words.size(); at += 2) {
    const bool block = words[at] == "block";
    if ((!block && words[at] != "thread") || at + 1 == words.size()) {
      return error(ErrorCode::InvalidArgument, "'{}': expected `block X,Y,Z` or `thread X,Y,Z`",
                   words[at]);
    }
    (block ? spec.block : spec.thread) = GPUEMU_TRY(parse_index3(words[at + 1], words[at]));
  }
  return spec;
}

std::string text_of(const BreakSpec& spec) {
  std::string text = spec.line == 0      ? spec.function
                     : spec.ptx          ? fmt::format("ptx:{}", spec.line)
                     : spec.file.empty() ? fmt::format("line {}", spec.line)
                                         : fmt::format("{}:{}", spec.file, spec.line);
  if (spec.block) text += " block " + index_text(*spec.block);
  if (spec.thread) text += " thread " + index_text(*spec.thread);
  return text;
}

Result<std::vector<DebugPlace>> find_places(const DebugProgram& program, const BreakSpec& spec,
                                            const std::string& entry) {
  if (spec.line != 0) {
    const std::string own_file = file_of(program, entry);
    std::vector<DebugPlace> places = places_of_line(program, spec, own_file);
    if (places.empty()) return no_code(program, spec, own_file);
    return places;
  }
  std::vector<std::string> names;
  for (uint32_t f = 0; f < program.functions.size(); ++f) {
    const DebugFunction& function = program.functions[f];
    if (is_function(function.name, spec.function) && !function.body.empty()) {
      return std::vector<DebugPlace>{{f, 0}};
    }
    names.push_back(function.name);
  }
  return error(ErrorCode::InvalidArgument, "no function '{}'; did you mean one of: {}",
               spec.function, fmt::join(nearest_few(spec.function, names, kNearest), ", "));
}

}  // namespace gpuemu::cli
