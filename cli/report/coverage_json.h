// Private to this folder: formats coverage as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/report/op_coverage.h"

namespace gpuemu::cli {

struct CodecovLine {
  uint64_t hits = 0;
  std::string branches = {};  ///< Branches taken, such as "1/2"; "" if all or none were.
};
struct CodecovFile {
  std::string name;
  std::map<uint32_t, CodecovLine> lines;
};

/// Returns the document in Codecov's format, with `summary` among its messages unless it is empty.
std::string codecov_json(const std::vector<CodecovFile>& files, const std::string& summary = "");

/// Returns an object with covered, uncovered, configured_total and percent.
std::string op_coverage_json(const OpCoverage& coverage, double percent);

}  // namespace gpuemu::cli
