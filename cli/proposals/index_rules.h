// Proposes what inputs that hold indices keep to beside their range: `distinct` and `sorted`.
#pragma once

#include <map>
#include <set>
#include <string>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// Where the text loops from `begin[row]` to `begin[row + 1]`, proposes a sorted `begin`, a size
/// for the stored elements and a range for the stored columns. They follow from values, which no
/// trial shows. Leaves other kernels as they are.
void describe_row_pointers(ProposedKernel& kernel);

/// Marks indices of rows that threads overwrite as distinct: `tables` has the tensors whose rows an
/// index chooses. Not those of rows that threads also read: two threads that update one row race
/// where the kernel lacks an atomic, and that is to be found.
void mark_distinct(ProposedKernel& kernel, const std::multimap<std::string, std::string>& tables,
                   const std::set<std::string>& overwritten);

}  // namespace gpuemu::cli
