// Prints the differences between two kernels.
#pragma once

#include <ostream>

#include "common/protocol/replies.gen.h"

namespace gpuemu::cli {

void print_kernel_comparison(const KernelComparisonReply& comparison, std::ostream& out);

}  // namespace gpuemu::cli
