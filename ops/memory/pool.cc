// Allocates and frees blocks, and obtains memory when none is free.
#include "ops/memory/pool.h"

#include <algorithm>
#include <bit>

#include <fmt/core.h>

#include "common/base/check.h"
#include "common/base/text.h"
#include "runtime/device/allocation_owners.h"

namespace gpuemu {
namespace {

/// The smallest segment, and the largest that is allocated for more than one request. Beyond 64
/// MiB, the device's call is cheap compared with using the memory.
constexpr uint64_t kSegmentMin = uint64_t{16} << 10, kSegmentMax = uint64_t{64} << 20;
constexpr uint64_t kGrowth = 8;
/// A larger size is a mistake, and sums of sizes would overflow.
constexpr uint64_t kBytesMax = uint64_t{1} << 60;

}  // namespace

double PoolStatistics::fragmentation() const {
  if (peak_held_bytes == 0) return 0;
  return 1 - static_cast<double>(peak_requested_bytes) / static_cast<double>(peak_held_bytes);
}

Pool::Pool(std::unique_ptr<MemorySource> source, const PoolOptions& options)
    : source_(std::move(source)),
      options_(options),
      guard_((options.guard_bytes + memory::kGranule - 1) / memory::kGranule * memory::kGranule),
      classes_(options.classes_per_doubling) {
  GPUEMU_CHECK(std::has_single_bit(options.classes_per_doubling) &&
               options.classes_per_doubling <= memory::kStepsMax);
}

Pool::~Pool() {
  collect(true);
  for (const auto& segment : segments_) (void)source_->give_back(segment->address);
}

memory::Bins& Pool::bins_of(StreamId stream) {
  if (last_bins_ != nullptr && last_stream_ == stream) return *last_bins_;
  last_stream_ = stream;
  last_bins_ = &bins_[stream];
  return *last_bins_;
}

void Pool::resize(Block& block, uint64_t bytes) const {
  block.bytes = bytes;
  block.place = classes_.of(bytes);
}

void Pool::insert_free(Block& block) {
  block.is_free = true;
  bins_of(block.stream).insert(block);
}

void Pool::remove_free(Block& block) {
  block.is_free = false;
  bins_of(block.stream).remove(block);
}

/// Marks the block as used or unused. A segment is held while any part of it is used.
void Pool::use(Block& block, bool begins) {
  Segment& segment = *block.segment;
  if (segment.used == 0) statistics_.held_bytes += segment.bytes;
  segment.used += begins ? block.bytes : -block.bytes;
  if (segment.used == 0) statistics_.held_bytes -= segment.bytes;
}

Pool::Block* Pool::take_cached(uint64_t bytes, StreamId stream, bool must_fit) {
  memory::Bins& mine = bins_of(stream);
  const memory::SizeClass place = classes_.of(bytes);
  Block* found = mine.find_exactly(bytes, place);
  if (found == nullptr) {
    join_freed();
    found = mine.find(place);
  }
  if (found == nullptr) return nullptr;
  const bool is_segment = found->bytes == found->segment->bytes;
  if (must_fit && is_segment && found->segment->unit / kGrowth > bytes) return nullptr;
  remove_free(*found);
  if (found->ready != 0) adopt(*found, stream);
  return found;
}

/// Splits off the rest of the block as a free block.
void Pool::cut(Block& block, uint64_t bytes) {
  if (block.bytes == bytes) return;
  Block& rest = store_.make();
  rest.address = block.address + bytes;
  resize(rest, block.bytes - bytes);
  rest.segment = block.segment;
  rest.stream = block.stream;
  rest.before = &block;
  rest.after = block.after;
  if (rest.after != nullptr) rest.after->before = &rest;
  block.after = &rest;
  resize(block, bytes);
  insert_free(rest);
}

/// Merges the next block into this one. Both must be free and in no bin.
void Pool::swallow_next(Block& block) {
  Block& next = *block.after;
  resize(block, block.bytes + next.bytes);
  block.after = next.after;
  if (block.after != nullptr) block.after->before = &block;
  store_.recycle(next);
}

/// Frees the block unmerged, because most blocks are next requested with the same size.
void Pool::release(Block& block) {
  use(block, false);
  insert_free(block);
  if (block.is_listed) return;
  block.is_listed = true;
  unjoined_.push_back(&block);
}

void Pool::join_freed() {
  const auto joins = [](const Block* one, const Block* other) {
    return one != nullptr && other != nullptr && one->is_free && other->is_free &&
           one->stream == other->stream && one->ready == 0 && other->ready == 0;
  };
  for (Block* block : unjoined_) {
    block->is_listed = false;
    while (joins(block->before, block)) block = block->before;
    if (!joins(block, block->after)) continue;
    remove_free(*block);
    block->is_free = true;
    while (joins(block, block->after)) {
      remove_free(*block->after);
      swallow_next(*block);
    }
    insert_free(*block);
  }
  unjoined_.clear();
}

/// Frees whole idle segments that are too small for the request, if they are a large enough share
/// to be worth the calls.
void Pool::give_back_idle(uint64_t bytes, StreamId stream) {
  // Below the peak there is room for both.
  if (statistics_.reserved_bytes + bytes <= statistics_.peak_reserved_bytes) return;
  const auto is_idle = [&](const Segment& segment) {
    return segment.used == 0 && segment.first->after == nullptr &&
           segment.first->stream == stream && segment.first->ready == 0;
  };
  uint64_t idle = 0;
  for (const auto& segment : segments_) idle += is_idle(*segment) ? segment->bytes : 0;
  if (idle < statistics_.reserved_bytes / kGrowth || is_captured(stream)) return;
  std::erase_if(segments_, [&](const auto& one) { return is_idle(*one) && give_back(*one); });
}

/// Returns false if the device refuses. The source waits for work that may still use the segment.
bool Pool::give_back(Segment& segment) {
  if (!source_->give_back(segment.address)) return false;
  for (Block* block = segment.first; block != nullptr;) {
    Block* next = block->after;
    if (block->ready != 0) (void)source_->streams()->free_event(block->ready);
    remove_free(*block);
    store_.recycle(*block);
    block = next;
  }
  statistics_.reserved_bytes -= segment.bytes;
  return true;
}

Result<Pool::Block*> Pool::take_segment(uint64_t bytes, StreamId stream) {
  give_back_idle(bytes, stream);
  const uint64_t reserved = statistics_.reserved_bytes;
  const uint64_t room = options_.limit_bytes - std::min(options_.limit_bytes, reserved);
  if (bytes > room) {
    return error(ErrorCode::ResourceExhausted, "the pool's limit of {} bytes is reached",
                 options_.limit_bytes);
  }
  uint64_t grown = std::clamp(reserved / kGrowth, kSegmentMin, kSegmentMax);
  grown = grown / bytes * bytes;  // Leaves no remainder if more blocks of the same size follow.
  uint64_t size = std::min(std::max(bytes, grown), room / memory::kGranule * memory::kGranule);
  size = std::max(size, bytes);
  auto address = source_->take(size);
  if (!address && size > bytes) address = source_->take(size = bytes);
  if (!address) return address.error();
  ++statistics_.segments_taken;
  auto segment = std::make_unique<Segment>();
  segment->address = *address;
  segment->bytes = size;
  segment->unit = bytes;
  Block& block = store_.make();
  block.address = *address;
  resize(block, size);
  block.segment = segment.get();
  block.stream = stream;
  segment->first = &block;
  segments_.push_back(std::move(segment));
  statistics_.reserved_bytes += size;
  statistics_.peak_reserved_bytes =
      std::max(statistics_.peak_reserved_bytes, statistics_.reserved_bytes);
  return &block;
}

/// Tries, in the order of cost: unused memory of another stream, new memory, new memory after
/// freeing everything cached, memory that the stream must wait for.
Result<Pool::Block*> Pool::take_somehow(uint64_t bytes, StreamId stream) {
  join_freed();
  if (Block* found = take_foreign(bytes, stream, false)) return found;
  auto taken = take_segment(bytes, stream);
  if (taken || taken.error().code != ErrorCode::ResourceExhausted) return taken;
  if (Block* found = take_cached(bytes, stream, false)) return found;
  if (Block* found = take_foreign(bytes, stream, true)) return found;
  ++statistics_.trims;
  collect(true);
  join_everything();
  if (Block* found = take_cached(bytes, stream, false)) return found;
  if (Block* found = take_foreign(bytes, stream, true)) return found;
  trim_locked(0);
  return take_segment(bytes, stream);
}

void Pool::hand_out(Block& block, std::string_view name) {
  block.name.assign(name);
  block.also_used.clear();
  use(block, true);
  live_.insert(user_address(block), &block);
  ++statistics_.allocations;
  ++statistics_.live;
  statistics_.allocated_bytes += block.bytes;
  statistics_.requested_bytes += block.requested;
  if (statistics_.requested_bytes > statistics_.peak_requested_bytes) {
    statistics_.peak_requested_bytes = statistics_.requested_bytes;
    statistics_.peak_held_bytes = statistics_.held_bytes;
  }
}

Result<uint64_t> Pool::allocate(uint64_t bytes, std::string_view name, StreamId stream) {
  const std::lock_guard lock(lock_);
  if (bytes > kBytesMax) {
    return out_of_memory(bytes, name, error(ErrorCode::ResourceExhausted, "no device has as much"));
  }
  const uint64_t wanted = classes_.round_up(bytes + 2 * guard_);
  if (!pending_.empty()) collect(false);
  const uint64_t taken_before = statistics_.segments_taken;
  Block* block = take_cached(wanted, stream, true);
  if (block == nullptr) {
    const auto found = take_somehow(wanted, stream);
    if (!found && found.error().code != ErrorCode::ResourceExhausted) return found.error();
    if (!found) return out_of_memory(bytes, name, found.error());
    block = *found;
  }
  if (statistics_.segments_taken == taken_before) ++statistics_.from_cache;
  cut(*block, wanted);
  block->requested = bytes;
  if (const Status ready = prepare(*block); !ready) {
    use(*block, true);
    release(*block);
    return ready.error();
  }
  hand_out(*block, name);
  return user_address(*block);
}

Status Pool::free(uint64_t address) {
  const std::lock_guard lock(lock_);
  Block* const found = live_.find(address);
  if (found == nullptr) {
    return error(ErrorCode::InvalidArgument,
                 "address {:#x} is not allocated from this pool, or already free", address);
  }
  Block& block = *found;
  if (is_captured(block.stream)) {
    return error(ErrorCode::InvalidArgument,
                 "'{}' belongs to a stream that is captured; free it after the graph is destroyed",
                 block.name);
  }
  Status verdict = ok_status();
  if (guard_ != 0) {
    const auto damages = damage_of(block);
    if (!damages) {
      verdict = damages.error();
    } else if (!damages->empty()) {
      verdict = error(ErrorCode::Corruption, "{} beside '{}' {} written, the first at {}",
                      counted(damages->front().bytes, "byte"), block.name,
                      damages->front().bytes == 1 ? "was" : "were", damages->front().byte_offset);
    }
  }
  live_.erase(address);
  ++statistics_.frees;
  --statistics_.live;
  statistics_.allocated_bytes -= block.bytes;
  statistics_.requested_bytes -= block.requested;
  Streams* streams = source_->streams();
  for (const StreamId other : block.also_used) order(block.stream, other);
  if (streams == nullptr || (block.stream != kPerThreadStream && !source_->is_hosts())) {
    release(block);
    return verdict;
  }
  const auto event = streams->make_event();
  if (event && streams->record(*event, block.stream)) {
    block.ready = *event;
  } else {
    wait_for(block.stream);
  }
  if (source_->is_hosts() && block.ready != 0) {
    pending_.push_back(&block);
  } else {
    release(block);
  }
  return verdict;
}

Status Pool::used_by(uint64_t address, StreamId stream) {
  const std::lock_guard lock(lock_);
  Block* const found = live_.find(address);
  if (found == nullptr) {
    return error(ErrorCode::InvalidArgument, "address {:#x} is not allocated from this pool",
                 address);
  }
  Block& block = *found;
  if (stream != block.stream &&
      std::ranges::find(block.also_used, stream) == block.also_used.end()) {
    block.also_used.push_back(stream);
  }
  return ok_status();
}

Status Pool::trim(uint64_t target_bytes) {
  const std::lock_guard lock(lock_);
  collect(false);
  trim_locked(target_bytes);
  return ok_status();
}

void Pool::trim_locked(uint64_t target_bytes) {
  std::erase_if(segments_, [&](const std::unique_ptr<Segment>& segment) {
    if (statistics_.reserved_bytes <= target_bytes || segment->used != 0) return false;
    return give_back(*segment);
  });
}

PoolStatistics Pool::statistics() const {
  const std::lock_guard lock(lock_);
  return statistics_;
}

std::vector<std::pair<std::string, uint64_t>> Pool::largest(size_t count) const {
  const std::lock_guard lock(lock_);
  return largest_locked(count);
}

std::vector<std::pair<std::string, uint64_t>> Pool::largest_locked(size_t count) const {
  std::vector<std::pair<std::string, uint64_t>> out;
  live_.for_each(
      [&](uint64_t, const Block& block) { out.emplace_back(block.name, block.requested); });
  std::ranges::sort(out, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  out.resize(std::min(count, out.size()));
  return out;
}

Error Pool::out_of_memory(uint64_t bytes, std::string_view name, const Error& why) const {
  std::vector<AllocationOwner> all;
  live_.for_each([&](uint64_t address, const Block& block) {
    all.push_back({block.name, block.requested, address});
  });
  const std::string owners = largest_owners(std::move(all));
  const auto info = source_->info();
  return error(ErrorCode::ResourceExhausted,
               "out of memory: '{}' requested {} bytes; {} bytes are free on the device, {} cached "
               "in pieces that are too small, {} in use by {} allocations{}{} ({})",
               name, bytes, info ? info->free_bytes : 0, statistics_.cached_bytes(),
               statistics_.allocated_bytes, statistics_.live,
               owners.empty() ? "" : "; the largest: ", owners, why.message);
}

Status Pool::prepare(const Block& block) {
  const uint64_t begin = user_address(block), end = begin + block.requested;
  if (guard_ != 0) {
    GPUEMU_TRY(source_->fill(block.stream, block.address, kGuard, guard_));
    GPUEMU_TRY(source_->fill(block.stream, end, kGuard, block.address + block.bytes - end));
  }
  if (options_.poison && block.requested != 0) {
    GPUEMU_TRY(source_->fill(block.stream, begin, kPoison, block.requested));
  }
  return ok_status();
}

Result<std::vector<GuardDamage>> Pool::damage_of(const Block& block) {
  std::vector<GuardDamage> out;
  const uint64_t begin = user_address(block), end = begin + block.requested;
  const auto look = [&](uint64_t from, uint64_t to) -> Status {
    std::vector<std::byte> zone(to - from);
    GPUEMU_TRY(source_->read(block.stream, zone, from));
    const auto first = std::ranges::find_if(zone, [](std::byte b) { return b != kGuard; });
    if (first == zone.end()) return ok_status();
    const auto count = std::ranges::count_if(zone, [](std::byte b) { return b != kGuard; });
    out.push_back({block.name, static_cast<int64_t>(from - begin) + (first - zone.begin()),
                   static_cast<uint64_t>(count)});
    return ok_status();
  };
  GPUEMU_TRY(look(block.address, begin));
  GPUEMU_TRY(look(end, block.address + block.bytes));
  return out;
}

Result<std::vector<GuardDamage>> Pool::check_guards() {
  const std::lock_guard lock(lock_);
  std::vector<GuardDamage> out;
  if (guard_ == 0) return out;
  Status looked = ok_status();
  live_.for_each([&](uint64_t, const Block& block) {
    if (!looked) return;
    auto damages = damage_of(block);
    if (!damages) looked = damages.error();
    if (damages) std::ranges::move(*damages, std::back_inserter(out));
  });
  GPUEMU_TRY(looked);
  return out;
}

}  // namespace gpuemu
