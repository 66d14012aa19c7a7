// The report of in-bounds proofs as text: which accesses of kernels stay inside their tensors.
#pragma once

#include <ostream>

#include "common/protocol/replies.h"

namespace gpuemu::cli {

/// `all`: the accesses that are proved too, not the others alone.
void print_bounds(const BoundsReportReply& report, bool all, std::ostream& out);

}  // namespace gpuemu::cli
