// The search for NVRTC, nvcc and their headers.
#include "runtime/compile/toolkit.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace gpuemu::compile {
namespace {

namespace fs = std::filesystem;

/// Folders above the program that may hold the wheels: build/release/cli/gpuemu -> build.
constexpr int kLevelsUp = 4;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::vector<fs::path> homes() {
  std::vector<fs::path> out;
  for (const char* variable : {"GPUEMU_CUDA_HOME", "CUDA_HOME"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    out.emplace_back(value);
    // The folder that pip filled is accepted as well as the toolkit inside it.
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

/// Where the loader looks for a library that is given by name alone.
std::vector<fs::path> loader_folders() {
  std::vector<fs::path> folders;
  const char* variable = std::getenv("LD_LIBRARY_PATH");
  std::istringstream list(variable == nullptr ? "" : variable);
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
    folders.emplace_back(folder);
  }
  return folders;
}

std::string find_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && is_there(fs::path(folder) / program)) return fs::path(folder) / program;
  }
  return {};
}

/// Takes from one home what no earlier one has.
void search(const fs::path& home, Toolkit& kit) {
  for (const char* where : {"libnvrtc.so.13", "lib64/libnvrtc.so.13", "lib/libnvrtc.so.13"}) {
    if (kit.nvrtc.empty() && is_there(home / where)) kit.nvrtc = home / where;
  }
  if (kit.nvcc.empty() && is_there(home / "bin" / "nvcc")) kit.nvcc = home / "bin" / "nvcc";
  if (kit.ptxas.empty() && is_there(home / "bin" / "ptxas")) kit.ptxas = home / "bin" / "ptxas";
  if (kit.cuobjdump.empty() && is_there(home / "bin" / "cuobjdump") &&
      is_there(home / "bin" / "nvdisasm")) {
    kit.cuobjdump = home / "bin" / "cuobjdump";
  }
  if (!kit.include_dirs.empty() || !is_there(home / "include" / "cuda_fp16.h")) return;
  kit.include_dirs.push_back(home / "include");
  if (is_there(home / "include" / "cccl")) kit.include_dirs.push_back(home / "include" / "cccl");
}

}  // namespace

Toolkit find_toolkit() {
  Toolkit kit;
  for (const fs::path& home : homes()) search(home, kit);
  if (kit.nvcc.empty()) kit.nvcc = find_in_path("nvcc");
  std::error_code failed;
  const fs::path nvcc = fs::canonical(kit.nvcc, failed);
  if (!failed) search(nvcc.parent_path().parent_path(), kit);
  if (kit.ptxas.empty()) kit.ptxas = find_in_path("ptxas");
  if (kit.cuobjdump.empty() && !find_in_path("nvdisasm").empty()) {
    kit.cuobjdump = find_in_path("cuobjdump");
  }
  for (const fs::path& folder : loader_folders()) {
    if (kit.nvrtc.empty() && is_there(folder / "libnvrtc.so.13")) {
      kit.nvrtc = folder / "libnvrtc.so.13";
    }
  }
  return kit;
}

}  // namespace gpuemu::compile
