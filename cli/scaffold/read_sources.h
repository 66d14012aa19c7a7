// Reads kernels from a folder's CUDA sources, and proposes for each a configuration that was tried
// on the emulator.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// A kernel or a file that is left out, and what to do about it.
struct LeftOut {
  std::string what;  ///< "src/k.cu: tiled"
  std::string why;
};

struct SourceKernels {
  std::vector<ProposedKernel> kernels;
  std::vector<LeftOut> left_out;
  std::vector<std::string> include_dirs;  ///< Relative to the folder if they are in it.
};

struct SourceFiles {
  std::filesystem::path folder;
  std::vector<std::string> cuda;          ///< Relative to the folder.
  std::vector<std::string> headers;       ///< Likewise: .h, .cuh, .hpp.
  std::vector<std::string> include_dirs;  ///< Absolute folders that the user gave.
};

/// Called with each file before it is read; returning false stops the work.
using Progress = std::function<bool(const std::string& file)>;
SourceKernels read_sources(const SourceFiles& files, const Progress& progress);

}  // namespace gpuemu::cli
