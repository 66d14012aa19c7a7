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

class CoverageMap {
 public:
  /// `source` is the file of lines that have none of their own (PTX without line information).
  void add(const LaunchCoverage& reached, const std::string& source);

  bool empty() const { return blocks_.empty(); }
  uint64_t blocks() const { return reached_of(blocks_); }
  uint64_t blocks_total() const { return blocks_.size(); }
  uint64_t edges() const { return reached_of(edges_); }
  uint64_t edges_total() const { return edges_.size(); }
  /// Ids of all that there are, sorted.
  std::vector<uint64_t> block_ids() const;
  std::vector<uint64_t> edge_ids() const;
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
