// Determines how many registers ptxas allocates for the entries of a PTX text.
#pragma once

#include <map>
#include <string>

namespace gpuemu {

/// Returns the registers by entry, for a GPU of compute capability `sm`, such as 80. Empty without
/// ptxas, or if it cannot compile the text for that GPU.
std::map<std::string, int> registers_by_ptxas(const std::string& ptx, int sm);

}  // namespace gpuemu
