// Implements cuGetProcAddress and cuGetExportTable, and ends the recording when the process exits.
#include <algorithm>
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>

#include "bindings/libcuda/calls/call_names.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

enum LookUp : int { kFound = 0, kNotFound = 1, kVersionNotSufficient = 2 };

int look_up(const char* name, void** function, int version, uint64_t flags, int* status) {
  constexpr uint64_t kPerThread = 2, kAll = 3;
  if (name == nullptr || function == nullptr || (flags & ~kAll) != 0 || flags == kAll) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Result<Settings>& settings = settings_of_environment();
  const int newest = settings ? (*settings).driver_version : Settings{}.driver_version;
  const CallFound found = find_call(name, std::min(version, newest), (flags & kPerThread) != 0);
  *function = found.function;
  if (status != nullptr) {
    *status = !found.is_known             ? kNotFound
              : found.function == nullptr ? kVersionNotSufficient
                                          : kFound;
    return CUDA_SUCCESS;
  }
  return found.function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

/// Runs at exit; the library's static objects are never destroyed.
__attribute__((destructor)) void end_process() {
  Process* const driver = process();
  if (driver == nullptr) return;
  driver->recorder.finish();
  driver->forms.finish();
}

}  // namespace

/// NVIDIA's runtime library requests tables that no header describes, and fails without them.
GPUEMU_DRIVER_API int cuGetExportTable(const void** table, const void* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Dl_info caller{};
  const bool is_known = dladdr(__builtin_return_address(0), &caller) != 0;
  // NVRTC requests a table when it compiles, but works without it.
  if (is_known &&
      std::string_view(caller.dli_fname).find("/libnvrtc.so") != std::string_view::npos) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  say_once("cuGetExportTable",
           fmt::format("cuGetExportTable is not supported: {} asks for it, which contains NVIDIA's "
                       "runtime library (cudart) and cannot run here; link it with -cudart shared, "
                       "as gpuemu nvcc does, or use a build of it that loads libcudart.so: "
                       "gpuemu's runtime library takes its place",
                       is_known ? caller.dli_fname : "a library"));
  if (Process* const driver = process()) driver->recorder.unsupported("cuGetExportTable");
  return CUDA_ERROR_NOT_SUPPORTED;
}

GPUEMU_DRIVER_API int cuGetProcAddress_v2(const char* name, void** function, int version,
                                          uint64_t flags, int* status) {
  return look_up(name, function, version, flags, status);
}

/// For programs compiled with the per-thread default stream: finds the functions for that stream
/// unless the flags select others.
GPUEMU_DRIVER_API int cuGetProcAddress_v2_ptsz(const char* name, void** function, int version,
                                               uint64_t flags, int* status) {
  constexpr uint64_t kPerThread = 2;
  return look_up(name, function, version, flags == 0 ? kPerThread : flags, status);
}

GPUEMU_DRIVER_API int cuGetProcAddress(const char* name, void** function, int version,
                                       uint64_t flags) {
  return look_up(name, function, version, flags, nullptr);
}

}  // namespace gpuemu::libcuda
