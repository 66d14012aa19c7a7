// Aligning two sequences so that as much as possible stands beside its like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gpuemu {

/// One step of an alignment: a pair that is alike, or one side alone.
struct AlignedPair {
  std::optional<size_t> before, after;
  bool operator==(const AlignedPair&) const = default;
};

/// The shortest script of removals and additions (Myers); what is removed comes before what is
/// added in its place. Beyond a fixed number of changes the middle counts as replaced altogether.
std::vector<AlignedPair> align(const std::vector<uint64_t>& before,
                               const std::vector<uint64_t>& after);

}  // namespace gpuemu
