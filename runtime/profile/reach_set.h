// The features that executions reached, hashed into bit sets of a fixed size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/profile/coverage.h"

namespace gpuemu {

/// Features are numbers below this limit.
inline constexpr uint32_t kFeatures = uint32_t{1} << 16;

/// Returns the features that distinguish one execution from another, hashed: each block and edge
/// that ran, how often a warp took each edge (0, 1, 2-3, 4-7, ... times), and whether the warps
/// were full, partial or single threads. Sorted and unique; the same in every process for the same
/// PTX.
std::vector<uint32_t> features_of(const LaunchCoverage& reached);

class ReachSet {
 public:
  ReachSet() = default;
  /// Restores a set from bytes(). Bytes of another size give an empty set.
  explicit ReachSet(std::vector<std::byte> bytes);

  bool has_all(std::span<const uint32_t> features) const;
  /// Adds features; returns how many of them are new.
  size_t add(std::span<const uint32_t> features);
  /// Returns one bit per feature; no bytes while the set is empty.
  const std::vector<std::byte>& bytes() const { return bits_; }

 private:
  std::vector<std::byte> bits_;
};

}  // namespace gpuemu
