// Proposes, from the text, properties of memory that a kernel does not simply overwrite.
#pragma once

#include <string>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// Returns whether the text writes to the tensor, which a trial does not show if the written value
/// equals the old one.
bool is_written_in(const std::string& body, const std::string& tensor);

/// Marks outputs as scratch memory if their names say that blocks leave data there for other
/// blocks, and another output is the result.
void mark_scratch(ProposedKernel& kernel);

/// If atomicCAS claims a slot of a table at an index modulo a size, that size is the table's, and
/// must be at least the first other size, because a full table has no slot for the last key. Leaves
/// other kernels unchanged.
void describe_hash_table(ProposedKernel& kernel);

/// If threads take places in an output from a counter, as a compaction does, the elements have no
/// order, and those behind the last one keep what they were: 0. Leaves other kernels unchanged.
void describe_compaction(ProposedKernel& kernel);

}  // namespace gpuemu::cli
