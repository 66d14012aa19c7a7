// The numbers that existing tools read from PTX text, line by line and without parsing it, so that
// theirs and ours agree (wire-protocol, section 3.7). Registers are virtual ones, of all kernels of
// the text together.
#pragma once

#include <string_view>

#include "common/protocol/artifacts.h"

namespace gpuemu {

/// Whether any PTX directive stands in the text; what has none is no PTX.
bool looks_like_ptx(std::string_view text);

/// `kernel_name` is the first visible entry's, else "unknown"; `timestamp` is left 0.
ArtifactMetrics plain_metrics(std::string_view ptx);

}  // namespace gpuemu
