// Writes notes for gpuemu.toml about sizes with which some launches did not run: such a launch may
// show a fault of the kernel.
#pragma once

#include <cstdint>
#include <string>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// A launch that rounds `dim` up to whole blocks is meant for sizes in between, too. If the kernel
/// works only at multiples of the block, it lacks a check of its tail; all sizes are kept, so that
/// a test shows the fault. Returns false if its sizes do not change.
bool keep_tails(const std::string& dim, ProposedKernel& kernel);

/// Notes why the kernel fails at sizes that its dim leaves out: `why` with `refused`; does nothing
/// if it is "".
void tell_refused(const std::string& dim, int64_t refused, const std::string& why,
                  ProposedKernel& kernel);

}  // namespace gpuemu::cli
