// Decides which functions are compiled to machine code.
#pragma once

#include <cstdint>

#include "common/base/result.h"

namespace gpuemu {

/// The functions whose straight-line runs are compiled, if the processor has AVX-512.
enum class MachineCode : uint8_t {
  WhenWorth,  ///< Entries that have run for as long as compiling them takes.
  Always,
  Never,
};

namespace emulator {

/// "auto", "always" or "off": for tests and comparisons, and to find out which way to run has a
/// fault.
inline constexpr const char* kMachineCodeVariable = "GPUEMU_EMULATOR_JIT";

/// The setting of the environment, or else `otherwise`. Internal if it is none of these.
Result<MachineCode> machine_code_wanted(MachineCode otherwise);

}  // namespace emulator
}  // namespace gpuemu
