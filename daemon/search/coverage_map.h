// What cases have reached of kernels, added up. Order does not matter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/protocol/evidence.gen.h"
#include "runtime/profile/coverage.h"

namespace gpuemu {

/// What tells one execution from another, as numbers: each block and edge that ran, each edge with
/// how often a warp took it (0, 1, 2-3, 4-7, ... times) and whether its warps were full, partial or
/// single threads. Sorted, each once; the same in every process for the same PTX.
std::vector<uint64_t> features_of(const LaunchCoverage& reached);

class CoverageMap {
 public:
  /// `source` is the file of lines that have none of their own (PTX without line information).
  void add(const LaunchCoverage& reached, const std::string& source);

  bool empty() const { return blocks_.empty(); }
  uint64_t blocks() const { return reached_of(blocks_); }
  uint64_t blocks_total() const { return blocks_.size(); }
  uint64_t edges() const { return reached_of(edges_); }
  uint64_t edges_total() const { return edges_.size(); }
  /// In order of file and line, those that nothing reached among them.
  std::vector<CoveredLine> lines() const;
  /// In order of file, line, branch and way.
  std::vector<BranchWay> branches() const;

 private:
  using Threads = std::map<uint64_t, uint64_t>;  // By id.
  static uint64_t reached_of(const Threads& places);

  Threads blocks_, edges_;
  std::map<std::pair<std::string, uint32_t>, uint64_t> lines_;
  std::map<std::tuple<std::string, uint32_t, uint32_t, uint32_t>, BranchWay> branches_;
};

}  // namespace gpuemu
