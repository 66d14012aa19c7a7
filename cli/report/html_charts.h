// Private to this folder: charts as SVG that stands inside a page.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/ci.h"

namespace gpuemu::cli {

/// A bar per number of a kernel that is not what it was, in per cent; "" when all are.
std::string trend_chart(const ArtifactDiffSummary& summary);
/// A line per number of a kernel that was not always the same, oldest left, as rows of a table; ""
/// where every number was.
std::string trend_lines(const std::vector<KernelTrend>& trends);
/// A bar that is filled as far as `part` is of `all`. `name`: "yes" for what is good, "no".
std::string share_bar(size_t part, size_t all, const char* name);

}  // namespace gpuemu::cli
