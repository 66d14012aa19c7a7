// What launches reached of a kernel: source lines, basic blocks, and the ways out of its branches,
// with those that nothing reached.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/profile/profile.h"

namespace gpuemu {

struct CoveredBlock {
  uint64_t id = 0;  ///< As BlockPlace has it.
  uint64_t threads = 0;
};

/// An edge between two blocks. Where the first has several of them it is one way of a branch.
struct CoveredEdge {
  uint64_t id = 0;
  std::string file;  ///< File of the branch, as in LineCount.
  uint32_t line = 0;
  bool is_branch = false;
  uint32_t branch = 0;   ///< Among the branches of its line, from 0, in the order of the code.
  uint32_t way = 0;      ///< Among those of its branch, from 0.
  uint32_t to_line = 0;  ///< Where it goes on, of the same file; 0 where that is another one.
  uint64_t warps = 0, threads = 0;
};

struct LaunchCoverage {
  uint64_t warps = 0;  ///< Warps that were launched.
  std::vector<LineCount> lines;
  std::vector<CoveredBlock> blocks;
  std::vector<CoveredEdge> edges;
};

/// Coverage of one launch of `entry`, without the functions of `others`: entries of the same module
/// that have nothing to do with it. Where lines were not counted, edges have no places either.
LaunchCoverage coverage_of(const Profile& profile, const std::string& entry,
                           std::span<const std::string> others, bool with_lines = true);
/// Adds the counts of another launch.
void merge_coverage(LaunchCoverage& to, const LaunchCoverage& from);

}  // namespace gpuemu
