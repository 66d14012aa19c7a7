// Finds the files in a folder that a project can be made of.
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
  std::string framework;  ///< The framework that Python files use; "" if there is none.
  std::vector<PythonKernel> triton, numba;
  std::string limit;  ///< Lines that say what was not searched; "" if everything was.
};

/// Searches six folders deep, skipping folders of builds and packages.
FoundFiles look_around(const std::filesystem::path& folder);

}  // namespace gpuemu::cli
