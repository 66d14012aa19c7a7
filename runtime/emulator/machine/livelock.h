// Detects warps that only wait in a loop, and names the memory that they read meanwhile.
#pragma once

#include <string>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

/// What the current path of a warp does.
struct SpinWait {
  bool repeats =
      false;  ///< It came back to a state that it was in and changed no memory meanwhile.
  const ptx::Instruction* read = nullptr;  ///< The last instruction of the loop that reads memory.
  std::string what;                        ///< "reads 'flag' element 3, which is 0"
};

/// Limit on the steps of one path that are examined: loops that wait are short.
inline constexpr uint32_t kWatchedSteps = 1 << 12;

/// Runs the path until it repeats itself, changes something or has done that many steps.
SpinWait watch(Warp& warp, uint32_t steps_max = kWatchedSteps);
/// Whether every path of the warp repeats itself while no time passes.
bool all_paths_repeat(Warp& warp);

}  // namespace gpuemu::emulator
