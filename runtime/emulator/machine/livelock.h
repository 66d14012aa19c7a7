// Warps that go round in a loop and wait for others: whether they can still get out by themselves,
// and what they look at.
#pragma once

#include <string>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

/// What the current path of a warp does.
struct Spin {
  bool repeats =
      false;  ///< It came back to a state that it was in and changed no memory meanwhile.
  const ptx::Instruction* read = nullptr;  ///< The last one of the loop that reads memory.
  std::string what;                        ///< "reads 'flag' element 3, which is 0"
};

/// Steps of one path worth watching: loops that wait are short.
inline constexpr uint32_t kWatchedSteps = 1 << 12;

/// Runs the path until it repeats itself, changes something or has done that many steps.
Spin watch(Warp& warp, uint32_t steps_max = kWatchedSteps);
/// The same for all paths of the warp, while no time passes: whether each repeats itself.
bool all_paths_repeat(Warp& warp);

}  // namespace gpuemu::emulator
