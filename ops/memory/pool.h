// A caching allocator: segments taken from a device or from the host's pinned memory, handed out in
// blocks that are split and joined, and kept for the next request when they are freed.
//
// Memory is ordered by streams: what is freed is used again at once by the stream that it belongs
// to, whose work comes after what used it before: a block of the same size as it is, others after
// it joined its free neighbours. Another stream takes it when that work is done, or waits for it by
// an event where the device has no more to give. Work of a graph uses fixed addresses: what it uses
// has to stay allocated as long as the graph, so nothing is freed in a stream that is captured.
//
// Segments grow with what is reserved, an eighth of it each, so that little of the last one lies
// idle. Before a new one is taken those that are idle as a whole are given back, where they are an
// eighth or more and the peak would rise; a small block opens none of them that was taken for one
// many times its size. Every method may be called from any thread.
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
  uint64_t requested_bytes = 0;  ///< By the live allocations, as asked for.
  uint64_t allocated_bytes = 0;  ///< By the live allocations, with rounding and guards.
  uint64_t reserved_bytes = 0;   ///< Taken from the device.
  uint64_t held_bytes = 0;       ///< Segments with a live block: what trim() cannot give back.
  uint64_t peak_requested_bytes = 0, peak_reserved_bytes = 0;
  uint64_t peak_held_bytes = 0;            ///< When requested_bytes was highest.
  uint64_t live = 0;                       ///< Allocations.
  uint64_t allocations = 0, frees = 0;     ///< Since the beginning.
  uint64_t from_cache = 0;                 ///< Allocations that asked the device for nothing.
  uint64_t segments_taken = 0, trims = 0;  ///< Calls of the device; automatic trims.
  uint64_t cross_stream = 0;               ///< Blocks that changed their stream.

  uint64_t cached_bytes() const { return reserved_bytes - allocated_bytes; }
  /// Share of what could not be given back at the peak of the live allocations and was not theirs.
  double fragmentation() const;
};

/// What a kernel wrote beside its memory.
struct GuardDamage {
  std::string name;
  int64_t byte_offset = 0;  ///< The first byte; negative before the memory, else behind its end.
  uint64_t bytes = 0;       ///< Damaged ones.
};

class Pool {
 public:
  static constexpr std::byte kPoison{0xfb}, kGuard{0xa5};

  /// The source's device has to outlive the pool.
  Pool(std::unique_ptr<MemorySource> source, const PoolOptions& options);
  /// Gives back every segment, whether its blocks are free or not.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Aligned to 256 bytes; a unique address also for 0 bytes. `name` appears among the owners when
  /// memory is out: ResourceExhausted says what was asked for, what is free and cached, and who
  /// holds most, after everything cached was given back in vain.
  Result<uint64_t> allocate(uint64_t bytes, std::string_view name,
                            StreamId stream = kDefaultStream);
  /// The memory may be used again by work issued later to its stream. InvalidArgument for what is
  /// not allocated, and while its stream is captured. With guards: Corruption names what was
  /// written beside it; it is free all the same. Memory of kPerThreadStream is freed by the thread
  /// that used it.
  Status free(uint64_t address);
  /// Another stream uses the memory too; it is not used again before that work is done.
  Status used_by(uint64_t address, StreamId stream);
  /// To be called before a stream is freed: its memory becomes that of the default stream.
  Status forget_stream(StreamId stream);

  /// Gives segments without a live block back until at most `target` bytes are reserved.
  Status trim(uint64_t target_bytes);
  /// All of them.
  Status empty() { return trim(0); }

  PoolStatistics statistics() const;
  /// The largest live allocations: name and bytes.
  std::vector<std::pair<std::string, uint64_t>> largest(size_t count) const;
  /// Waits for the streams. What was written into the guards of live blocks, empty without guards.
  Result<std::vector<GuardDamage>> check_guards();

 private:
  using Block = memory::Block;
  using Segment = memory::Segment;

  // pool.cc and order.cc; the lock is held.
  memory::Bins& bins_of(StreamId stream);
  void resize(Block& block, uint64_t bytes) const;
  void insert_free(Block& block);
  void remove_free(Block& block);
  void use(Block& block, bool begins);
  /// If it must fit, a small block opens no segment that is idle and many times larger.
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
  /// What was freed joins its free neighbours of the same stream.
  void join_freed();
  void trim_locked(uint64_t target_bytes);
  Error out_of_memory(uint64_t bytes, std::string_view name, const Error& why) const;
  std::vector<std::pair<std::string, uint64_t>> largest_locked(size_t count) const;
  Status prepare(const Block& block);
  Result<std::vector<GuardDamage>> damage_of(const Block& block);
  uint64_t user_address(const Block& block) const { return block.address + guard_; }
  bool is_captured(StreamId stream);
  /// Later work of the stream comes after what was issued to the other.
  void order(StreamId stream, StreamId after);
  /// Later work of the stream comes after what used the block, which becomes the stream's.
  void adopt(Block& block, StreamId stream);
  void wait_for(StreamId stream);
  /// Blocks of the host's memory that are out of use; waits for all of them if told to.
  void collect(bool wait);
  void join_everything();

  const std::unique_ptr<MemorySource> source_;
  const PoolOptions options_;
  const uint64_t guard_;
  const memory::SizeClasses classes_;
  mutable memory::SpinLock lock_;  ///< Guards what follows.
  memory::BlockStore store_;
  std::vector<std::unique_ptr<Segment>> segments_;
  memory::AddressMap live_;  ///< By the user's address.
  std::map<StreamId, memory::Bins> bins_;
  StreamId last_stream_ = 0;  ///< Its bins were asked for last.
  memory::Bins* last_bins_ = nullptr;
  std::vector<Block*> unjoined_;  ///< Freed since neighbours were looked at; some in use again.
  std::vector<Block*> pending_;   ///< Freed memory of the host, each with its event.
  PoolStatistics statistics_;
};

}  // namespace gpuemu
