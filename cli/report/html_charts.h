// Private to this folder: charts as inline SVG.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/ci.gen.h"

namespace gpuemu::cli {

/// Draws a bar, in per cent, for each metric of a kernel that changed; "" if none did.
std::string trend_chart(const ArtifactDiffSummary& summary);
/// Draws, as rows of a table, a line for each metric of a kernel that changed over time, oldest
/// left; "" if none did.
std::string trend_lines(const std::vector<KernelTrend>& trends);
/// Draws a bar filled to `part` of `all`. `name` is "yes" for something good, otherwise "no".
std::string share_bar(size_t part, size_t all, const char* name);

}  // namespace gpuemu::cli
