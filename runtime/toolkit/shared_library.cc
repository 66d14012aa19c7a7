#include "runtime/toolkit/shared_library.h"

#include <dlfcn.h>

#include "runtime/toolkit/cuda_homes.h"

namespace gpuemu {
namespace {

/// Library folders of a toolkit, of the wheels, and of CUPTI in a toolkit.
constexpr const char* kLibraryFolders[] = {"lib64", "lib", "extras/CUPTI/lib64"};

void* open_file(const std::string& path) { return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

}  // namespace

Result<SharedLibrary> SharedLibrary::open(std::span<const std::string> names) {
  std::string reason;
  for (const std::string& name : names) {
    if (void* handle = open_file(name)) return SharedLibrary(handle, name);
    if (const char* why = ::dlerror(); reason.empty() && why != nullptr) reason = why;
    if (name.find('/') != std::string::npos) continue;
    for (const std::filesystem::path& home : cuda_homes()) {
      for (const char* folder : kLibraryFolders) {
        const std::string path = home / folder / name;
        std::error_code ignored;
        if (!std::filesystem::exists(path, ignored)) continue;
        if (void* handle = open_file(path)) return SharedLibrary(handle, path);
        // The error of an existing library that cannot be opened is more useful than that of a
        // missing one.
        if (const char* why = ::dlerror(); why != nullptr) reason = why;
      }
    }
  }
  return error(ErrorCode::Unavailable, "{}; GPUEMU_CUDA_HOME may name the folder of a toolkit",
               reason.empty() ? "no name of a library" : reason);
}

void* SharedLibrary::find(const char* function) const { return ::dlsym(handle_, function); }

}  // namespace gpuemu
