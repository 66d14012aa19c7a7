// Formats configuration problems as JSON, for editors and CI.
#pragma once

#include <string>
#include <vector>

#include "common/config/config.h"

namespace gpuemu::cli {

/// Returns {"problems": [...], "warnings": [...]} with objects
/// {"file","line","column","end_line","end_column","key","message"}. The end is the position after
/// the last character; without a file all four are 0.
std::string problems_json(const ConfigResult& loaded);

}  // namespace gpuemu::cli
