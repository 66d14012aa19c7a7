// What the parsed PTX of one kernel says about it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "common/protocol/artifacts.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

/// REQUIRES: `entry` is an entry of `module`.
PtxMetrics measure_ptx(const ptx::Module& module, const ptx::Function& entry);

/// The first instruction of `entry` whose text a search accepts: its spelling, and its place.
struct InstructionSite {
  std::string text;
  std::string source_file;   ///< "" without line information.
  uint32_t source_line = 0;  ///< Line of the source; of the PTX where source_file is "".
};
InstructionSite place_of(const ptx::Module& module, const ptx::Instruction& instruction);

/// "softmax<float>" for a mangled name, the name itself where there is nothing to undo. Parameters
/// and a leading return type are left out.
std::string readable_name(const std::string& entry);
/// readable_name() for all entries of one file; overloads that would read alike keep their own
/// names.
std::map<std::string, std::string> readable_names(const std::set<std::string>& entries);

}  // namespace gpuemu
