// Loads the driver's functions into a table.
#include "runtime/cuda/driver_api.h"

#include <dlfcn.h>

namespace gpuemu::cuda {

std::string Driver::text_of(int code) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(code, &name) != kSuccess || name == nullptr) {
    return fmt::format("error {}", code);
  }
  if (cuGetErrorString(code, &text) != kSuccess || text == nullptr) return name;
  return fmt::format("{} ({})", name, text);
}

/// The library stays open until the process ends, because the driver has threads of its own.
Result<Driver> load_driver(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return error(ErrorCode::Unavailable,
                 "no CUDA driver ({}): install it, or choose backend \"emulator\"", ::dlerror());
  }
  Driver driver;
#define CUDA_SYMBOL(name, parameters)                                                        \
  driver.name = reinterpret_cast<decltype(driver.name)>(::dlsym(handle, #name));             \
  if (driver.name == nullptr) {                                                              \
    return error(ErrorCode::Unavailable,                                                     \
                 "{} has no '{}': update the NVIDIA driver, or choose backend \"emulator\"", \
                 library, #name);                                                            \
  }
#define CUDA_OPTIONAL(name, parameters) \
  driver.name = reinterpret_cast<decltype(driver.name)>(::dlsym(handle, #name));
#include "runtime/cuda/symbols.def"
#undef CUDA_SYMBOL
  return driver;
}

}  // namespace gpuemu::cuda
