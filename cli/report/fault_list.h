// Lists stored failures for users: one entry for each fault, however many cases have it.
#pragma once

#include <string>
#include <vector>

#include "cli/findings/finding_blocks.h"
#include "common/protocol/records.gen.h"

namespace gpuemu::cli {

/// Lists the ops in the order of `failures`, with the faults of each: what is wrong and where, how
/// many failures have it, and the smallest case with its seed. The last line counts failures that
/// pass now.
///
///   gemm OutOfBounds at k.cu:7, 63 cases: reads 4 bytes at byte offset 64 of 'a', which has 64
///   bytes
///     smallest: K=16 M=1 N=1 values=normal, seed 2839897696999339074
std::string fault_list(const std::vector<ValidationResult>& failures, const BlockStyle& style);

}  // namespace gpuemu::cli
