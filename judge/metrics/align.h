// Aligns two sequences so that as many equal elements as possible are paired.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gpuemu {

/// One step of an alignment: a pair of equal elements, or an element of one side.
struct AlignedPair {
  std::optional<size_t> before, after;
  bool operator==(const AlignedPair&) const = default;
};

/// Returns the shortest script of removals and additions (Myers), with removals before the
/// additions that replace them. Beyond a fixed number of changes, the whole middle counts as
/// replaced.
std::vector<AlignedPair> align(const std::vector<uint64_t>& before,
                               const std::vector<uint64_t>& after);

}  // namespace gpuemu
