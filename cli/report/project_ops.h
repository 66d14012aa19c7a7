// Prints the ops and kernels of gpuemu.toml, for `gpuemu ops`.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace gpuemu::cli {

/// The headers that a kernel's source includes, by the kernel's name.
using KernelHeaders = std::map<std::string, std::vector<std::string>>;

/// Prints one line per op, then one per kernel.
void print_project_ops(const Config& config, std::ostream& out);
/// Returns {"file", "ops": [...], "kernels": [...]}; docs/reference/cli.md describes the members.
std::string project_ops_json(const Config& config, const KernelHeaders& headers);

}  // namespace gpuemu::cli
