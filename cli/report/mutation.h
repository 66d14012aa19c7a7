// What came of planted mistakes, for people.
#pragma once

#include <ostream>

#include "common/protocol/replies.h"

namespace gpuemu::cli {

/// `all`: the mutants that were killed too, not the survivors alone.
void print_mutation(const MutationReportReply& report, bool all, std::ostream& out);

}  // namespace gpuemu::cli
