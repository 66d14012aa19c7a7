// Proposes a configuration for the kernel of a PTX file, and tries it on the emulator.
#pragma once

#include <filesystem>
#include <string>

#include "cli/scaffold/read_sources.h"
#include "common/protocol/artifacts.gen.h"

namespace gpuemu::cli {

/// Adds the kernel that `metrics` describe, or why it is left out. `file` is relative to `folder`.
void add_ptx_kernel(const PtxMetrics& metrics, const std::filesystem::path& folder,
                    const std::string& file, SourceKernels& kernels);

}  // namespace gpuemu::cli
