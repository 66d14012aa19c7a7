#include "runtime/toolkit/cuda_homes.h"

#include <cstdlib>

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

/// Folders above the program that may hold the wheels: build/release/cli/gpuemu -> build.
constexpr int kLevelsUp = 4;

}  // namespace

std::vector<fs::path> cuda_homes() {
  std::vector<fs::path> out;
  for (const char* variable : {"GPUEMU_CUDA_HOME", "CUDA_HOME"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    out.emplace_back(value);
    // Accepts the folder that pip filled, as well as the toolkit in it.
    out.push_back(fs::path(value) / "nvidia" / "cu13");
  }
  std::error_code failed;
  fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (int level = 0; !failed && level < kLevelsUp && folder.has_relative_path(); ++level) {
    out.push_back(folder);
    out.push_back(folder / "cuda" / "nvidia" / "cu13");
    folder = folder.parent_path();
  }
  out.emplace_back("/usr/local/cuda");
  return out;
}

}  // namespace gpuemu
