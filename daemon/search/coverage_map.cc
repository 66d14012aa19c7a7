#include "daemon/search/coverage_map.h"

#include <algorithm>

namespace gpuemu {

namespace {

std::vector<uint64_t> ids_of(const std::map<uint64_t, uint64_t>& places) {
  std::vector<uint64_t> ids;
  for (const auto& [id, threads] : places) ids.push_back(id);
  return ids;
}

}  // namespace

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

std::vector<uint64_t> CoverageMap::block_ids() const { return ids_of(blocks_); }

std::vector<uint64_t> CoverageMap::edge_ids() const { return ids_of(edges_); }

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
