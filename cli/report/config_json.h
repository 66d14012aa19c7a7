// Configuration problems as JSON, for editors and CI.
#pragma once

#include <string>
#include <vector>

#include "common/config/config.h"

namespace gpuemu::cli {

/// {"problems":[{"file","line","column","key","message"}]}
std::string problems_json(const std::vector<ConfigProblem>& problems);

}  // namespace gpuemu::cli
