// What gpuemu.toml says beside sizes that not every launch ran with: such a launch may show a fault
// of the kernel.
#pragma once

#include <cstdint>
#include <string>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// A launch that rounds `dim` up to whole blocks is for sizes in between, too. Where the kernel
/// works at multiples of the block alone, it lacks the check of its tail: all sizes stay, so that
/// a test shows it. False where its sizes stay as they are.
bool keep_tails(const std::string& dim, ProposedKernel& kernel);

/// Notes what keeps the kernel from sizes that its dim leaves out: `why` with `refused`, "" where
/// nothing does.
void tell_refused(const std::string& dim, int64_t refused, const std::string& why,
                  ProposedKernel& kernel);

}  // namespace gpuemu::cli
