// Writes the findings of `gpuemu run` as documents for other tools.
#pragma once

#include <string>

#include "runtime/run_record/run_lines.h"

namespace gpuemu::cli {

/// Returns SARIF 2.1.0: a result for each finding, suppressed ones marked, with its stacks as code
/// flows. Paths below `folder` are relative to it.
std::string run_sarif(const RunRecords& records, const RunProgram& program,
                      const std::string& folder);

/// Returns JUnit XML: a test case for each kernel, under pytest for each test that launched one,
/// and for each driver function that was misused outside a test. A case fails for findings that are
/// neither suppressed nor notes.
std::string run_junit(const RunRecords& records, const RunProgram& program);

}  // namespace gpuemu::cli
