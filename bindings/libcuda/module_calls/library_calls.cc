// Implements cuLibrary* and cuKernel*. A library is loaded into a context when the context first
// uses one of its kernels.
#include "bindings/libcuda/modules.h"
#include "runtime/ptx/parse.h"

namespace gpuemu::libcuda {
namespace {

/// Returns the names of the entries of a library in order. Its text parses: cuLibraryLoad* checked
/// that.
std::vector<std::string> entries_of(const std::string& ptx) {
  std::vector<std::string> names;
  auto module = ptx::parse(ptx, "ptx");
  if (!module) return names;
  for (const ptx::Function& function : module->functions) {
    if (function.is_entry) names.push_back(function.name);
  }
  return names;
}

int make_library(Process& driver, const Image& image, const Logs& logs, Library* library) {
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (image.code != CUDA_SUCCESS) {
    say_once(image.problem, image.problem);
    return image.code;
  }
  std::string problem;
  const int code = check_target(image.ptx, driver.settings.devices.front().sm, problem);
  if (code != CUDA_SUCCESS) {
    say_once(problem, problem);
    return code;
  }
  if (auto parsed = ptx::parse(image.ptx, "ptx"); !parsed) {
    if (logs.error != nullptr && logs.error_bytes != 0) {
      logs.error[parsed.error().message.copy(logs.error, logs.error_bytes - 1)] = '\0';
    }
    return CUDA_ERROR_INVALID_PTX;
  }
  auto made = std::make_shared<LibraryState>();
  made->ptx = image.ptx;
  *library = driver.libraries.add(std::move(made));
  return CUDA_SUCCESS;
}

Kernel kernel_of(Process& driver, Library library, LibraryState& state, const std::string& name) {
  const std::lock_guard lock(state.mutex);
  Kernel& known = state.kernels[name];
  if (known == nullptr) {
    known = driver.kernels.add(std::make_shared<KernelState>(KernelState{library, name}));
  }
  return known;
}

template <typename Work>
int with_library(Library library, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.libraries.find(library);
    return state == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_HANDLE) : work(driver, *state);
  });
}

template <typename Work>
int with_kernel(Kernel kernel, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.kernels.find(kernel);
    return state == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_HANDLE) : work(driver, *state);
  });
}

/// Calls `work` with the library's module in the current context. `name`: what it looks up.
template <typename Work>
int with_library_module(Library library, const char* name, const Work& work,
                        const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    Module module = nullptr;
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const int code = module_of(driver, library, &module);
    return code != CUDA_SUCCESS ? code : work(driver, *driver.modules.find(module));
  });
}

/// Calls `work` with the function of the kernel in the current context.
template <typename Work>
int with_kernel_function(Kernel kernel, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return with_kernel(kernel, [&](Process& driver, KernelState&) -> int {
    const Resolved found = resolve(driver, reinterpret_cast<Function>(kernel));
    return found.code != CUDA_SUCCESS ? found.code : work(driver, *found.function);
  });
}

}  // namespace

GPUEMU_DRIVER_API int cuLibraryLoadData(Library* library, const void* code, const int* options,
                                        void* const* values, unsigned count, const int*,
                                        void* const*, unsigned) {
  return driver_call([&](Process& driver) {
    return make_library(driver, read_image(code, driver.settings.devices.front().sm),
                        logs_of(count, options, values), library);
  });
}

GPUEMU_DRIVER_API int cuLibraryLoadFromFile(Library* library, const char* path, const int* options,
                                            void* const* values, unsigned count, const int*,
                                            void* const*, unsigned) {
  return driver_call([&](Process& driver) {
    return make_library(driver, read_image_file(path, driver.settings.devices.front().sm),
                        logs_of(count, options, values), library);
  });
}

GPUEMU_DRIVER_API int cuLibraryUnload(Library library) {
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.libraries.remove(library);
    if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const std::lock_guard lock(state->mutex);
    for (const auto& [context, module] : state->loaded) unload(driver, module);
    for (const auto& [name, kernel] : state->kernels) driver.kernels.remove(kernel);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuLibraryGetKernel(Kernel* kernel, Library library, const char* name) {
  return with_library(library, [&](Process& driver, LibraryState& state) -> int {
    if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const std::string& one : entries_of(state.ptx)) {
      if (one != name) continue;
      *kernel = kernel_of(driver, library, state, one);
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
  });
}

GPUEMU_DRIVER_API int cuLibraryGetKernelCount(unsigned* count, Library library) {
  return with_library(library, [&](Process&, LibraryState& state) -> int {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(entries_of(state.ptx).size());
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuLibraryEnumerateKernels(Kernel* kernels, unsigned count, Library library) {
  return with_library(library, [&](Process& driver, LibraryState& state) -> int {
    if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto names = entries_of(state.ptx);
    for (size_t i = 0; i < count && i < names.size(); ++i) {
      kernels[i] = kernel_of(driver, library, state, names[i]);
    }
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuLibraryGetModule(Module* module, Library library) {
  return driver_call([&](Process& driver) -> int {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return module_of(driver, library, module);
  });
}

GPUEMU_DRIVER_API int cuLibraryGetGlobal(Address* address, size_t* bytes, Library library,
                                         const char* name) {
  return with_library_module(library, name, [&](Process& driver, const ModuleState& state) -> int {
    auto found =
        driver.devices[static_cast<size_t>(state.device)]->device->variable(state.id, name);
    if (!found) return code_of(found.error());
    if (address != nullptr) *address = found->address;
    if (bytes != nullptr) *bytes = found->bytes;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuLibraryGetManaged(Address* address, size_t* bytes, Library library,
                                          const char* name) {
  return with_library_module(library, name, [&](Process& driver, const ModuleState& state) -> int {
    for (const uint64_t at : state.managed) {
      const auto found = driver.allocations.at(at);
      if (found == nullptr || found->name != name) continue;
      if (address != nullptr) *address = found->address;
      if (bytes != nullptr) *bytes = found->bytes;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
  });
}

GPUEMU_DRIVER_API int cuKernelGetFunction(Function* function, Kernel kernel) {
  return with_kernel_function(kernel, [&](Process& driver, FunctionState& state) -> int {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *function = function_named(driver, *driver.modules.find(state.module), state.info.name);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuKernelGetLibrary(Library* library, Kernel kernel) {
  return with_kernel(kernel, [&](Process&, KernelState& state) -> int {
    if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *library = state.library;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuKernelGetAttribute(int* value, int attribute, Kernel kernel, int) {
  return with_kernel_function(kernel, [&](Process&, FunctionState& state) -> int {
    const bool known = value != nullptr && function_attribute(state, attribute, *value);
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

GPUEMU_DRIVER_API int cuKernelSetAttribute(int attribute, int value, Kernel kernel, int) {
  return with_kernel_function(kernel, [&](Process& driver, FunctionState& state) {
    return set_function_attribute(driver, state, attribute, value);
  });
}

GPUEMU_DRIVER_API int cuKernelSetCacheConfig(Kernel kernel, int config, int) {
  return with_kernel(kernel, [&](Process&, KernelState&) -> int {
    return config < 0 || config > 3 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuKernelGetName(const char** name, Kernel kernel) {
  return with_kernel(kernel, [&](Process&, KernelState& state) -> int {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *name = state.name.c_str();
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuKernelGetParamInfo(Kernel kernel, size_t index, size_t* offset,
                                           size_t* bytes) {
  return with_kernel_function(kernel, [&](Process&, FunctionState& state) -> int {
    if (offset == nullptr || index >= state.info.params.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = state.info.params[index].offset;
    if (bytes != nullptr) *bytes = state.info.params[index].bytes;
    return CUDA_SUCCESS;
  });
}

}  // namespace gpuemu::libcuda
