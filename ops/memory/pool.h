// A caching allocator. Takes segments from a device or from pinned host memory, splits them into
// blocks, merges free blocks, and keeps freed memory for the next request.
//
// Memory is ordered by streams. The stream that owns a freed block can reuse it at once, because
// its later work comes after the earlier use: a block of the same size directly, others after
// merging with free neighbours. Another stream gets it when that work is done or, if the device has
// no more memory, waits for it by an event. Graphs use fixed addresses, so their memory must stay
// allocated as long as the graph: nothing may be freed in a stream that is being captured.
//
// Each new segment is an eighth of what is reserved, so that little of the last one is idle. Before
// allocating one, idle segments are freed if they make up an eighth or more and the peak would
// rise. A small block does not open an idle segment that was allocated for a block many times its
// size. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/memory/backing_memory.h"
#include "ops/memory/free_list.h"
#include "ops/memory/spin_lock.h"

namespace gpuemu {

struct PoolOptions {
  uint64_t limit_bytes = ~uint64_t{0};  ///< For all segments together.
  uint64_t guard_bytes = 0;             ///< On each side of a block; rounded up to 256. 0: none.
  bool poison = false;                  ///< Fills new memory with kPoison.
  uint32_t classes_per_doubling = memory::kStepsUsual;  ///< A power of two up to 16.
};

struct PoolStatistics {
  uint64_t requested_bytes = 0;  ///< Live allocations, as requested.
  uint64_t allocated_bytes = 0;  ///< Live allocations, with rounding and guards.
  uint64_t reserved_bytes = 0;   ///< Allocated from the device.
  uint64_t held_bytes = 0;       ///< Segments with a live block, which trim() cannot free.
  uint64_t peak_requested_bytes = 0, peak_reserved_bytes = 0;
  uint64_t peak_held_bytes = 0;            ///< When requested_bytes was highest.
  uint64_t live = 0;                       ///< Live allocations.
  uint64_t allocations = 0, frees = 0;     ///< Since the beginning.
  uint64_t from_cache = 0;                 ///< Allocations that needed no call of the device.
  uint64_t segments_taken = 0, trims = 0;  ///< Calls of the device; automatic trims.
  uint64_t cross_stream = 0;               ///< Blocks that moved to another stream.

  uint64_t cached_bytes() const { return reserved_bytes - allocated_bytes; }
  /// Returns the share of held memory that live allocations did not use, at their peak.
  double fragmentation() const;
};

/// Bytes that a kernel wrote outside its memory.
struct GuardDamage {
  std::string name;
  int64_t byte_offset = 0;  ///< First damaged byte; negative before the memory, else after its end.
  uint64_t bytes = 0;       ///< Number of damaged bytes.
};

class Pool {
 public:
  static constexpr std::byte kPoison{0xfb}, kGuard{0xa5};

  /// The source's device must outlive the pool.
  Pool(std::unique_ptr<MemorySource> source, const PoolOptions& options);
  /// Frees every segment, even with live blocks.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Allocates memory aligned to 256 bytes; 0 bytes give a unique address too. `name` appears in
  /// the list of owners in out-of-memory messages. ResourceExhausted, after freeing everything
  /// cached was not enough, gives the requested, free and cached bytes and the largest owners.
  Result<uint64_t> allocate(uint64_t bytes, std::string_view name,
                            StreamId stream = kDefaultStream);
  /// Frees memory: work issued later to its stream may reuse it. InvalidArgument if it is not
  /// allocated, or while its stream is being captured. With guards, Corruption names what was
  /// written outside it; the memory is still freed. Memory of kPerThreadStream must be freed by the
  /// thread that used it.
  Status free(uint64_t address);
  /// Records that another stream uses the memory, which is then not reused before that work is
  /// done.
  Status used_by(uint64_t address, StreamId stream);
  /// Call it before a stream is freed: its memory moves to the default stream.
  Status forget_stream(StreamId stream);

  /// Frees segments without a live block until at most `target` bytes are reserved.
  Status trim(uint64_t target_bytes);
  /// Frees all segments without a live block.
  Status empty() { return trim(0); }

  PoolStatistics statistics() const;
  /// Returns the largest live allocations: name and bytes.
  std::vector<std::pair<std::string, uint64_t>> largest(size_t count) const;
  /// Waits for the streams. Returns damage in the guards of live blocks; empty without guards.
  Result<std::vector<GuardDamage>> check_guards();

 private:
  using Block = memory::Block;
  using Segment = memory::Segment;

  // Implemented in pool.cc and stream_order.cc; the caller holds the lock.
  memory::Bins& bins_of(StreamId stream);
  void resize(Block& block, uint64_t bytes) const;
  void insert_free(Block& block);
  void remove_free(Block& block);
  void use(Block& block, bool begins);
  /// With `must_fit`, a small block does not open an idle segment that is many times larger.
  Block* take_cached(uint64_t bytes, StreamId stream, bool must_fit);
  Block* take_foreign(uint64_t bytes, StreamId stream, bool may_wait);
  void give_back_idle(uint64_t bytes, StreamId stream);
  bool give_back(Segment& segment);
  Result<Block*> take_segment(uint64_t bytes, StreamId stream);
  Result<Block*> take_somehow(uint64_t bytes, StreamId stream);
  void hand_out(Block& block, std::string_view name);
  void cut(Block& block, uint64_t bytes);
  void swallow_next(Block& block);
  void release(Block& block);
  /// Merges freed blocks with free neighbours of the same stream.
  void join_freed();
  void trim_locked(uint64_t target_bytes);
  Error out_of_memory(uint64_t bytes, std::string_view name, const Error& why) const;
  std::vector<std::pair<std::string, uint64_t>> largest_locked(size_t count) const;
  Status prepare(const Block& block);
  Result<std::vector<GuardDamage>> damage_of(const Block& block);
  uint64_t user_address(const Block& block) const { return block.address + guard_; }
  bool is_captured(StreamId stream);
  /// Makes later work of `stream` wait for what was issued to `after`.
  void order(StreamId stream, StreamId after);
  /// Makes later work of the stream wait for what used the block, which then belongs to the stream.
  void adopt(Block& block, StreamId stream);
  void wait_for(StreamId stream);
  /// Collects blocks of host memory that are no longer in use; with `wait`, waits for all of them.
  void collect(bool wait);
  void join_everything();

  const std::unique_ptr<MemorySource> source_;
  const PoolOptions options_;
  const uint64_t guard_;
  const memory::SizeClasses classes_;
  mutable memory::SpinLock lock_;  ///< Guards the members below.
  memory::BlockStore store_;
  std::vector<std::unique_ptr<Segment>> segments_;
  memory::AddressMap live_;  ///< By the user's address.
  std::map<StreamId, memory::Bins> bins_;
  StreamId last_stream_ = 0;  ///< The stream whose bins were used last.
  memory::Bins* last_bins_ = nullptr;
  std::vector<Block*> unjoined_;  ///< Freed and not yet merged; some may be in use again.
  std::vector<Block*> pending_;   ///< Freed host memory, each block with its event.
  PoolStatistics statistics_;
};

}  // namespace gpuemu
