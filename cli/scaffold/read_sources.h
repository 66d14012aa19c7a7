// Reads kernels from a folder's CUDA sources, and proposes for each a configuration that was tried
// on the emulator.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// A kernel or a file that is left out, and what to do about it.
struct LeftOut {
  std::string file, kernel;  ///< If `kernel` is empty, the whole file is left out.
  std::string why;
};

/// Returns one line for each group of adjacent entries with the same reason: "k.cu: tiled is left
/// out: ...", "k.cu: first, second and 9 more are left out: ...".
std::vector<std::string> told(const std::vector<LeftOut>& left_out);

struct SourceKernels {
  std::vector<ProposedKernel> kernels;
  std::vector<LeftOut> left_out;
  std::vector<std::string> include_dirs;  ///< Relative to the folder if they are in it.
};

struct SourceFiles {
  std::filesystem::path folder;
  std::vector<std::string> cuda;          ///< Relative to the folder.
  std::vector<std::string> headers;       ///< Relative to the folder: .h, .cuh, .hpp.
  std::vector<std::string> include_dirs;  ///< Absolute folders that the user gave.
};

/// Called with what is done now, and how many kernels are done, out of how many are known; by one
/// thread at a time.
using Progress = std::function<void(const std::string& what, size_t done, size_t total)>;
/// Compiles and tries the kernels on all processors. Ends soon after `stop` becomes true; results
/// until then are kept.
SourceKernels read_sources(const SourceFiles& files, const Progress& progress,
                           const std::atomic<bool>& stop);

}  // namespace gpuemu::cli
