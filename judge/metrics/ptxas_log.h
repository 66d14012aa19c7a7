// Parses the output of `ptxas -v` to numbers per entry.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/protocol/artifacts.gen.h"

namespace gpuemu {

/// Returns the metrics by PTX name of the entry. Ignores unknown lines and members: ptxas adds some
/// with every release and omits those that are zero.
std::map<std::string, CompiledMetrics> read_ptxas_log(std::string_view log);

}  // namespace gpuemu
