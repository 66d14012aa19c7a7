// Integers that mean nothing: what a kernel and a reference make of a NaN or of an infinity in an
// integer type is undefined in C and in CUDA, and NumPy gives the smallest number of the type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "judge/bounds/comparison.h"

namespace gpuemu {

struct UndefinedIntegers {
  std::vector<uint8_t> mask;  ///< One per element, 1 where it is not compared; empty: none is.
  std::string
      hint;  ///< Where elements are compared that may mean nothing: the reason, and what to do.
};

/// The reference of one output.
struct NamedReference {
  std::string name;
  TensorView values;
};
/// Finds elements of an output of integers that mean nothing, where an input of floats has a NaN or
/// an infinity: those whose reference is not finite, or is INT64_MIN, which NumPy makes of it; and
/// those that belong to an element of `floats` (the references of the op's float outputs) that is
/// not finite. An element belongs to those of the same leading dims. `has_to_match`: gpuemu.toml
/// writes a nan_policy that accepts no other float there, so that the latter are compared.
UndefinedIntegers undefined_integers(const Comparison& comparison,
                                     const std::vector<NamedReference>& floats, bool has_to_match);

}  // namespace gpuemu
