// Private to this folder: the faults of a run as sections of a page, their pictures first.
#pragma once

#include <string>

#include "cli/report/case_pictures.h"
#include "common/protocol/ci.h"

namespace gpuemu::cli {

/// One section per op, kind and line; "" without failing cases. Source files below `folder` are
/// named relative to it.
std::string findings_sections(const CiRunSummary& summary, const CasePictures& pictures,
                              const std::string& folder);

}  // namespace gpuemu::cli
