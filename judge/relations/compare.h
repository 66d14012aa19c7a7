// Two outputs of a kernel that must agree, bit for bit or within what rounding can do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/protocol/records.h"
#include "judge/bounds/comparison.h"

namespace gpuemu {

/// What a relation demands of one output.
struct Agreement {
  std::string output;
  const Tensor& got;
  const Tensor& expected;          ///< Has the shape of `got`.
  std::vector<bool> free = {};     ///< Elements about which the relation says nothing; or none.
  std::vector<double> slack = {};  ///< Allowed beyond the bound, per element; or none.
  ValidationPolicy policy = {};    ///< For the bound; its invariants do not matter.
  const NamedTensors* inputs = nullptr;  ///< Those of the run that gave `got`.
  std::string reference_input = {};
};

/// The message of the failure says place, both values, how many elements and their pattern. A zero
/// of either sign and a NaN of any payload are one value.
std::optional<ValidationFailure> find_disagreement(const Agreement& agreement);

/// Nothing may differ.
ValidationPolicy exact_policy();

}  // namespace gpuemu
