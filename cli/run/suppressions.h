// Reads and applies suppressions: TOML files that list the findings a project accepts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/run_record/run_record.h"

namespace gpuemu::cli {

struct Suppression {
  std::string kind, kernel, file, line, call, test;  ///< Globs; "" matches everything.
  std::string reason;
  std::string place;  ///< "known.toml:3", for messages.
  uint64_t matched = 0;
};

/// Reads a file of [[suppress]] tables. NotFound or Io when it cannot be read; InvalidArgument
/// names the file and line that is wrong.
Result<std::vector<Suppression>> read_suppressions(const std::string& path);

/// Marks every finding that an entry matches, and counts the matches of each entry.
void suppress(std::vector<RunFinding>& findings, std::vector<Suppression>& entries);

/// Returns a file with an entry for each finding that is not suppressed; the reasons are empty.
std::string suppression_template(const std::vector<RunFinding>& findings);

}  // namespace gpuemu::cli
