// Implements ptx_run(): runs the first kernel of a PTX text on arguments that are host addresses,
// and waits for it.
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "bindings/libptx/host_memory.h"

#define GPUEMU_PTX_API extern "C" __attribute__((visibility("default")))

extern "C" {
// Functions and types of the published driver API.
using CUfunction = struct CUfunc_st*;
using CUmodule = struct CUmod_st*;
using CUcontext = struct CUctx_st*;
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(CUcontext* context, int device);
int cuCtxSetCurrent(CUcontext context);
int cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, int* options,
                       void** values);
int cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module);
int cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes);
int cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** arguments, void** extra);
int cuCtxSynchronize();
int cuGetErrorString(int code, const char** text);
}

namespace gpuemu::libptx {
namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kNotFound = 500;

int say(int code, const std::string& what) {
  const char* text = nullptr;
  if (cuGetErrorString(code, &text) != kSuccess) text = "unknown error";
  std::fprintf(stderr, "gpuemu: ptx_run: %s: %s (%d)\n", what.c_str(), text, code);
  return code;
}

/// The state shared by all calls of the process.
struct Shared {
  std::mutex mutex;
  HostMemory memory;
  std::map<std::string, CUfunction> kernels;  ///< By PTX text.
};
Shared& shared() {
  static Shared* const kShared = new Shared;
  return *kShared;
}

int make_context_current() {
  int code = cuInit(0);
  CUcontext context = nullptr;
  if (code == kSuccess) code = cuDevicePrimaryCtxRetain(&context, 0);
  if (code == kSuccess) code = cuCtxSetCurrent(context);
  return code == kSuccess ? code : say(code, "no device");
}

int load(const std::string& source, CUfunction& kernel) {
  constexpr int kLog = 5, kLogBytes = 6;  // CU_JIT_ERROR_LOG_BUFFER and its size.
  std::vector<char> log(4096);
  int options[] = {kLog, kLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  CUmodule module = nullptr;
  int code = cuModuleLoadDataEx(&module, source.c_str(), 2, options, values);
  if (code != kSuccess) return say(code, std::string("cannot load the PTX: ") + log.data());
  code = cuModuleEnumerateFunctions(&kernel, 1, module);
  if (code == kSuccess && kernel == nullptr) code = kNotFound;
  return code == kSuccess ? code : say(code, "the PTX has no .entry");
}

int check_arguments(CUfunction kernel, int count) {
  size_t offset = 0, bytes = 0;
  int wanted = 0;
  while (cuFuncGetParamInfo(kernel, static_cast<size_t>(wanted), &offset, &bytes) == kSuccess) {
    if (bytes > sizeof(uint64_t)) {
      return say(kInvalidValue, "parameter " + std::to_string(wanted) + " has " +
                                    std::to_string(bytes) + " bytes; expected at most 8");
    }
    ++wanted;
  }
  if (wanted == count) return kSuccess;
  return say(kInvalidValue, "the kernel has " + std::to_string(wanted) + " parameters; there are " +
                                std::to_string(count) + " arguments");
}

}  // namespace

/// Each of `arguments` is a value of eight bytes. Returns 0 or the CUresult of the failure.
GPUEMU_PTX_API int ptx_run(const char* source, int count, void** arguments, int block_x,
                           int block_y, int block_z, int grid_x, int grid_y, int grid_z,
                           int shared_bytes) {
  if (source == nullptr || count < 0 || (count != 0 && arguments == nullptr) || shared_bytes < 0) {
    return say(kInvalidValue, "no source, no arguments or a negative size");
  }
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  if (const int code = make_context_current(); code != kSuccess) return code;
  CUfunction& kernel = all.kernels[source];
  if (kernel == nullptr) {
    if (const int code = load(source, kernel); code != kSuccess) return code;
  }
  if (const int code = check_arguments(kernel, count); code != kSuccess) return code;
  all.memory.update();
  std::vector<void*> places;
  for (int i = 0; i < count; ++i) places.push_back(arguments + i);
  const auto size = [](int value) { return static_cast<unsigned>(value); };
  int code =
      cuLaunchKernel(kernel, size(grid_x), size(grid_y), size(grid_z), size(block_x), size(block_y),
                     size(block_z), size(shared_bytes), nullptr, places.data(), nullptr);
  if (code == kSuccess) code = cuCtxSynchronize();
  return code == kSuccess ? code : say(code, "the kernel failed");
}

}  // namespace gpuemu::libptx
