// Modules and the functions in them.
#pragma once

#include <string>

#include "bindings/libcuda/images.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// Where a program wants to read why its code was refused; both null where it does not.
struct Logs {
  char* error = nullptr;
  size_t error_bytes = 0;
};
Logs logs_of(unsigned count, const int* options, void* const* values);

/// Loads into the current context. `library` is whose code it is, null for none.
int load(Process& driver, const Image& image, const Logs& logs, Library library, Module* module);
void unload(Process& driver, Module module);
/// The function of the module by its name, or null.
Function function_named(Process& driver, const ModuleState& module, const std::string& name);

/// What cuLaunchKernel takes: a function, or a kernel, which the current context then loads. Null
/// with `code` where it is neither.
struct Resolved {
  int code = CUDA_SUCCESS;
  std::shared_ptr<FunctionState> function;
};
Resolved resolve(Process& driver, Function function);
/// Work with what resolve() gives.
template <typename Work>
int with_function(Function function, const Work& work) {
  return driver_call([&](Process& driver) -> int {
    const Resolved found = resolve(driver, function);
    return found.code != CUDA_SUCCESS ? found.code : work(driver, *found.function);
  });
}

/// The module of the library in the current context.
int module_of(Process& driver, Library library, Module* module);

/// CUfunction_attribute. False for a number that there is not.
bool function_attribute(const FunctionState& function, int attribute, int& value);
int set_function_attribute(Process& driver, FunctionState& function, int attribute, int value);

}  // namespace gpuemu::libcuda
