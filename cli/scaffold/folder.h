// What a folder has that a project can be made of.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gpuemu::cli {

struct PythonKernel {
  std::string file;  ///< Relative to the folder.
  std::string name;
};

struct FoundFiles {
  std::vector<std::string> cuda, ptx, headers;  ///< Relative to the folder, sorted.
  std::string framework;                        ///< What Python files are for, "" where none says.
  std::vector<PythonKernel> triton, numba;
};

/// Looks four folders deep, and not into those of builds and packages.
FoundFiles look_around(const std::filesystem::path& folder);

}  // namespace gpuemu::cli
