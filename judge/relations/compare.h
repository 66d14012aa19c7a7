// Compares two outputs of a kernel that must agree, bit for bit or within rounding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/protocol/records.gen.h"
#include "judge/bounds/comparison.h"

namespace gpuemu {

/// What a relation requires of one output.
struct Agreement {
  std::string output;
  const Tensor& got;
  const Tensor& expected;          ///< Has the shape of `got`.
  std::vector<bool> free = {};     ///< Elements that the relation does not constrain; may be empty.
  std::vector<double> slack = {};  ///< Allowed beyond the bound, per element; may be empty.
  ValidationPolicy policy = {};    ///< For the bound; its invariants are ignored.
  const NamedTensors* inputs = nullptr;  ///< The inputs of the run that gave `got`.
  std::string reference_input = {};
};

/// Returns the disagreement, if any. Its message gives the place, both values, the number of
/// elements and their pattern. Zeros of either sign are equal, and so are all NaNs.
std::optional<ValidationFailure> find_disagreement(const Agreement& agreement);

/// Returns a policy that allows no difference.
ValidationPolicy exact_policy();

}  // namespace gpuemu
