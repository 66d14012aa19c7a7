// Kernels on rows of different lengths, as of a sparse matrix: an array says where each row begins.
#pragma once

#include "cli/scaffold/propose.h"

namespace gpuemu::cli {

/// Where the text runs from `begin[row]` to `begin[row + 1]`: that `begin` ascends within what is
/// stored, how much is stored, and what the columns that are stored choose. No trial tells it, for
/// it follows from values. Leaves other kernels as they are.
void describe_row_pointers(ProposedKernel& kernel);

}  // namespace gpuemu::cli
