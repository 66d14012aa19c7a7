// The order in which the emulator runs the threads of a launch. CUDA guarantees no order, so a
// kernel whose result depends on it is wrong, even if it passes on today's hardware.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuemu {

enum class ThreadOrder : uint8_t {
  InOrder,     ///< Blocks and warps in index order, each as far as it can run.
  Reverse,     ///< Last block and last warp first.
  Random,      ///< Draws the next warp, and the number of instructions that it runs.
  Priorities,  ///< Runs the warp of highest priority, which drops to the lowest at a few drawn
               ///< points (PCT).
  FarAhead,    ///< One drawn warp of every block runs as far as it can before the others.
  OneBlock,    ///< One block at a time to its end, in a drawn order.
  SplitWarps,  ///< Lanes that diverge run in the other order, and reconverge as late as allowed.
};
inline constexpr int kThreadOrders = 7;

/// Returns "in_order", "reverse", "random", "priorities", "far_ahead", "one_block" or
/// "split_warps".
std::string_view name_of(ThreadOrder thread_order);
std::optional<ThreadOrder> thread_order_from_name(std::string_view name);

}  // namespace gpuemu
