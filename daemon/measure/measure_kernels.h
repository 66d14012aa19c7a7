// Measuring kernels and judging them: compiler, assembler and disassembler in, verdicts out.
#pragma once

#include <atomic>
#include <functional>
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
  std::string cache_folder;  ///< Where compiled PTX and machine code are kept.
  /// When it turns true compilers are ended, and the results are errors. Outlives the calls.
  const std::atomic<bool>* cancel = nullptr;
};

/// Compiles what the calls below want of these kernels: those of one source together. What does not
/// compile is theirs to tell. `tell` hears how many are ready.
void compile_to_inspect(const Config& config, const std::vector<const KernelConfig*>& kernels,
                        const InspectOptions& options, const std::function<void(size_t)>& tell);

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
