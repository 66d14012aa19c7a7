// Reports the results for planted mistakes.
#pragma once

#include <ostream>

#include "common/protocol/replies.gen.h"

namespace gpuemu::cli {

/// `all` includes the mutants that were killed, not only the survivors.
void print_mutation(const MutationReportReply& report, bool all, std::ostream& out);

}  // namespace gpuemu::cli
