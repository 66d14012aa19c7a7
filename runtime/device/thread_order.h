// The order in which a device without hardware lets the threads of a launch proceed. CUDA promises
// none, so a kernel whose result follows from it is wrong, on some device or on some day.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuemu {

enum class ThreadOrder : uint8_t {
  InOrder,     ///< Blocks and warps in order, each as far as it can.
  Reverse,     ///< The last block and the last warp first.
  Random,      ///< Who goes next is drawn, for a drawn number of instructions.
  Priorities,  ///< The warp of highest priority; at a few drawn points it becomes the lowest (PCT).
  FarAhead,    ///< One drawn warp of every block runs as far as it can before the others.
  OneBlock,    ///< Blocks in a drawn order, one at a time, each to its end.
  SplitWarps,  ///< Lanes that part run in the other order, and meet only where they have to.
};
inline constexpr int kThreadOrders = 7;

/// "in_order", "reverse", "random", "priorities", "far_ahead", "one_block", "split_warps".
std::string_view name_of(ThreadOrder thread_order);
std::optional<ThreadOrder> thread_order_from_name(std::string_view name);

}  // namespace gpuemu
