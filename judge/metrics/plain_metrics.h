// Computes the numbers that existing tools read from PTX text line by line without parsing it, so
// that both agree (wire-protocol, section 3.7). Registers are virtual, over all kernels of the
// text.
#pragma once

#include <string_view>

#include "common/protocol/artifacts.gen.h"

namespace gpuemu {

/// Returns whether the text contains any PTX directive.
bool looks_like_ptx(std::string_view text);

/// `kernel_name` is that of the first visible entry, else "unknown"; `timestamp` stays 0.
ArtifactMetrics plain_metrics(std::string_view ptx);

}  // namespace gpuemu
