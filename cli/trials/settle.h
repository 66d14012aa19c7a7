// Tries a proposed launch on the emulator, and determines from the result which tensors are read
// and written, their shapes, which sizes are allowed, and which integers are indices.
#pragma once

#include <atomic>
#include <string>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// `ptx` contains `entry`, the instance of `kernel` for its first dtype (float32 if it has none).
/// Chooses one of the kernel's launches. If no launch runs, the kernel keeps what its text says.
/// Returns why no launch ran; "" if one did. Ends soon after `stop` becomes true, if it is given;
/// the result is then worth nothing.
std::string settle(const std::string& ptx, const std::string& entry, ProposedKernel& kernel,
                   const std::atomic<bool>* stop = nullptr);

}  // namespace gpuemu::cli
