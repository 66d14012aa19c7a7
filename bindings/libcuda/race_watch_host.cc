// The race watch for the program's own accesses to pinned and managed memory.
#include <algorithm>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "bindings/libcuda/race_watch.h"

namespace gpuemu::libcuda {
namespace {

thread_local const WorkStamp* host_function = nullptr;

/// Returns true if a kernel uses memory with system-wide order: through it kernel and host may
/// signal to each other.
bool speaks_with_host(const TouchedMemory& memory) {
  return std::ranges::any_of(memory.places, [](const TouchedPlace& place) {
    const std::string_view text = place.instruction;
    return text.find(".volatile") != text.npos || text.find(".sys") != text.npos ||
           text.find(".mmio") != text.npos;
  });
}

/// Returns the pages of these bytes. System calls fail on protected pages, so for larger
/// allocations only pages without other data of the program are returned.
UsedPages pages_of(const Allocation& in, const TouchedBytes& bytes, bool were_written) {
  const auto size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto up = [&](uint64_t address) { return (address + size - 1) / size * size; };
  const auto down = [&](uint64_t address) { return address / size * size; };
  // The pages around registered memory contain other data of the program.
  if (in.kind == MemoryKind::Registered) return {up(bytes.begin), down(bytes.end), were_written};
  if (in.bytes <= size) return {down(bytes.begin), up(bytes.end), were_written};
  const bool is_to_the_end = bytes.end >= in.address + in.bytes;
  return {up(bytes.begin), is_to_the_end ? up(bytes.end) : down(bytes.end), were_written};
}

}  // namespace

HostFunction::HostFunction(const WorkStamp& work) { host_function = &work; }
HostFunction::~HostFunction() { host_function = nullptr; }
const WorkStamp* running_host_function() { return host_function; }

void RaceWatch::find_pages(Work& work) const {
  if (!follows_host_ || speaks_with_host(work.memory)) return;
  const auto add = [&](const std::vector<TouchedBytes>& ranges, bool were_written) {
    Allocations::Shared in;
    for (size_t i = 0; i < ranges.size();) {
      TouchedBytes all = ranges[i];
      for (++i; i < ranges.size() && ranges[i].begin <= all.end; ++i) all.end = ranges[i].end;
      const bool is_same =
          in != nullptr && all.begin >= in->address && all.begin - in->address < in->bytes;
      if (!is_same) in = allocations_->holding(all.begin);
      const bool is_watched =
          in != nullptr && (in->kind == MemoryKind::Pinned || in->kind == MemoryKind::Managed ||
                            (in->kind == MemoryKind::Registered && in->is_private));
      const UsedPages pages = is_watched ? pages_of(*in, all, were_written) : UsedPages{};
      if (pages.begin >= pages.end) continue;
      UsedPages* const last = work.pages.empty() ? nullptr : &work.pages.back();
      const bool follows = last != nullptr && last->were_written == were_written &&
                           last->begin <= pages.begin && pages.begin <= last->end;
      if (follows) {
        last->end = std::max(last->end, pages.end);
      } else {
        work.pages.push_back(pages);
      }
    }
  };
  add(work.memory.reads, false);
  add(work.memory.writes, true);
  add(work.memory.updates, true);
}

std::vector<UsedPages> RaceWatch::pages_in_use() {
  if (uses_host_ == 0) return {};
  const std::lock_guard lock(mutex_);
  std::vector<UsedPages> all;
  for (const Work& one : done_) {
    if (!one.pages.empty() && !order_.host_has_seen(one.stamp)) {
      all.insert(all.end(), one.pages.begin(), one.pages.end());
    }
  }
  // Written pages go last: they are protected against reads as well, and the last protection wins.
  std::ranges::stable_sort(all, {}, &UsedPages::were_written);
  return all;
}

void RaceWatch::host_accesses(uint64_t address, bool writes, const WorkStamp* function) {
  Work access;
  access.site = call_site(kHostAccess);
  (writes ? access.memory.writes : access.memory.reads).push_back({address, address + 1, 0});
  if (function != nullptr) access.stamp = *function;
  const std::lock_guard lock(mutex_);
  for (const Work& one : done_) {
    if (one.pages.empty()) continue;
    const bool is_ordered =
        function == nullptr ? order_.host_has_seen(one.stamp) : are_ordered(one.stamp, *function);
    if (!is_ordered) compare(one, access);
  }
}

}  // namespace gpuemu::libcuda
