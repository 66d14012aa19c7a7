// Computes the metrics of one kernel from its parsed PTX.
#pragma once

#include <map>
#include <set>
#include <string>

#include "common/protocol/artifacts.gen.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

/// Requires `entry` to be an entry of `module`.
PtxMetrics measure_ptx(const ptx::Module& module, const ptx::Function& entry);

/// The first instruction of `entry` whose text matches a search: its spelling and position.
struct InstructionSite {
  std::string text;
  std::string source_file;   ///< "" without line information.
  uint32_t source_line = 0;  ///< Line in the source; in the PTX if source_file is "".
};
InstructionSite place_of(const ptx::Module& module, const ptx::Instruction& instruction);

/// Returns "softmax<float>" for a mangled name, without parameters and return type; other names
/// unchanged.
std::string readable_name(const std::string& entry);
/// Returns readable_name() for all entries of one file. Overloads that would read alike keep their
/// mangled names.
std::map<std::string, std::string> readable_names(const std::set<std::string>& entries);

}  // namespace gpuemu
