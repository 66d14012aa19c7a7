// What `gpuemu open` found, as a JSON document.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/archive/archive.h"
#include "common/numeric/dtype.h"

namespace gpuemu::cli {

using Kinds = std::set<std::string>;  ///< Names of kinds of finding; empty: the case passes.

/// A case whose verdict is another one here.
struct DifferingCase {
  std::string op;
  DType dtype = DType::Float32;
  uint64_t seed = 0;
  Kinds there, here;
};

/// What became of the failing cases of an archive when they ran here.
struct ReplayOutcome {
  uint64_t cases = 0, same = 0, not_replayed = 0;
  std::vector<DifferingCase> differing;
};

/// Files as the caller named them.
struct OpenedPlaces {
  std::string archive, folder;
};

/// `outcome`: nothing where nothing was run.
std::string opened_json(const RunArchive& archive, const OpenedPlaces& places,
                        const std::optional<ReplayOutcome>& outcome);

}  // namespace gpuemu::cli
