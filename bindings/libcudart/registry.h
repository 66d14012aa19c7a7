// Keeps the kernels and variables that nvcc's host code registers before main() begins.
#pragma once

#include <cstddef>
#include <string>

#include "bindings/libcudart/driver.h"

namespace gpuemu::libcudart {

/// The kernel for the address of its host function, or the error in `code`:
/// cudaErrorInvalidDeviceFunction, or the error of loading its fat binary.
struct FoundKernel {
  int code = cudaSuccess;
  Kernel kernel = nullptr;
  std::string name;  ///< As in PTX; "" when it is unknown.
};
/// Loads the code of the kernel if needed. `function` may also be a handle of a kernel. The calling
/// thread must have a context. All functions here are thread-safe.
FoundKernel find_kernel(const void* function);

/// Returns the host function of a kernel that find_kernel() returned; null if there is none.
const void* host_function_of(Kernel kernel);

/// A variable of the device in the current context, or the error in `code`: cudaErrorInvalidSymbol,
/// or the error of loading its fat binary.
struct FoundVariable {
  int code = cudaSuccess;
  Address address = 0;
  size_t bytes = 0;
};
/// `symbol` is the address of the host's variable of the same name.
FoundVariable find_variable(const void* symbol);

}  // namespace gpuemu::libcudart
