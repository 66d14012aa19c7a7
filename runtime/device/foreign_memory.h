// Memory that was allocated outside gpuemu and that kernels may access.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace gpuemu {

/// A set of address ranges; overlapping ranges are merged. Not thread-safe.
class ForeignMemory {
 public:
  void add(uint64_t address, uint64_t bytes) { extents_.emplace(address, address + bytes); }
  /// Returns false unless add() was called with the same arguments.
  bool remove(uint64_t address, uint64_t bytes) {
    const auto [begin, end] = extents_.equal_range(address);
    for (auto one = begin; one != end; ++one) {
      if (one->second != address + bytes) continue;
      extents_.erase(one);
      return true;
    }
    return false;
  }
  /// Returns the merged ranges, as begin and end.
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
