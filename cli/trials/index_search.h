// Finds by trials which integer tensors hold indices, and what limits them.
#pragma once

#include <map>
#include <set>
#include <string>

#include "cli/trials/observations.h"

namespace gpuemu::cli {

/// Rows of a table whose number no size gives: the number of values of its indices.
inline constexpr int64_t kTableRows = 64;

struct FoundIndices {
  std::map<std::string, std::string> limits;       ///< Dims whose values limit indices: "[64, 96]".
  std::multimap<std::string, std::string> tables;  ///< Tensors by the index that selects elements.
  std::set<std::string> chosen;                    ///< Tensors whose rows are selected by indices.
};

/// Sets the range of each index of `kernel`, and the shape of what it selects. `trial` runs
/// `kernel`.
FoundIndices find_indices(Trial& trial, const Observations& observed, ProposedKernel& kernel);

}  // namespace gpuemu::cli
