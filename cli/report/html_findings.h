// Private to this folder: the faults of a run as sections of a page, each beginning with its
// pictures.
#pragma once

#include <string>

#include "cli/report/case_pictures.h"
#include "common/protocol/ci.gen.h"

namespace gpuemu::cli {

/// Returns one section per op, kind and line; "" without failing cases. Source files below `folder`
/// are shown relative to it.
std::string findings_sections(const CiRunSummary& summary, const CasePictures& pictures,
                              const std::string& folder);

}  // namespace gpuemu::cli
