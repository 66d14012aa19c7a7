// Finds undefined integers: converting a NaN or infinity to an integer is undefined in C and in
// CUDA, and NumPy gives the smallest number of the type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "judge/bounds/comparison.h"

namespace gpuemu {

struct UndefinedIntegers {
  std::vector<uint8_t> mask;  ///< One per element; 1 if it is not compared. Empty: all are
                              ///< compared.
  std::string
      hint;  ///< Set if elements are compared that may be undefined: the reason, and what to do.
};

/// The reference of one output.
struct NamedReference {
  std::string name;
  TensorView values;
};
/// Finds undefined elements of an integer output, if a float input has a NaN or infinity. These are
/// elements whose reference is not finite or is INT64_MIN (NumPy's result), and elements that
/// belong to a non-finite element of `floats`, the references of the op's float outputs. An element
/// belongs to those with the same leading dims. `has_to_match`: the nan_policy in gpuemu.toml
/// accepts no other float there, so elements of the second kind are compared.
UndefinedIntegers undefined_integers(const Comparison& comparison,
                                     const std::vector<NamedReference>& floats, bool has_to_match);

}  // namespace gpuemu
