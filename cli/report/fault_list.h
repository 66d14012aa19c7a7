// Stored failures as a person reads them: one entry for each fault, however many cases have it.
#pragma once

#include <string>
#include <vector>

#include "cli/findings/finding_blocks.h"
#include "common/protocol/records.h"

namespace gpuemu::cli {

/// Op by op in the order of `failures`, the faults of each: what is wrong and where, how many of
/// the failures have it, the smallest case with its seed. Counts those that pass now in a last
/// line.
///
///   gemm OutOfBounds at k.cu:7, 63 cases: reads 4 bytes at byte offset 64 of 'a', which has 64
///   bytes
///     smallest: K=16 M=1 N=1 values=normal, seed 2839897696999339074
std::string fault_list(const std::vector<ValidationResult>& failures, const BlockStyle& style);

}  // namespace gpuemu::cli
