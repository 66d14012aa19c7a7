// Measures and judges kernels with the compiler, the assembler and the disassembler.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/config/config.h"
#include "common/protocol/artifacts.gen.h"

namespace gpuemu {

struct InspectOptions {
  std::vector<std::string> archs;  ///< Never empty.
  uint32_t threads = 0;  ///< Threads per block; 0: from the launches or from .reqntid, .maxntid.
  uint64_t dynamic_shared_bytes = 0;
  std::string cache_folder;  ///< Stores compiled PTX and machine code.
  /// Once true, running compilers are killed and the results are errors. Outlives the calls.
  const std::atomic<bool>* cancel = nullptr;
};

/// Compiles what the calls below need of these kernels: those of one source together. Those calls
/// report compile errors. `tell` gets the number of kernels that are ready.
void compile_to_inspect(const Config& config, const std::vector<const KernelConfig*>& kernels,
                        const InspectOptions& options, const std::function<void(size_t)>& tell);

/// Measures a kernel. What cannot be measured gives a result with `error` set, so that one broken
/// file does not hide the rest. `config` outlives the calls.
std::vector<LintResult> inspect_kernel(const Config& config, const KernelConfig& kernel,
                                       const InspectOptions& options);
/// Returns a hash of what is measured: the compiled text for every architecture and dtype, or the
/// file's bytes. Fails wherever inspect_kernel would.
Result<std::string> source_key(const Config& config, const KernelConfig& kernel,
                               const InspectOptions& options);
/// Measures a file: .cu, .cuh, .ptx, or anything that cuobjdump reads.
std::vector<LintResult> inspect_file(const Config& config, const std::string& path,
                                     const InspectOptions& options);

}  // namespace gpuemu
