// Reports op coverage in the formats of existing tools.
#pragma once

#include <string>
#include <vector>

namespace gpuemu::cli {

struct OpCoverage {
  std::vector<std::string> covered, uncovered;
  std::vector<std::string>
      kernels;  ///< Kernels whose lines can be counted; used by the text format.
};

/// `format` is codecov, json or text.
std::string op_coverage_text(const OpCoverage& coverage, const std::string& format);

}  // namespace gpuemu::cli
