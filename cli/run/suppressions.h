// Findings that a project knows and accepts: a TOML file of [[suppress]] tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/run_record/run_record.h"

namespace gpuemu::cli {

struct Suppression {
  std::string kind, kernel, file, line, call, test;  ///< Globs; "" says nothing.
  std::string reason;
  std::string place;  ///< "known.toml:3", for messages.
  uint64_t matched = 0;
};

/// InvalidArgument with file and line of what is wrong in it.
Result<std::vector<Suppression>> read_suppressions(const std::string& path);

/// Marks the findings that an entry matches, and counts at the entry.
void suppress(std::vector<RunFinding>& findings, std::vector<Suppression>& entries);

/// Entries for these findings, to be given reasons.
std::string suppression_template(const std::vector<RunFinding>& findings);

}  // namespace gpuemu::cli
