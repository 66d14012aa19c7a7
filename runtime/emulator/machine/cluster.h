// Blocks that run together and see each other's shared memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

/// Addresses of shared memory: the low bits are the offset in a block's; above stands nothing for
/// the own block, else the rank of the block in its cluster plus one.
inline constexpr uint32_t kRankShift = 24;
inline constexpr uint64_t kSharedOffsetMask = (uint64_t{1} << kRankShift) - 1;
inline constexpr uint64_t kRankMask = 0xff;

/// The blocks of a launch are started cluster by cluster; most clusters are one block.
class Cluster {
 public:
  explicit Cluster(Launch& of);
  void start(uint64_t linear_index);
  /// Runs until all its blocks end and returns true; false after `rounds` time slices if threads
  /// may wait for each other.
  bool advance(uint32_t rounds);
  /// Whether every block waits for what others would have to change (Block::is_livelocked).
  bool is_livelocked();
  /// Reports a deadlock and ends the blocks; `why` no thread can continue.
  void stop_blocks(const std::string& why);
  /// Null beyond the cluster.
  Block* block(uint64_t rank) { return rank < blocks_.size() ? blocks_[rank].get() : nullptr; }
  /// The whole warp arrives at the barrier of the cluster.
  void arrive(Warp& warp);
  /// Lets the waiting warps go on when every warp has arrived or ended.
  void release_if_complete();
  uint32_t phase() const { return phase_; }

 private:
  bool advance_all(uint32_t rounds);

  Launch& launch_;
  std::vector<std::unique_ptr<Block>> blocks_;
  uint32_t phase_ = 0;
  bool met_ = false;  ///< A warp has arrived at the barrier of this phase.
};

uint64_t blocks_of_cluster(const Launch& launch);
/// Number of clusters of a launch.
uint64_t cluster_count(const Launch& launch);

struct SharedPlace {
  Block* block = nullptr;
  uint32_t offset = 0;
};

/// The block that a shared or generic address of shared memory belongs to; null outside of the
/// cluster.
Block* block_of(const Warp& warp, uint64_t address);
/// The place of `bytes` at such an address, aligned to them (16 at most), or a report.
std::optional<SharedPlace> locate_shared(Warp& warp, const Step& step, uint64_t address,
                                         uint32_t lane, uint64_t bytes);

/// Loads or stores of `lanes` at generic addresses of shared memory that name a rank.
void access_ranked(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes);

}  // namespace gpuemu::emulator
