#include "bindings/libnvrtc/real_library.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

namespace gpuemu::libnvrtc {
namespace {

namespace fs = std::filesystem;

#define GPUEMU_TEXT_OF(number) #number
#define GPUEMU_FILE_OF(major) "libnvrtc.so." GPUEMU_TEXT_OF(major)
constexpr const char* kFile = GPUEMU_FILE_OF(GPUEMU_NVRTC_MAJOR);
#define GPUEMU_BUILTINS_OF(major) "libnvrtc-builtins.so." GPUEMU_TEXT_OF(major) "."
constexpr const char* kBuiltins = GPUEMU_BUILTINS_OF(GPUEMU_NVRTC_MAJOR);
constexpr const char* kPackage =
    GPUEMU_NVRTC_MAJOR == 12 ? "nvidia-cuda-nvrtc-cu12" : "nvidia-cuda-nvrtc";

using Folders = std::vector<std::string>;

/// Appends the folders of a list that is separated by colons.
void append_list(Folders& folders, std::string_view list, const std::string& origin) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    std::string one(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    for (const std::string_view name : {"$ORIGIN", "${ORIGIN}"}) {
      if (one.starts_with(name)) one.replace(0, name.size(), origin);
    }
    if (!one.empty()) folders.push_back(std::move(one));
  }
}

/// Appends the RPATH or RUNPATH of one loaded object; `folders` is a Folders.
int append_paths_of(dl_phdr_info* object, size_t /*bytes*/, void* folders) {
  const std::string_view path = object->dlpi_name;
  std::error_code ignored;
  const fs::path file = path.empty() ? fs::read_symlink("/proc/self/exe", ignored) : fs::path(path);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* const first =
        reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    ElfW(Addr) texts_at = 0;
    for (const ElfW(Dyn)* entry = first; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_STRTAB) texts_at = entry->d_un.d_ptr;
    }
    // The loader has replaced the offset by an address, except in the object of the kernel (vdso).
    if (texts_at < object->dlpi_addr) texts_at += object->dlpi_addr;
    const auto* const texts = reinterpret_cast<const char*>(texts_at);
    for (const ElfW(Dyn)* entry = first; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag != DT_RPATH && entry->d_tag != DT_RUNPATH) continue;
      append_list(*static_cast<Folders*>(folders), texts + entry->d_un.d_val,
                  file.parent_path().string());
    }
  }
  return 0;
}

void append_variable(Folders& folders, const char* name, const char* below) {
  const char* const value = std::getenv(name);
  if (value != nullptr && *value != 0) append_list(folders, std::string(value) + below, ".");
}

/// Appends the library folders of the toolkits whose nvcc is in PATH.
void append_toolkits(Folders& folders) {
  Folders programs;
  append_variable(programs, "PATH", "");
  for (const std::string& folder : programs) {
    std::error_code ignored;
    const fs::path compiler = fs::canonical(fs::path(folder) / "nvcc", ignored);
    if (compiler.empty()) continue;
    const fs::path toolkit = compiler.parent_path().parent_path();
    for (const char* below : {"lib64", "lib"}) folders.push_back((toolkit / below).string());
  }
}

Folders folders_of_process() {
  Folders folders;
  append_variable(folders, "GPUEMU_RUN_NVRTC", "");
  append_variable(folders, "LD_LIBRARY_PATH", "");
  dl_iterate_phdr(append_paths_of, &folders);
  append_variable(folders, "CUDA_HOME", "/lib64");
  append_variable(folders, "CUDA_PATH", "/lib64");
  append_toolkits(folders);
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu"}) {
    folders.emplace_back(folder);
  }
  // Lists each folder once, without that of this library.
  Dl_info own{};
  dladdr(reinterpret_cast<const void*>(&real_function), &own);
  Folders others;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    const bool is_known = std::ranges::find(others, folder) != others.end();
    if (!is_known && !fs::equivalent(fs::path(folder) / kFile, own.dli_fname, ignored)) {
      others.push_back(folder);
    }
  }
  return others;
}

/// NVIDIA's library searches for the library with its built-in functions by name: in the loader's
/// folders, and beside the library loaded under its own name, which is this one. A library that is
/// already loaded is found by its name, so it is loaded here.
void load_builtins(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kBuiltins)) (void)dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

void* load_library() {
  for (const std::string& folder : folders_of_process()) {
    const std::string file = (fs::path(folder) / kFile).string();
    std::error_code ignored;
    if (!fs::exists(file, ignored)) continue;
    // By path, because the name alone would find this library.
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      load_builtins(folder);
      return library;
    }
    (void)std::fprintf(stderr, "gpuemu: cannot load %s: %s\n", file.c_str(), dlerror());
  }
  std::string places;
  for (const std::string& folder : folders_of_process()) places += "\n  " + folder;
  (void)std::fprintf(stderr,
                     "gpuemu: cannot find NVIDIA's %s, which compiles this program's kernels: add "
                     "its folder to LD_LIBRARY_PATH, or for a Python program install it (pip "
                     "install %s). It is in none of these folders:%s\n",
                     kFile, kPackage, places.c_str());
  return nullptr;
}

}  // namespace

void* real_function(const char* name) {
  static void* const library = load_library();
  if (library == nullptr) return nullptr;
  void* const found = dlsym(library, name);
  if (found == nullptr) (void)std::fprintf(stderr, "gpuemu: %s has no %s\n", kFile, name);
  return found;
}

}  // namespace gpuemu::libnvrtc
