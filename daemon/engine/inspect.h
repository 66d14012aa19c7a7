// Measuring kernels and judging them: compiler, assembler and disassembler in, verdicts out.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/config/config.h"
#include "common/protocol/artifacts.h"

namespace gpuemu {

struct InspectOptions {
  std::vector<std::string> archs;  ///< Never empty.
  uint32_t threads = 0;            ///< Per block; 0: from the launches or from .reqntid, .maxntid.
  uint64_t dynamic_shared_bytes = 0;
  std::string cache_folder;  ///< Of compiled PTX.
};

/// What cannot be measured is a result with `error` set, so that one broken file does not hide the
/// rest. `config` outlives the calls.
std::vector<LintResult> inspect_kernel(const Config& config, const KernelConfig& kernel,
                                       const InspectOptions& options);
/// A hash of what is measured: the compiled text for every architecture and dtype, or the file's
/// bytes. Fails where inspect_kernel would.
Result<std::string> source_key(const Config& config, const KernelConfig& kernel,
                               const InspectOptions& options);
/// `path`: .cu, .cuh, .ptx, or anything that cuobjdump reads.
std::vector<LintResult> inspect_file(const Config& config, const std::string& path,
                                     const InspectOptions& options);

}  // namespace gpuemu
