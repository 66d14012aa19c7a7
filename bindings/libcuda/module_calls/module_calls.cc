// Implements cuModule* and cuFunc*.
#include <cstring>

#include "bindings/libcuda/modules.h"

namespace gpuemu::libcuda {
namespace {

int sm_of_current(Process& driver) {
  const Place place = current_place();
  return place.code == CUDA_SUCCESS ? place.slot->device->properties().sm
                                    : driver.settings.devices.front().sm;
}

int load_image(const void* image, const Logs& logs, Module* module,
               const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    return load(driver, read_image(image, sm_of_current(driver)), logs, nullptr, module);
  });
}

template <typename Work>
int with_module(Module module, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.modules.find(module);
    return state == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_HANDLE) : work(driver, *state);
  });
}

int parameter(const EntryInfo& info, size_t index, size_t* offset, size_t* bytes) {
  if (offset == nullptr || index >= info.params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = info.params[index].offset;
  if (bytes != nullptr) *bytes = info.params[index].bytes;
  return CUDA_SUCCESS;
}

}  // namespace

GPUEMU_DRIVER_API int cuModuleLoad(Module* module, const char* path) {
  return driver_call([&](Process& driver) -> int {
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    return load(driver, read_image_file(path, sm_of_current(driver)), {}, nullptr, module);
  });
}

GPUEMU_DRIVER_API int cuModuleLoadData(Module* module, const void* image) {
  return load_image(image, {}, module);
}

GPUEMU_DRIVER_API int cuModuleLoadDataEx(Module* module, const void* image, unsigned count,
                                         const int* options, void* const* values) {
  return load_image(image, logs_of(count, options, values), module);
}

GPUEMU_DRIVER_API int cuModuleLoadFatBinary(Module* module, const void* image) {
  return load_image(image, {}, module);
}

GPUEMU_DRIVER_API int cuModuleUnload(Module module) {
  return with_module(module, [&](Process& driver, ModuleState&) -> int {
    unload(driver, module);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuModuleGetLoadingMode(int* mode) {
  return driver_call([&](Process&) -> int {
    constexpr int kEager = 1;
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *mode = kEager;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuModuleGetFunction(Function* function, Module module, const char* name) {
  return with_module(module, [&](Process& driver, ModuleState& state) -> int {
    if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Function found = function_named(driver, state, name);
    if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
    *function = found;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuModuleGetFunctionCount(unsigned* count, Module module) {
  return with_module(module, [&](Process&, ModuleState& state) -> int {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(state.functions.size());
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuModuleEnumerateFunctions(Function* functions, unsigned count,
                                                 Module module) {
  return with_module(module, [&](Process&, ModuleState& state) -> int {
    if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && i < state.functions.size(); ++i) {
      functions[i] = state.functions[i];
    }
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuModuleGetGlobal_v2(Address* address, size_t* bytes, Module module,
                                           const char* name) {
  return with_module(module, [&](Process& driver, ModuleState& state) -> int {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto found =
        driver.devices[static_cast<size_t>(state.device)]->device->variable(state.id, name);
    if (!found) return code_of(found.error());
    if (address != nullptr) *address = found->address;
    if (bytes != nullptr) *bytes = found->bytes;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuFuncGetAttribute(int* value, int attribute, Function function) {
  return with_function(function, [&](Process&, FunctionState& state) -> int {
    const bool known = value != nullptr && function_attribute(state, attribute, *value);
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

GPUEMU_DRIVER_API int cuFuncSetAttribute(Function function, int attribute, int value) {
  return with_function(function, [&](Process& driver, FunctionState& state) {
    return set_function_attribute(driver, state, attribute, value);
  });
}

GPUEMU_DRIVER_API int cuFuncSetCacheConfig(Function function, int config) {
  return with_function(function, [&](Process&, FunctionState&) -> int {
    return config < 0 || config > 3 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuFuncGetModule(Module* module, Function function) {
  return with_function(function, [&](Process&, FunctionState& state) -> int {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *module = state.module;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuFuncGetName(const char** name, Function function) {
  return with_function(function, [&](Process&, FunctionState& state) -> int {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *name = state.info.name.c_str();
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuFuncGetParamInfo(Function function, size_t index, size_t* offset,
                                         size_t* bytes) {
  return with_function(function, [&](Process&, FunctionState& state) {
    return parameter(state.info, index, offset, bytes);
  });
}

GPUEMU_DRIVER_API int cuFuncIsLoaded(int* loaded, Function function) {
  return with_function(function, [&](Process&, FunctionState&) -> int {
    if (loaded == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *loaded = 1;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuFuncLoad(Function function) {
  return with_function(function, [](Process&, FunctionState&) -> int { return CUDA_SUCCESS; });
}

}  // namespace gpuemu::libcuda
