// Finds by trials which integer tensors hold indices, and what limits them.
#pragma once

#include <map>
#include <set>
#include <string>

#include "cli/proposals/observations.h"

namespace gpuemu::cli {

/// Rows of a table of which no size says how many it has: as many values as its indices may have.
inline constexpr int64_t kTableRows = 64;

struct FoundIndices {
  std::map<std::string, std::string> limits;       ///< Dims whose values limit indices: "[64, 96]".
  std::multimap<std::string, std::string> tables;  ///< Tensors by the index that chooses elements.
  std::set<std::string> chosen;                    ///< Tensors of which indices choose rows.
};

/// Gives each index of `kernel` its range, and what it chooses its shape. `trial` runs `kernel`.
FoundIndices find_indices(Trial& trial, const Observations& observed, ProposedKernel& kernel);

}  // namespace gpuemu::cli
