// Memory that somebody else has allocated and that kernels may use all the same.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace gpuemu {

/// Extents by address. Those that overlap are one piece. One thread at a time.
class ForeignMemory {
 public:
  void add(uint64_t address, uint64_t bytes) { extents_.emplace(address, address + bytes); }
  /// False when add() was not called with both.
  bool remove(uint64_t address, uint64_t bytes) {
    const auto [begin, end] = extents_.equal_range(address);
    for (auto one = begin; one != end; ++one) {
      if (one->second != address + bytes) continue;
      extents_.erase(one);
      return true;
    }
    return false;
  }
  /// Begin to end.
  std::map<uint64_t, uint64_t> pieces() const {
    std::map<uint64_t, uint64_t> made;
    for (const auto& [begin, end] : extents_) {
      auto last = made.empty() ? made.end() : std::prev(made.end());
      const bool overlaps = last != made.end() && (begin < last->second || begin == last->first);
      if (!overlaps) {
        made.emplace_hint(made.end(), begin, end);
      } else if (last->second < end) {
        last->second = end;
      }
    }
    return made;
  }
  bool contains(uint64_t address, uint64_t bytes) const {
    if (extents_.empty()) return false;
    const auto all = pieces();
    const auto after = all.upper_bound(address);
    if (after == all.begin()) return false;
    const uint64_t end = std::prev(after)->second;
    return address <= end && bytes <= end - address;
  }

 private:
  std::multimap<uint64_t, uint64_t> extents_;
};

}  // namespace gpuemu
