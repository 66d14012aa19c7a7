// Proposes rules for inputs that hold indices in addition to their range: `distinct` and `sorted`.
#pragma once

#include <map>
#include <set>
#include <string>

#include "cli/proposals/propose.h"
#include "cli/trials/probe.h"

namespace gpuemu::cli {

/// If the text loops from `begin[row]` to `begin[row + 1]`, proposes a sorted `begin`, a size for
/// the stored elements and a range for the stored columns. Trials cannot show these, because they
/// depend on values. Returns false for other kernels, which it leaves unchanged.
bool describe_row_pointers(ProposedKernel& kernel);
/// Returns whether the row pointers and the outputs have shapes that depend on a size. A kernel
/// that compares its row with no size accesses a row for each thread, and trials then show the
/// size of the block.
bool rows_follow_sizes(const ProposedKernel& kernel);
/// Returns whether the kernel runs with rows as described, which hold numbers that no trial before
/// had.
bool runs_as_described(Probe& probe, const std::string& entry, const ProposedKernel& kernel);

/// Marks indices of rows that threads overwrite as distinct: `tables` has the tensors whose rows an
/// index selects. Excludes rows that threads also read: two threads that update one row race if the
/// kernel lacks an atomic, and a test must find that.
void mark_distinct(ProposedKernel& kernel, const std::multimap<std::string, std::string>& tables,
                   const std::set<std::string>& overwritten);

}  // namespace gpuemu::cli
