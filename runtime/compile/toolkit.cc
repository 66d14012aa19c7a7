// Searches for NVRTC, nvcc and their headers.
#include "runtime/compile/toolkit.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "runtime/toolkit/cuda_homes.h"

namespace gpuemu::compile {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Returns the folders in which the loader looks for a library given by name alone.
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

/// Adds from one CUDA folder what no earlier folder had.
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
  for (const fs::path& home : cuda_homes()) search(home, kit);
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
