// The registers that ptxas gives the entries of a PTX text.
#pragma once

#include <map>
#include <string>

namespace gpuemu {

/// By entry, for a GPU of compute capability `sm`, as in 80. Empty without ptxas, and for a text
/// that it does not compile for that GPU: nothing is known then.
std::map<std::string, int> registers_by_ptxas(const std::string& ptx, int sm);

}  // namespace gpuemu
