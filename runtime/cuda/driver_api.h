// The CUDA driver as a table of functions, loaded from libcuda.so.1. The declarations are the
// driver's ABI, which NVIDIA keeps stable; no header of the toolkit is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace gpuemu::cuda {

using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;

/// CUresult values that are told apart.
enum : int {
  kSuccess = 0,
  kOutOfMemory = 2,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
};
/// CUdevice_attribute, CUfunction_attribute and CUjit_option values that are asked for.
enum : int {
  kMultiprocessorCount = 16,
  kMajor = 75,
  kMinor = 76,
  kSharedOptin = 97,
  kFunctionSharedBytes = 1,
  kFunctionMaxDynamicShared = 8,
  kJitErrorLog = 5,
  kJitErrorLogBytes = 6,
};

struct Driver {
#define CUDA_SYMBOL(name, parameters) int(*name) parameters = nullptr;
#include "runtime/cuda/symbols.def"
#undef CUDA_SYMBOL

  /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"
  std::string text_of(int code) const;
};

/// Unavailable naming the library or the function that is missing.
Result<Driver> load_driver(const std::string& library = "libcuda.so.1");

}  // namespace gpuemu::cuda
