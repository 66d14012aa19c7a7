// Where a launch is to stop, as typed and as found in the listing of its module. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/debug/words.h"
#include "runtime/device/debug.h"

namespace gpuemu::cli {

/// "kernels.cu:12 block 1 thread 3,2" as its parts.
struct BreakSpec {
  std::string file;      ///< The end of a path; "": the entry's own.
  uint64_t line = 0;     ///< 0: a function is meant.
  bool ptx = false;      ///< `line` counts the lines of the PTX.
  std::string function;  ///< With line 0.
  std::optional<Dim3> block, thread;
};
Result<BreakSpec> parse_break(const Words& words);
std::string text_of(const BreakSpec& spec);

/// Where it is in the module: the begin of every stretch of instructions of a line, the first
/// instruction of a function. `entry` is the function whose file is meant without another.
/// InvalidArgument names the nearest lines or the functions that there are.
Result<std::vector<DebugPlace>> find_places(const DebugProgram& program, const BreakSpec& spec,
                                            const std::string& entry);

struct Breakpoint {
  uint32_t number = 0;
  BreakSpec spec;
  std::vector<DebugPlace> places;
  uint64_t hits = 0;
};

/// "(1,0,0)"
std::string index_text(const Dim3& at);
/// "kernels.cu:12", "PTX line 45" where no line is known.
std::string place_text(const DebugInstruction& at);
/// Whether the path is `file` or ends with "/file".
bool is_file(const std::string& path, const std::string& file);

}  // namespace gpuemu::cli
