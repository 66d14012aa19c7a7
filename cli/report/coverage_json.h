// Private to this folder: coverage as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/report/op_coverage.h"

namespace gpuemu::cli {

struct CodecovLine {
  uint64_t hits = 0;
  std::string branches = {};  ///< "1/2": some of the line's branches were taken; "": all, or none.
};
struct CodecovFile {
  std::string name;
  std::map<uint32_t, CodecovLine> lines;
};

/// Codecov's format. `summary` goes into its messages; "": there are none.
std::string codecov_json(const std::vector<CodecovFile>& files, const std::string& summary = "");

/// {"covered", "uncovered", "configured_total", "percent"}
std::string op_coverage_json(const OpCoverage& coverage, double percent);

}  // namespace gpuemu::cli
