// What cuobjdump prints about machine code: instructions per kernel, and resources.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/artifacts.h"

namespace gpuemu {

/// One kernel for one architecture.
struct SassKernel {
  std::string name;
  CompiledMetrics metrics;             ///< `cuobjdump -sass` gives only arch and sass_*.
  std::vector<std::string> mnemonics;  ///< Distinct ones, with their dots, in order of appearance.
};

/// `cuobjdump -sass`.
std::vector<SassKernel> read_sass(std::string_view listing);
/// `cuobjdump --dump-resource-usage`: registers, stack, shared memory, constant banks. The kilobyte
/// that the system takes of a block's shared memory since sm_90 is left out, as ptxas leaves it
/// out. `plain_arch`: of a file that is one cubin, whose listing does not name it.
std::vector<SassKernel> read_resource_usage(std::string_view listing,
                                            const std::string& plain_arch);

/// "float", "memory" ... of an opcode such as "FFMA" or "LDG".
std::string_view sass_class(std::string_view opcode);

}  // namespace gpuemu
