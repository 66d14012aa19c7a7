// Tries a proposed launch on the emulator and settles by what it sees which tensors are read and
// written, their shapes, which sizes are allowed, and which integers are indices.
#pragma once

#include <string>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// `ptx` holds `entry`, the instance of `kernel` for its first dtype (float32 where it has none).
/// Chooses among the kernel's launches. Where no launch runs the kernel keeps what its text says,
/// and the answer is why; else "".
std::string settle(const std::string& ptx, const std::string& entry, ProposedKernel& kernel);

}  // namespace gpuemu::cli
