#include "runtime/profile/reach_set.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace gpuemu {
namespace {

constexpr uint64_t kWarpLanes = 32;
// A loop that runs longer is not new coverage.
constexpr uint64_t kTripClassMax = 8;

/// The mixing step of SplitMix64, so that ids and classes do not cancel each other.
uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

uint32_t feature(uint64_t hash) { return static_cast<uint32_t>(mixed(hash) % kFeatures); }

uint64_t trip_class(uint64_t times, uint64_t warps) {
  return std::min<uint64_t>(
      static_cast<uint64_t>(std::bit_width(times / std::max<uint64_t>(1, warps))), kTripClassMax);
}

uint64_t lane_class(const CoveredEdge& edge) {
  if (edge.threads == edge.warps) return 0;
  return edge.threads == edge.warps * kWarpLanes ? 2 : 1;
}

std::byte bit_of(uint32_t number) { return std::byte{1} << (number % 8); }

}  // namespace

std::vector<uint32_t> features_of(const LaunchCoverage& reached) {
  std::vector<uint32_t> features;
  for (const CoveredBlock& block : reached.blocks) {
    if (block.threads > 0) features.push_back(feature(block.id));
  }
  for (const CoveredEdge& edge : reached.edges) {
    if (edge.threads == 0) continue;
    const uint64_t base = mixed(edge.id + 1);
    features.push_back(feature(base));
    features.push_back(feature(base + 16 + trip_class(edge.warps, reached.warps)));
    features.push_back(feature(base + 1 + lane_class(edge)));
  }
  std::ranges::sort(features);
  const auto [first, last] = std::ranges::unique(features);
  features.erase(first, last);
  return features;
}

ReachSet::ReachSet(std::vector<std::byte> bytes) : bits_(std::move(bytes)) {
  if (bits_.size() != kFeatures / 8) bits_.clear();
}

bool ReachSet::has_all(std::span<const uint32_t> features) const {
  if (bits_.empty()) return features.empty();
  return std::ranges::all_of(features, [&](uint32_t number) {
    return (bits_[number / 8] & bit_of(number)) != std::byte{0};
  });
}

size_t ReachSet::add(std::span<const uint32_t> features) {
  if (bits_.empty() && !features.empty()) bits_.resize(kFeatures / 8);
  size_t fresh = 0;
  for (const uint32_t number : features) {
    std::byte& byte = bits_[number / 8];
    if ((byte & bit_of(number)) == std::byte{0}) ++fresh;
    byte |= bit_of(number);
  }
  return fresh;
}

}  // namespace gpuemu
