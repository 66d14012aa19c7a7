#include "bindings/libcuda/races/overlap.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gpuemu::libcuda {
namespace {

using Ranges = std::vector<TouchedBytes>;

/// Returns the first range of each that overlaps one of the other.
std::optional<std::pair<const TouchedBytes*, const TouchedBytes*>> first_common(
    const Ranges& one, const Ranges& other) {
  if (one.size() > other.size()) {
    const auto found = first_common(other, one);
    if (!found) return std::nullopt;
    return std::pair(found->second, found->first);
  }
  for (const TouchedBytes& range : one) {
    const auto next = std::ranges::upper_bound(other, range.begin, {}, &TouchedBytes::end);
    if (next == other.end()) return std::nullopt;
    if (next->begin < range.end) return std::pair(&range, &*next);
  }
  return std::nullopt;
}

const Ranges& ranges_of(const TouchedMemory& memory, Touch touch) {
  return touch == Touch::Read    ? memory.reads
         : touch == Touch::Write ? memory.writes
                                 : memory.updates;
}

}  // namespace

const char* verb_of(Touch touch) {
  return touch == Touch::Read ? "reads" : touch == Touch::Write ? "writes" : "updates";
}

std::optional<Overlap> first_overlap(const TouchedMemory& one, const TouchedMemory& other) {
  constexpr Touch kAll[] = {Touch::Write, Touch::Update, Touch::Read};
  std::optional<Overlap> first;
  for (const Touch by_one : kAll) {
    for (const Touch by_other : kAll) {
      if (by_one == by_other && by_one != Touch::Write) continue;
      const auto common = first_common(ranges_of(one, by_one), ranges_of(other, by_other));
      if (!common) continue;
      const auto& [a, b] = *common;
      const uint64_t address = std::max(a->begin, b->begin);
      if (first && first->address <= address) continue;
      first = Overlap{address, by_one, by_other, a->place, b->place};
    }
  }
  return first;
}

void forget_bytes(TouchedMemory& memory, uint64_t begin, uint64_t end) {
  for (Ranges* const list : {&memory.reads, &memory.writes, &memory.updates}) {
    std::erase_if(
        *list, [&](const TouchedBytes& range) { return range.begin < end && begin < range.end; });
  }
}

}  // namespace gpuemu::libcuda
