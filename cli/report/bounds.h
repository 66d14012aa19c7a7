// Prints reports of in-bounds proofs: which accesses of kernels stay inside their tensors.
#pragma once

#include <ostream>

#include "common/protocol/replies.gen.h"

namespace gpuemu::cli {

/// `all` includes the accesses that are proved, not only the others.
void print_bounds(const BoundsReportReply& report, bool all, std::ostream& out);

}  // namespace gpuemu::cli
