// Configuration problems as JSON, for editors and CI.
#pragma once

#include <string>
#include <vector>

#include "common/config/config.h"

namespace gpuemu::cli {

/// {"problems": [...], "warnings": [...]} of {"file","line","column","end_line","end_column","key",
/// "message"}. The end is behind the last character; without a file all four are 0.
std::string problems_json(const ConfigResult& loaded);

}  // namespace gpuemu::cli
