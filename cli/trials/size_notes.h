// Writes notes for gpuemu.toml about sizes with which some launches did not run: such a launch may
// show a fault of the kernel.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// Decides about the sizes of which only multiples of the block ran, if the launch rounds them up.
/// Host code that rounds one up launches the sizes in between, too, and a kernel that compares an
/// index with it is meant for them, unless host code checks it: all sizes are kept, so that a test
/// shows the fault. Otherwise the kernel is meant for whole blocks, and its sizes are multiples.
/// Returns those sizes.
std::set<std::string> settle_tails(const std::vector<std::string>& dims, ProposedKernel& kernel);

/// Doubts tensors that have an element more than a size that an index can equal, and keeps the
/// block among the values of that size. Returns those sizes.
std::set<std::string> tell_one_more(ProposedKernel& kernel);

/// Notes why the kernel fails at sizes that its dim leaves out: `why` with `refused`; does nothing
/// if it is "".
void tell_refused(const std::string& dim, int64_t refused, const std::string& why,
                  ProposedKernel& kernel);

}  // namespace gpuemu::cli
