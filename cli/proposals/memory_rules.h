// Proposes what the text says of memory that a kernel does not simply overwrite.
#pragma once

#include <string>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// Whether the text writes to the tensor: what is written may be what was there.
bool is_written_in(const std::string& body, const std::string& tensor);

/// Takes outputs whose names say that blocks leave something there for other blocks for scratch
/// memory, beside an output that is the result.
void mark_scratch(ProposedKernel& kernel);

/// Where atomicCAS claims a place of a table that is found modulo a size, that size is the table's,
/// and is at least the first other one: a full table has no place for the last key. Leaves other
/// kernels as they are.
void describe_hash_table(ProposedKernel& kernel);

}  // namespace gpuemu::cli
