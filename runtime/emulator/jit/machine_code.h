// Which functions become machine code.
#pragma once

#include <cstdint>

#include "common/base/result.h"

namespace gpuemu {

/// Whose straight stretches are compiled, where the processor has AVX-512.
enum class MachineCode : uint8_t {
  WhenWorth,  ///< Of entries that ran as long as compiling them takes.
  Always,
  Never,
};

namespace emulator {

/// "auto", "always" or "off": for tests and comparisons, and to tell a fault of one way to run.
inline constexpr const char* kMachineCodeVariable = "GPUEMU_EMULATOR_JIT";

/// What the environment wants, else `otherwise`. Internal where it is none of these.
Result<MachineCode> machine_code_wanted(MachineCode otherwise);

}  // namespace emulator
}  // namespace gpuemu
