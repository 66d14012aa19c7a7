// The result of `gpuemu open` as a JSON document.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/archive/archive.h"
#include "common/numeric/dtype.h"

namespace gpuemu::cli {

using Kinds = std::set<std::string>;  ///< Names of kinds of findings; empty: the case passes.

/// A case with a different verdict on this host.
struct DifferingCase {
  std::string op;
  DType dtype = DType::Float32;
  uint64_t seed = 0;
  Kinds there, here;
};

/// The results of running an archive's failing cases on this host.
struct ReplayOutcome {
  uint64_t cases = 0, same = 0, not_replayed = 0;
  std::vector<DifferingCase> differing;
};

/// Files, as the caller named them.
struct OpenedPlaces {
  std::string archive, folder;
};

/// `outcome` is nothing if no case was run.
std::string opened_json(const RunArchive& archive, const OpenedPlaces& places,
                        const std::optional<ReplayOutcome>& outcome);

}  // namespace gpuemu::cli
