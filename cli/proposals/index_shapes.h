// Shapes of tensors as the index expressions of a kernel's text show them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// Returns the shape of each tensor whose index names a size for every axis: [N, C, W] for
/// `x[(n * C + c) * W + w]` if the text also shows that n is below N. By the name in gpuemu.toml.
std::map<std::string, std::vector<std::string>> index_shapes(const std::string& body,
                                                             const Definitions& known,
                                                             const ProposedKernel& kernel);

}  // namespace gpuemu::cli
