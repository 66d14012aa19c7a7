// Loads modules and finds their functions.
#pragma once

#include <string>

#include "bindings/libcuda/images/images.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

Logs logs_of(unsigned count, const int* options, void* const* values);
/// Writes as much of the text as fits.
void write_log(const Logs& logs, const std::string& text);

/// Loads an image into the current context. `library` is the library that the code belongs to, or
/// null. When it fails, the reason goes to the log buffer or to stderr. Errors: those of the image,
/// CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_INVALID_PTX. All
/// functions here are thread-safe.
int load(Process& driver, const Image& image, const Logs& logs, Library library, Module* module);
/// Unloads a module and its functions. Does nothing when the handle is not a module.
void unload(Process& driver, Module module);
/// Finds a function of the module by name; returns nullptr when there is none.
Function function_named(Process& driver, const ModuleState& module, const std::string& name);

/// A function, or null and the error in `code`.
struct Resolved {
  int code = CUDA_SUCCESS;
  std::shared_ptr<FunctionState> function;
};
/// Finds the function for a handle that is a CUfunction or a CUkernel; a kernel's library is loaded
/// into the current context first. CUDA_ERROR_INVALID_HANDLE when it is neither.
Resolved resolve(Process& driver, Function function);
/// Calls `work` with the function of the handle, as resolve() finds it.
template <typename Work>
int with_function(Function function, const Work& work) {
  return driver_call([&](Process& driver) -> int {
    const Resolved found = resolve(driver, function);
    return found.code != CUDA_SUCCESS ? found.code : work(driver, *found.function);
  });
}

/// Returns in `module` the module of the library in the current context, and loads it when needed.
int module_of(Process& driver, Library library, Module* module);

/// Reads a CUfunction_attribute; returns false for an unknown number.
bool function_attribute(const FunctionState& function, int attribute, int& value);
/// Sets a CUfunction_attribute; CUDA_ERROR_INVALID_VALUE for one that is unknown, read-only or out
/// of range.
int set_function_attribute(Process& driver, FunctionState& function, int attribute, int value);

}  // namespace gpuemu::libcuda
