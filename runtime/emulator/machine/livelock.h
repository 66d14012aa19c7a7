// Detects warps that only wait in a loop, and names the memory that they read while waiting.
#pragma once

#include <string>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

/// What the current path of a warp is doing.
struct SpinWait {
  bool repeats =
      false;  ///< It came back to a state that it was in and changed no memory meanwhile.
  const ptx::Instruction* read = nullptr;  ///< The last memory read of the loop.
  std::string what;                        ///< For example "reads 'flag' element 3, which is 0".
};

/// Limit on the steps examined per path: loops that wait are short.
inline constexpr uint32_t kWatchedSteps = 1 << 12;

/// Runs the path until it repeats a state, changes something or has executed `steps_max` steps.
SpinWait watch(Warp& warp, uint32_t steps_max = kWatchedSteps);
/// Returns whether every path of the warp repeats itself while the clock stands still.
bool all_paths_repeat(Warp& warp);

}  // namespace gpuemu::emulator
