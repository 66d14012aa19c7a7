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
using Graph = struct OpaqueGraph*;
using GraphExec = struct OpaqueGraphExec*;

/// CUlaunchAttribute.
struct alignas(8) LaunchAttribute {
  unsigned id = 0, unused = 0;
  unsigned value[16] = {};
};
static_assert(sizeof(LaunchAttribute) == 72);
inline constexpr unsigned kAttributeCooperative = 2;
inline constexpr unsigned kAttributeCluster = 4;

/// CUlaunchConfig.
struct LaunchParameters {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
static_assert(sizeof(LaunchParameters) == 56);

/// CUDA_KERNEL_NODE_PARAMS_v1.
struct KernelNode {
  Function function = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** arguments = nullptr;
  void** extra = nullptr;
};
static_assert(sizeof(KernelNode) == 56);

/// The CUresult values that are handled separately.
inline constexpr int kSuccess = 0;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kInvalidPtx = 218;
inline constexpr int kUnsupportedPtxVersion = 222;
inline constexpr int kInvalidHandle = 400;
inline constexpr int kIllegalState = 401;
inline constexpr int kNotReady = 600;
inline constexpr int kIllegalAddress = 700;
inline constexpr int kLaunchOutOfResources = 701;
inline constexpr int kLaunchTimeout = 702;
inline constexpr int kAssert = 710;
inline constexpr int kHardwareStackError = 714;
inline constexpr int kIllegalInstruction = 715;
inline constexpr int kMisalignedAddress = 716;
inline constexpr int kInvalidAddressSpace = 717;
inline constexpr int kInvalidPc = 718;
inline constexpr int kLaunchFailed = 719;
inline constexpr int kCooperativeTooLarge = 720;
/// The range of codes for operations that a capture does not allow.
inline constexpr int kCaptureUnsupported = 900;
inline constexpr int kCaptureWrongThread = 908;
inline constexpr int kInvalidClusterSize = 912;
/// The CUdevice_attribute, CUfunction_attribute and CUjit_option values in use.
inline constexpr int kRegistersPerBlock = 12;
inline constexpr int kMultiprocessorCount = 16;
inline constexpr int kThreadsPerMultiprocessor = 39;
inline constexpr int kMajor = 75;
inline constexpr int kMinor = 76;
inline constexpr int kSharedPerMultiprocessor = 81;
inline constexpr int kRegistersPerMultiprocessor = 82;
inline constexpr int kSharedOptin = 97;
inline constexpr int kBlocksPerMultiprocessor = 106;
inline constexpr int kFunctionSharedBytes = 1;
inline constexpr int kFunctionLocalBytes = 3;
inline constexpr int kFunctionRegisters = 4;
inline constexpr int kFunctionMaxDynamicShared = 8;
/// Flags of streams and of pinned memory, and the capture mode that restricts no other calls.
inline constexpr unsigned kNonBlocking = 1;
inline constexpr unsigned kHostPortable = 1, kHostMapped = 2;
inline constexpr int kCaptureRelaxed = 2;
/// CUstreamCaptureStatus, CUstreamUpdateCaptureDependencies_flags.
inline constexpr int kCaptureActive = 1;
inline constexpr unsigned kAddDependencies = 0;
inline constexpr int kJitErrorLog = 5;
inline constexpr int kJitErrorLogBytes = 6;

struct Driver {
#define CUDA_SYMBOL(name, parameters) int(*name) parameters = nullptr;
#include "runtime/cuda/symbols.def"
#undef CUDA_SYMBOL

  /// Returns for example "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
  std::string text_of(int code) const;
};

/// Unavailable names the missing library or function.
Result<Driver> load_driver(const std::string& library = "libcuda.so.1");

}  // namespace gpuemu::cuda
