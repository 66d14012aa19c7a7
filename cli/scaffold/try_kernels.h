// Compiles proposed kernels and tries them on the emulator, on all processors.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/scaffold/read_sources.h"
#include "common/base/result.h"
#include "runtime/compile/compile.h"

namespace gpuemu::cli {

/// The kernels of a source, and what became of each.
struct FileToTry {
  FileToTry(std::filesystem::path source, std::vector<std::string> dirs,
            std::vector<ProposedKernel> kernels);

  std::filesystem::path path;
  std::vector<std::string> include_dirs;
  std::vector<ProposedKernel> proposed;
  std::vector<std::string> entries;  ///< By kernel: its instance for the first dtype.
  // By kernel; neither is set for a kernel that was not reached.
  std::vector<std::optional<ProposedKernel>> settled;
  std::vector<std::optional<LeftOut>> left_out;
};

/// Kernels of a source that is compiled come before sources that are not, so that a run that
/// `stop` ends keeps the most.
void try_kernels(const std::filesystem::path& folder, std::vector<FileToTry>& files,
                 const Progress& progress, const std::atomic<bool>& stop);

/// Returns the errors of the source without making code, which takes a fraction of the time.
std::string first_errors(const std::filesystem::path& path,
                         const std::vector<std::string>& include_dirs,
                         const std::atomic<bool>& stop);

Result<CompiledModule> compile_for_trial(const std::filesystem::path& path,
                                         const std::vector<std::string>& include_dirs,
                                         const std::vector<std::string>& entries,
                                         const std::atomic<bool>* stop = nullptr);

}  // namespace gpuemu::cli
