// Parses cuobjdump's output about machine code: instructions per kernel, and resources.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/artifacts.gen.h"

namespace gpuemu {

/// One kernel for one architecture.
struct SassKernel {
  std::string name;
  CompiledMetrics metrics;             ///< `cuobjdump -sass` only provides arch and sass_*.
  std::vector<std::string> mnemonics;  ///< Distinct ones, with their dots, in order of appearance.
};

/// Parses `cuobjdump -sass`.
std::vector<SassKernel> read_sass(std::string_view listing);
/// Parses `cuobjdump --dump-resource-usage`: registers, stack, shared memory, constant banks.
/// Subtracts the kilobyte of shared memory that the system reserves per block since sm_90, as ptxas
/// does. `plain_arch`: architecture of a file that is a single cubin, whose listing does not name
/// it.
std::vector<SassKernel> read_resource_usage(std::string_view listing,
                                            const std::string& plain_arch);

/// Returns the class of an opcode, such as "float" for "FFMA" and "memory" for "LDG".
std::string_view sass_class(std::string_view opcode);

}  // namespace gpuemu
