// Tallies as a Markdown table and as JSON.
#pragma once

#include <string>
#include <vector>

#include "tests/fidelity/tally.h"

namespace gpuemu::fidelity {

struct Report {
  std::string left, right;  ///< Titles of the sides.
  Amount amount;
  std::vector<Tally> tallies;
  std::vector<std::string> problems;  ///< Kernels that could not be compared.

  bool identical() const;
};

std::string markdown(const Report& report);
std::string json(const Report& report);

}  // namespace gpuemu::fidelity
