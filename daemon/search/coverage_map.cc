#include "daemon/search/coverage_map.h"

#include <algorithm>
#include <bit>

namespace gpuemu {
namespace {

constexpr uint64_t kWarpLanes = 32;
// Loops that run longer than that are no news.
constexpr uint64_t kTripClassMax = 8;

/// SplitMix64's mixing step: ids and classes must not cancel each other.
uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

uint64_t trip_class(uint64_t times, uint64_t warps) {
  return std::min<uint64_t>(
      static_cast<uint64_t>(std::bit_width(times / std::max<uint64_t>(1, warps))), kTripClassMax);
}

uint64_t lane_class(const CoveredEdge& edge) {
  if (edge.threads == edge.warps) return 0;
  return edge.threads == edge.warps * kWarpLanes ? 2 : 1;
}

}  // namespace

std::vector<uint64_t> features_of(const LaunchCoverage& reached) {
  std::vector<uint64_t> features;
  for (const CoveredBlock& block : reached.blocks) {
    if (block.threads > 0) features.push_back(mixed(block.id));
  }
  for (const CoveredEdge& edge : reached.edges) {
    if (edge.threads == 0) continue;
    const uint64_t base = mixed(edge.id + 1);
    features.push_back(base);
    features.push_back(mixed(base + 16 + trip_class(edge.warps, reached.warps)));
    features.push_back(mixed(base + 1 + lane_class(edge)));
  }
  std::ranges::sort(features);
  const auto [first, last] = std::ranges::unique(features);
  features.erase(first, last);
  return features;
}

void CoverageMap::add(const LaunchCoverage& reached, const std::string& source) {
  for (const CoveredBlock& block : reached.blocks) blocks_[block.id] += block.threads;
  for (const LineCount& line : reached.lines) {
    const std::string& file = line.file.empty() ? source : line.file;
    if (line.line > 0) lines_[{file, line.line}] += line.count.threads;
  }
  for (const CoveredEdge& edge : reached.edges) {
    edges_[edge.id] += edge.threads;
    if (!edge.is_branch) continue;
    const std::string& file = edge.file.empty() ? source : edge.file;
    BranchWay& way = branches_[{file, edge.line, edge.branch, edge.way}];
    const uint64_t hits = way.hits + edge.threads;
    way = {file, edge.line, edge.branch, edge.way, edge.to_line, hits};
  }
}

uint64_t CoverageMap::reached_of(const Threads& places) {
  return static_cast<uint64_t>(
      std::ranges::count_if(places, [](const auto& place) { return place.second > 0; }));
}

std::vector<CoveredLine> CoverageMap::lines() const {
  std::vector<CoveredLine> all;
  for (const auto& [place, hits] : lines_) all.push_back({place.first, place.second, hits});
  return all;
}

std::vector<BranchWay> CoverageMap::branches() const {
  std::vector<BranchWay> all;
  for (const auto& [place, way] : branches_) all.push_back(way);
  return all;
}

}  // namespace gpuemu
