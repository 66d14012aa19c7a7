// A function between a caller and a callee whose prototypes differ.
#pragma once

#include <string>

#include "runtime/ptx/link/symbols_of.h"

namespace gpuemu::ptx {

/// Returns the PTX of a function `name` with the prototype `declared`. It calls the function
/// `defined`, whose parameters it gives the bytes of its own in their order. What one of the two
/// lacks is undefined, as the register that a GPU takes it from.
std::string stand_in(const std::string& name, const LinkSymbol& declared,
                     const LinkSymbol& defined);

}  // namespace gpuemu::ptx
