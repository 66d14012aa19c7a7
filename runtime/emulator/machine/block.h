// The state of one block of threads: its warps, its shared memory and its barriers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/emulator/machine/async_copies.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/memory/race_history.h"
#include "runtime/emulator/program/launch.h"

namespace gpuemu::emulator {

class Cluster;
class ThreadScheduler;

/// A named barrier (bar.sync, barrier.cta and related instructions).
struct Barrier {
  uint32_t arrived = 0;   ///< Threads that have arrived.
  uint32_t expected = 0;  ///< Threads to wait for; 0: the whole block.
  uint32_t reduce_and = 1, reduce_or = 0, reduce_count = 0;
};
inline constexpr uint32_t kBarriers = 16;

struct BlockPosition {
  Dim3 index{0, 0, 0};
  uint64_t linear = 0;  ///< x + grid.x * (y + grid.y * z).
  uint32_t rank = 0;    ///< Rank of the block in its cluster.
};

struct BlockThreads {
  uint32_t total = 0;
  uint32_t live = 0;  ///< Threads that have not exited.
};

/// The shared memory of a block, with what the checks record for its bytes and words.
struct SharedMemory {
  std::vector<std::byte> bytes;
  std::vector<uint8_t> defined;  ///< 1 for each byte that was written; empty if that is not
                                 ///< checked.
  ByteSources sources;           ///< The stores that computed undefined bytes.
  RaceHistory race_history;      ///< Has plain accesses and atomics.
  RaceHistory volatile_races;    ///< Race history of volatile accesses; empty until the first one.
  uint32_t epoch = 1;            ///< Accesses of different epochs do not race.
  /// No accesses of earlier epochs race with later ones of other blocks in the cluster.
  uint32_t phase_epoch = 1;
  /// Epoch of the last proxy fence between ordinary stores and asynchronous copies.
  uint32_t proxy_epoch = 0;
  bool released = false;  ///< The block has ended; other blocks of its cluster may no longer access
                          ///< it.

  /// Returns the history for a check and a note of loads.
  RaceHistory& races_for_loads() {
    race_history.settle(false);
    return race_history;
  }
  /// Returns the history for a check and a note of any accesses.
  RaceHistory& races() {
    race_history.settle(true);
    return race_history;
  }
  /// Returns false if some of these bytes were never written. They are 0 here but anything on a
  /// GPU, so a store of what lies there is not a store of the same value. Unless that is checked,
  /// all count as written, and hold a value that programs seldom store.
  bool all_written(uint64_t at, size_t size) const {
    return defined.empty() || std::memchr(defined.data() + at, 0, size) == nullptr;
  }
};

struct BlockBarriers {
  std::array<Barrier, kBarriers> named;
  uint32_t in_use = 0;                     ///< Bit mask of the named barriers that have arrivals.
  std::map<uint32_t, uint64_t> mbarriers;  ///< Initialised mbarriers: offset to stored word.
  std::vector<BulkCopy> bulk_copies;       ///< In flight; each signals an mbarrier of this block.
};

struct BlockClock {
  uint64_t units = 0;              ///< In units of 16 ticks.
  bool stopped = false;            ///< The clock stands still during a livelock search.
  uint64_t warp_instructions = 0;  ///< Executed since the block started.
  /// Thread instructions of all blocks that ran on this object; added to LaunchProgress::executed
  /// at the end of the launch.
  uint64_t thread_instructions = 0;
};

/// The order between this block's accesses to global memory and those of other blocks.
struct GridOrder {
  uint64_t acquired = 0;
  uint32_t fences = 0, published = 0;
  uint32_t sync_ops = 0;  ///< Atomic and volatile accesses to global memory so far.
};

/// A block of threads. Serves one block after another: call start(), then advance() until it
/// returns true.
struct Block {
  Launch* launch = nullptr;
  Cluster* cluster = nullptr;
  BlockPosition position;
  BlockThreads threads;
  std::vector<Warp> warps;
  SharedMemory shared;
  BlockBarriers barriers;
  BlockClock clock;
  GridOrder grid_order;
  /// The allocation that each access used last, indexed by Step::cache.
  std::vector<Allocation*> allocations;
  std::vector<std::shared_ptr<Frame>> frames;  ///< Idle frames of the entry function.
  std::shared_ptr<Counters> counters;          ///< Null unless the launch is profiled.
  std::shared_ptr<ThreadScheduler> scheduler;  ///< Null if warps run in order.

  explicit Block(Launch& of);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  /// Prepares for another launch that needs the same sizes, after release().
  void serve(Launch& of, bool same_inputs);
  /// Ends the use by the launch.
  void release();
  void start(Dim3 at);
  /// Runs until the block ends and returns true. If threads of different blocks may wait for each
  /// other, returns false after `rounds` time slices of every warp.
  bool advance(uint32_t rounds);
  /// Returns a frame for the entry function, if possible the one that the warp had before.
  std::shared_ptr<Frame> take_frame(uint32_t warp_index);
  /// Returns whether any warp can continue without an event from outside the block.
  bool can_run() const;
  /// Reports a deadlock and ends the block. `why` completes the sentence "no thread can continue".
  void stop_block(const std::string& why);
  /// Returns whether every warp is in a loop that changes nothing. Runs each warp for a while with
  /// the clock stopped, and checks that it returns to an earlier state and changes no memory. If
  /// so, only a write by another block, or the passage of time, can end the loops.
  bool is_livelocked();
  /// Reads the clock registers, in units of 16 ticks. Every read advances the clock by one unit.
  uint64_t clock_now() const {
    return clock.units + launch->clock.ahead.load(std::memory_order_relaxed);
  }
  void pass_time() { clock.units += clock.stopped ? 0 : 1; }
  /// Lets the waiting warps of barrier `id` continue when enough threads have arrived.
  void release_if_complete(uint32_t id);
  /// Starts a new epoch: later accesses of its warps do not race with earlier ones.
  void next_epoch();

 private:
  void finish();
  bool over_budget();
  void alternate_paths(Warp& warp);
  bool only_waits(Warp& warp);
  bool is_endless(Warp& warp);
  /// Runs the warp for one time slice. Returns false if the launch must end.
  bool run_warp(Warp& warp, uint64_t slice);
  /// Does what advance() does, in the order chosen by `scheduler`.
  bool advance_scheduled(uint32_t rounds);
  bool end_unless_waiting();
  /// Called after a time slice. If the warp has ended, releases barriers that it would have
  /// blocked.
  void settle(Warp& warp);
  void report_unfinished_copy();
  void report_unfinished(DeviceFindingKind kind, const std::string& message);

  uint64_t layout_ = 0;       ///< Memory::layout() when `allocations` was last cleared.
  uint32_t unchecked_ = 0;    ///< Time slices since the last check of the deadline.
  uint32_t idle_rounds_ = 0;  ///< Consecutive rounds in which every warp only waited.
};

}  // namespace gpuemu::emulator
