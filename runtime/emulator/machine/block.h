// The state of one block of threads: its warps, its shared memory and its barriers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/emulator/machine/async_copies.h"
#include "runtime/emulator/machine/launch.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/memory/race_history.h"

namespace gpuemu::emulator {

class Cluster;
class ThreadScheduler;

/// A named barrier (bar.sync and its like).
struct Barrier {
  uint32_t arrived = 0;   ///< Threads that have arrived.
  uint32_t expected = 0;  ///< Threads to wait for; 0: the whole block.
  uint32_t reduce_and = 1, reduce_or = 0, reduce_count = 0;
};
inline constexpr uint32_t kBarriers = 16;

struct BlockPosition {
  Dim3 index{0, 0, 0};
  uint64_t linear = 0;  ///< x + grid.x * (y + grid.y * z).
  uint32_t rank = 0;    ///< Number of the block in its cluster.
};

struct BlockThreads {
  uint32_t total = 0;
  uint32_t live = 0;  ///< Threads that have not exited.
};

/// The shared memory of a block, and what is known of each of its bytes and words.
struct SharedMemory {
  std::vector<std::byte> bytes;
  std::vector<uint8_t> defined;  ///< 1 for bytes that were written; empty unless that is checked.
  ByteSources sources;           ///< Where undefined bytes were computed.
  RaceHistory races;
  RaceHistory volatile_races;  ///< Among volatile accesses; empty until the first one.
  uint32_t epoch = 1;          ///< Accesses of different epochs do not race.
  /// Epoch of the last fence between ordinary stores and asynchronous copies.
  uint32_t proxy_epoch = 0;
  bool released = false;  ///< The block has ended: other blocks of its cluster may not access it.
};

struct BlockBarriers {
  std::array<Barrier, kBarriers> named;
  uint32_t in_use = 0;                     ///< One bit for each named barrier that has arrivals.
  std::map<uint32_t, uint64_t> mbarriers;  ///< Initialised mbarriers: offset to their word.
  std::vector<BulkCopy> bulk_copies;       ///< In flight, to signal an mbarrier of this block.
};

struct BlockClock {
  uint64_t units = 0;              ///< 16 ticks each.
  bool stopped = false;            ///< Time does not pass while a search for a livelock runs.
  uint64_t warp_instructions = 0;  ///< Since the block started.
  /// Thread instructions of all blocks that ran here; added to LaunchProgress::executed at the end.
  uint64_t thread_instructions = 0;
};

/// How accesses of this block to global memory are ordered with those of other blocks.
struct GridOrder {
  uint64_t acquired = 0;
  uint32_t fences = 0, published = 0;
  uint32_t sync_ops = 0;  ///< Number of atomic and volatile accesses to global memory.
};

/// Runs one block after the other: start() and advance() until it returns true.
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
  std::vector<Allocation*> allocations;  ///< The last allocation of each access (Step::cache).
  std::vector<std::shared_ptr<Frame>> frames;  ///< Frames of the entry that no warp uses.
  std::shared_ptr<Counters> counters;          ///< Null unless the launch is profiled.
  std::shared_ptr<ThreadScheduler> scheduler;  ///< Null if warps run in order.

  explicit Block(Launch& of);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void start(Dim3 at);
  /// Runs until the block ends and returns true; false after `rounds` time slices of every warp, if
  /// threads of different blocks may wait for each other.
  bool advance(uint32_t rounds);
  /// A frame for the entry; if possible the one that the warp had before.
  std::shared_ptr<Frame> take_frame(uint32_t warp_index);
  /// Whether a warp can continue without an event from outside.
  bool can_run() const;
  /// Reports a deadlock and ends the block; `why` no thread can continue.
  void stop_block(const std::string& why);
  /// Whether every warp only repeats itself: runs each for a while, with the clock stopped, and
  /// checks that it returns to an earlier state and changes no memory. If so, none continues unless
  /// another block changes memory or time passes.
  bool is_livelocked();
  /// The value of the clock registers, in units of 16 ticks. Every read of one takes a unit.
  uint64_t clock_now() const {
    return clock.units + launch->clock.ahead.load(std::memory_order_relaxed);
  }
  void pass_time() { clock.units += clock.stopped ? 0 : 1; }
  /// Lets the waiting warps of barrier `id` continue when enough threads have arrived.
  void release_if_complete(uint32_t id);
  /// Accesses to shared memory from now on do not race with earlier ones.
  void next_epoch();

 private:
  void finish();
  bool over_budget();
  void alternate_paths(Warp& warp);
  bool only_waits(Warp& warp);
  bool is_endless(Warp& warp);
  /// Runs the warp for one time slice; false when the launch has to end.
  bool run_warp(Warp& warp, uint64_t slice);
  /// advance() in the order of `scheduler`.
  bool advance_scheduled(uint32_t rounds);
  bool end_unless_waiting();
  /// After a time slice: if the warp has ended, lets those that waited for it continue.
  void settle(Warp& warp);
  void report_unfinished_copy();
  void report_unfinished(DeviceFindingKind kind, const std::string& message);

  uint32_t unchecked_ = 0;    ///< Time slices since the deadline was last checked.
  uint32_t idle_rounds_ = 0;  ///< Consecutive rounds in which every warp only waited.
};

}  // namespace gpuemu::emulator
