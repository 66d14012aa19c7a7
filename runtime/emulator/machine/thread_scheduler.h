// Who goes next in a launch whose threads do not proceed in order (runtime/device/thread_order.h).
// All of it follows from a seed and the block, so that a result can be had again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/rng/rng.h"
#include "runtime/device/thread_order.h"

namespace gpuemu::emulator {

/// Of the warps of one block.
class Turns {
 public:
  Turns(ThreadOrder how, uint64_t seed) : how_(how), seed_(seed) {}
  /// Before a block with so many warps begins.
  void start(uint64_t block, uint32_t warps);
  /// The order of the warps in the next pass over all of them.
  std::span<const uint32_t> next_pass();
  /// Instructions that a warp may execute in this turn; `longest` where nothing else is wanted.
  uint64_t slice(uint32_t warp, uint64_t longest);
  /// A pass ends with the first warp that could go on.
  bool one_per_pass() const { return how_ == ThreadOrder::Priorities; }
  /// Blocks are left for others before they end.
  bool mixes_blocks() const { return how_ == ThreadOrder::Random; }
  /// Whether of two groups of lanes that part now the other one goes first.
  bool swaps_paths() { return how_ == ThreadOrder::SplitWarps && draw(2) == 0; }

 private:
  uint64_t draw(uint64_t below);

  ThreadOrder how_;
  uint64_t seed_;
  RngState random_{};
  std::vector<uint32_t> order_;
  uint32_t ahead_ = 0;                  ///< The warp that runs far ahead.
  std::vector<uint64_t> changes_left_;  ///< Passes at which the first warp becomes the last.
  uint64_t passes_ = 0;
};

/// The number of the block that begins as the `at`th of `count`.
uint64_t block_in_turn(ThreadOrder how, uint64_t seed, uint64_t at, uint64_t count);

}  // namespace gpuemu::emulator
