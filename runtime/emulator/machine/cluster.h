// Thread block clusters: blocks that run together and can access each other's shared memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/check_report.h"
#include "runtime/emulator/machine/cluster_races.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/memory/access_kind.h"

namespace gpuemu::emulator {

/// Layout of shared-memory addresses: the low bits are the offset in a block's memory. The bits
/// above are 0 for the own block, else the rank of the block in its cluster plus one.
inline constexpr uint32_t kRankShift = 24;
inline constexpr uint64_t kSharedOffsetMask = (uint64_t{1} << kRankShift) - 1;
inline constexpr uint64_t kRankMask = 0xff;

/// The blocks of one cluster. A launch runs cluster by cluster; without clusters each holds one
/// block. A later launch of the same kernel may reuse the object: release(), then serve().
class Cluster {
 public:
  explicit Cluster(Launch& of);
  /// Returns whether the launch needs registers, shared memory and checks of the same sizes.
  bool fits(const Launch& launch) const;
  /// Prepares for a launch that it fits, after release(). `same_inputs`: the last launch had the
  /// same LaunchInputs.
  void serve(Launch& launch, bool same_inputs);
  /// Ends the use by the launch, which may be destroyed after that.
  void release();
  void start(uint64_t linear_index);
  /// Runs until all its blocks end and returns true. Returns false after `rounds` time slices if
  /// threads may wait for each other.
  bool advance(uint32_t rounds);
  /// Returns whether every block waits for changes that only others could make
  /// (Block::is_livelocked).
  bool is_livelocked();
  /// Reports a deadlock and ends the blocks. `why` completes the sentence "no thread can continue".
  void stop_blocks(const std::string& why);
  /// Returns null if the rank is outside the cluster.
  Block* block(uint64_t rank) { return rank < blocks_.size() ? blocks_[rank].get() : nullptr; }
  /// Records the arrival of the whole warp at the cluster's barrier.
  void arrive(Warp& warp);
  /// Releases the waiting warps if every warp has arrived or ended.
  void release_if_complete();
  uint32_t phase() const { return phase_; }
  /// Call it before what may order accesses of one of its blocks before those of another.
  void order() {
    if (blocks_.size() > 1) races_.order(blocks_);
  }
  /// Null if races of the cluster are not looked for.
  ClusterRaces* races() { return finds_races_ ? &races_ : nullptr; }

 private:
  bool advance_all(uint32_t rounds);

  Launch* launch_;
  const Code* const entry_;
  const Checks checks_;
  std::vector<std::unique_ptr<Block>> blocks_;
  uint32_t phase_ = 0;
  bool met_ = false;  ///< A warp has arrived at the barrier in this phase.
  ClusterRaces races_;
  /// Not without the check of global memory, through which blocks may wait for each other.
  const bool finds_races_;
};

uint64_t blocks_of_cluster(const Launch& launch);
/// Returns the number of clusters of a launch.
uint64_t cluster_count(const Launch& launch);

struct SharedPlace {
  Block* block = nullptr;
  uint32_t offset = 0;
};

/// Returns the block that a shared or generic address of shared memory belongs to; null outside the
/// cluster.
Block* block_of(const Warp& warp, uint64_t address);
/// Locates `bytes` bytes at such an address, which must be aligned to their size (16 at most).
/// Otherwise reports a finding and returns nothing.
std::optional<SharedPlace> locate_shared(Warp& warp, const Step& step, uint64_t address,
                                         uint32_t lane, uint64_t bytes);

/// Returns whether threads may synchronise by the access: atomic, volatile and similar ones.
bool is_ordered(const Step& step, Access access);
/// Call it before such an access. Threads may order their accesses through flags, which the
/// detectors do not model. So everything done before a release, or before a fence followed by an
/// atomic or volatile access, counts as ordered for the whole block, and between those of a
/// cluster.
void order_before(Warp& warp, const ptx::Instruction& instruction);

/// Notes an access to shared memory whose address includes a rank. `from`: see ClusterRaces::note.
void note_ranked(Warp& warp, const Step& step, uint32_t lane, const SharedPlace& place,
                 uint32_t bytes, Access access, const std::byte* from);
/// Loads or stores for `lanes` at generic addresses of shared memory that include a rank.
void access_ranked(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes);

}  // namespace gpuemu::emulator
