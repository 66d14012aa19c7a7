// Chooses the order of warps and blocks in launches with a chosen thread order
// (runtime/device/thread_order.h). All choices follow from the seed and the block, so a run can be
// repeated.
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
  /// Returns the order of the warps in the next round over all of them.
  std::span<const uint32_t> next_round();
  /// Returns the warp's next time slice in warp instructions, at most `longest`.
  uint64_t slice(uint32_t warp, uint64_t longest);
  /// Returns whether a round ends after the first warp that can run.
  bool one_warp_per_round() const { return how_ == ThreadOrder::Priorities; }
  /// Returns whether other blocks may run before a block ends.
  bool mixes_blocks() const { return how_ == ThreadOrder::Random; }
  /// Returns whether the taken side of a divergence runs first.
  bool swaps_paths() { return how_ == ThreadOrder::SplitWarps && draw(2) == 0; }

 private:
  uint64_t draw(uint64_t below);
  void begin_draws();

  ThreadOrder how_;
  uint64_t seed_, block_ = 0;
  bool draws_ = false;  ///< Whether `random_` is that of the block. Most blocks need no draw.
  RngState random_{};
  std::vector<uint32_t> order_;
  uint32_t ahead_ = 0;                  ///< The warp that runs ahead (ThreadOrder::FarAhead).
  std::vector<uint64_t> changes_left_;  ///< Rounds at which the first warp moves to the end.
  uint64_t rounds_ = 0;
};

/// The order in which the blocks of a launch start.
class BlockOrder {
 public:
  BlockOrder(ThreadOrder how, uint64_t seed, uint64_t count);
  /// Returns the index of the block that starts as number `number`.
  uint64_t at(uint64_t number) const;

 private:
  ThreadOrder how_;
  uint64_t count_, first_ = 0, step_ = 1;
};

}  // namespace gpuemu::emulator
