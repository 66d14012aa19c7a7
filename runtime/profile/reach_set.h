// What executions reached, hashed into sets of one fixed size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/profile/coverage.h"

namespace gpuemu {

/// Features are numbers below this.
inline constexpr uint32_t kFeatures = uint32_t{1} << 16;

/// What tells one execution from another, hashed: each block and edge that ran, each edge with how
/// often a warp took it (0, 1, 2-3, 4-7, ... times) and whether its warps were full, partial or
/// single threads. Sorted, each once; the same in every process for the same PTX.
std::vector<uint32_t> features_of(const LaunchCoverage& reached);

class ReachSet {
 public:
  ReachSet() = default;
  /// Takes those of bytes(); others make an empty set.
  explicit ReachSet(std::vector<std::byte> bytes);

  bool has_all(std::span<const uint32_t> features) const;
  /// Returns how many of them are new.
  size_t add(std::span<const uint32_t> features);
  /// One bit for each feature; none at all while the set is empty.
  const std::vector<std::byte>& bytes() const { return bits_; }

 private:
  std::vector<std::byte> bits_;
};

}  // namespace gpuemu
