// C interface: memory statistics of a context.
#include <algorithm>

#include "ops/capi/context.h"
#include "ops/capi/json_text.h"

using gpuemu::opcall::answer;
using gpuemu::opcall::is_usable;
using gpuemu::opcall::missing;
using gpuemu::opcall::refuse;

gpuemu::opcall::MemoryNow gpuemu_context::memory_now() const {
  gpuemu::opcall::MemoryNow now{memory.unpooled, memory.unpooled, memory.unpooled};
  if (pool == nullptr) return now;
  const gpuemu::PoolStatistics pooled = pool->statistics();
  now.requested += pooled.requested_bytes;
  now.allocated += pooled.allocated_bytes;
  now.reserved += pooled.reserved_bytes;
  return now;
}

namespace gpuemu::opcall {
namespace {

uint64_t& bytes_of(MemoryBook& book, MemoryKind kind) {
  return book.by_kind[static_cast<size_t>(kind)];
}

bool is_unpooled(const gpuemu_context::Allocation& allocation) {
  return allocation.kind == MemoryKind::Device && !allocation.is_pools;
}

/// Returns the held bytes by name.
std::map<std::string, uint64_t> by_name(const gpuemu_context& context) {
  std::map<std::string, uint64_t> held;
  for (const auto& [address, one] : context.allocations) {
    if (one.kind == MemoryKind::Device) held[one.name] += one.bytes;
  }
  return held;
}

void follow(gpuemu_context& context, bool is_new) {
  MemoryBook& book = context.memory;
  const MemoryNow now = context.memory_now();
  book.note_peaks(now);
  if (!book.is_profiled) return;
  MemoryProfile& profile = book.profile;
  ++(is_new ? profile.allocations : profile.frees);
  const auto since = std::chrono::steady_clock::now() - profile.began;
  profile.samples.emplace_back(std::chrono::duration<double, std::micro>(since).count(),
                               now.requested);
  if (now.requested > profile.peak.requested) {
    profile.peak.requested = now.requested;
    profile.by_name = by_name(context);
  }
  profile.peak.reserved = std::max(profile.peak.reserved, now.reserved);
}

}  // namespace

void note_allocated(gpuemu_context& context, const gpuemu_context::Allocation& allocation) {
  MemoryBook& book = context.memory;
  ++book.allocations;
  bytes_of(book, allocation.kind) += allocation.bytes;
  if (is_unpooled(allocation)) {
    book.unpooled += allocation.bytes;
    ++book.device_calls;
  }
  follow(context, true);
}

void note_freed(gpuemu_context& context, const gpuemu_context::Allocation& allocation) {
  MemoryBook& book = context.memory;
  ++book.frees;
  bytes_of(book, allocation.kind) -= allocation.bytes;
  if (is_unpooled(allocation)) book.unpooled -= allocation.bytes;
  follow(context, false);
}

void begin_memory_profile(gpuemu_context& context) {
  const std::unique_lock lock(context.mutex);
  context.memory.is_profiled = true;
  MemoryProfile& profile = context.memory.profile = {};
  profile.began = std::chrono::steady_clock::now();
  profile.peak = context.memory_now();
  profile.by_name = by_name(context);
  profile.samples.emplace_back(0, profile.peak.requested);
}

MemoryProfile end_memory_profile(gpuemu_context& context) {
  const std::unique_lock lock(context.mutex);
  context.memory.is_profiled = false;
  return std::exchange(context.memory.profile, {});
}

gpuemu_memory_statistics statistics_of(gpuemu_context& context) {
  const std::unique_lock lock(context.mutex);
  const MemoryBook& book = context.memory;
  const MemoryNow now = context.memory_now();
  const PoolStatistics pooled =
      context.pool == nullptr ? PoolStatistics{} : context.pool->statistics();
  gpuemu_memory_statistics made{};
  made.struct_bytes = sizeof made;
  made.requested_bytes = now.requested;
  made.allocated_bytes = now.allocated;
  made.reserved_bytes = now.reserved;
  made.cached_bytes = now.reserved - now.allocated;
  made.peak_requested_bytes = std::max(book.peak_requested, now.requested);
  made.peak_reserved_bytes = std::max(book.peak_reserved, now.reserved);
  made.pinned_bytes = book.by_kind[static_cast<size_t>(MemoryKind::Pinned)];
  made.managed_bytes = book.by_kind[static_cast<size_t>(MemoryKind::Managed)];
  for (const auto& [address, one] : context.adopted) made.adopted_bytes += one.bytes;
  made.live = book.allocations - book.frees;
  made.allocations = book.allocations;
  made.frees = book.frees;
  made.from_cache = pooled.from_cache;
  made.segments_taken = pooled.segments_taken + book.device_calls;
  made.trims = pooled.trims;
  return made;
}

}  // namespace gpuemu::opcall

extern "C" {

gpuemu_code gpuemu_memory_info(gpuemu_context* context, uint64_t* free_bytes,
                               uint64_t* total_bytes) {
  if (!is_usable(context)) return refuse(context);
  if (free_bytes == nullptr) return missing("free_bytes");
  if (total_bytes == nullptr) return missing("total_bytes");
  const auto info = context->device->memory();
  if (!info) return answer(info.error());
  *free_bytes = info->free_bytes;
  *total_bytes = info->total_bytes;
  return GPUEMU_OK;
}

gpuemu_code gpuemu_memory_statistics_get(gpuemu_context* context,
                                         gpuemu_memory_statistics* statistics) {
  if (!is_usable(context)) return refuse(context);
  if (statistics == nullptr) return missing("statistics");
  const size_t bytes = statistics->struct_bytes;
  if (bytes < sizeof(gpuemu_memory_statistics)) {
    return answer(gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                                "statistics.struct_bytes is {}, expected {}: its sizeof", bytes,
                                sizeof(gpuemu_memory_statistics)));
  }
  *statistics = gpuemu::opcall::statistics_of(*context);
  statistics->struct_bytes = static_cast<uint32_t>(bytes);
  return GPUEMU_OK;
}

gpuemu_code gpuemu_memory_reset_peaks(gpuemu_context* context) {
  if (!is_usable(context)) return refuse(context);
  const std::unique_lock lock(context->mutex);
  const gpuemu::opcall::MemoryNow now = context->memory_now();
  context->memory.peak_requested = now.requested;
  context->memory.peak_reserved = now.reserved;
  return GPUEMU_OK;
}

gpuemu_code gpuemu_memory_largest_json(gpuemu_context* context, uint32_t count, char* to,
                                       size_t room, size_t* bytes) {
  if (!is_usable(context)) return refuse(context);
  std::vector<std::pair<uint64_t, std::string>> all;
  {
    const std::shared_lock lock(context->mutex);
    for (const auto& [address, one] : context->allocations) all.emplace_back(one.bytes, one.name);
  }
  std::ranges::sort(all, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  all.resize(std::min<size_t>(all.size(), count));
  return gpuemu::opcall::give_text(gpuemu::opcall::allocations_json(all), to, room, bytes);
}

}  // extern "C"
