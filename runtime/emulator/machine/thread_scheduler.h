// Who goes next in a launch whose threads do not proceed in order (runtime/device/thread_order.h).
// All of it follows from a seed and the block, so that a result can be had again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/rng/rng.h"
#include "runtime/device/thread_order.h"

namespace gpuemu::emulator {

/// Chooses the order in which the warps of one block run.
class ThreadScheduler {
 public:
  ThreadScheduler(ThreadOrder how, uint64_t seed) : how_(how), seed_(seed) {}
  /// Prepares for a block with `warps` warps.
  void start(uint64_t block, uint32_t warps);
  /// The order of the warps in the next round over all of them.
  std::span<const uint32_t> next_round();
  /// The warp's next time slice in warp instructions, `longest` at most.
  uint64_t slice(uint32_t warp, uint64_t longest);
  /// Whether a round ends after the first warp that can run.
  bool one_warp_per_round() const { return how_ == ThreadOrder::Priorities; }
  /// Whether a block is left for others before it ends.
  bool mixes_blocks() const { return how_ == ThreadOrder::Random; }
  /// Whether, of two groups of lanes that diverge now, the taken side runs first.
  bool swaps_paths() { return how_ == ThreadOrder::SplitWarps && draw(2) == 0; }

 private:
  uint64_t draw(uint64_t below);

  ThreadOrder how_;
  uint64_t seed_;
  RngState random_{};
  std::vector<uint32_t> order_;
  uint32_t ahead_ = 0;                  ///< The warp that runs far ahead.
  std::vector<uint64_t> changes_left_;  ///< Rounds at which the first warp becomes the last.
  uint64_t rounds_ = 0;
};

/// The number of the block that begins as the `at`th of `count`.
uint64_t scheduled_block(ThreadOrder how, uint64_t seed, uint64_t at, uint64_t count);

}  // namespace gpuemu::emulator
