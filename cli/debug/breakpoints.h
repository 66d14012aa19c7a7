// Parses where a launch is to stop, and finds it in the listing of its module. No side effects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/debug/words.h"
#include "runtime/device/debug.h"

namespace gpuemu::cli {

/// The parts of "kernels.cu:12 block 1 thread 3,2".
struct BreakSpec {
  std::string file;      ///< The end of a path; "": the entry's own file.
  uint64_t line = 0;     ///< 0: `function` is used.
  bool ptx = false;      ///< Whether `line` counts lines of the PTX.
  std::string function;  ///< Used if the line is 0.
  std::optional<Dim3> block, thread;
};
Result<BreakSpec> parse_break(const Words& words);
std::string text_of(const BreakSpec& spec);

/// Finds the places in the module: the beginning of every sequence of instructions of a line, or
/// the first instruction of a function. `entry` is the function whose file is used if none is
/// named. InvalidArgument lists the nearest lines or the existing functions.
Result<std::vector<DebugPlace>> find_places(const DebugProgram& program, const BreakSpec& spec,
                                            const std::string& entry);

struct Breakpoint {
  uint32_t number = 0;
  BreakSpec spec;
  std::vector<DebugPlace> places;
  uint64_t hits = 0;
};

/// Returns "(1,0,0)".
std::string index_text(const Dim3& at);
/// Returns "kernels.cu:12"; "PTX line 45" if no line is known.
std::string place_text(const DebugInstruction& at);
/// Returns whether the path is `file` or ends with "/file".
bool is_file(const std::string& path, const std::string& file);

}  // namespace gpuemu::cli
