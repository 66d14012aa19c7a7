// Decides which functions are compiled to machine code.
#pragma once

#include <cstdint>

#include "common/base/result.h"

namespace gpuemu {

/// Selects the functions that are compiled. Without AVX-512 and AVX2 none is.
enum class MachineCode : uint8_t {
  WhenWorth,  ///< Functions that have run for as long as compiling them takes.
  Always,
  Never,
};

namespace emulator {

/// Environment variable with the value "auto", "always" or "off", for tests, comparisons and to
/// find whether a fault is in compiled code.
inline constexpr const char* kMachineCodeVariable = "GPUEMU_EMULATOR_JIT";

/// Returns the environment's setting, or `otherwise` if there is none. Internal for an unknown
/// value.
Result<MachineCode> machine_code_wanted(MachineCode otherwise);

}  // namespace emulator
}  // namespace gpuemu
