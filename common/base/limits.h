// Every limit of gpuemu, with its reason. Nothing else in the project is a bare number of this
// kind.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gpuemu {

/// Dimensions of a tensor. NumPy stops at 32 (64 since 2.0); kernels use fewer than 8.
inline constexpr size_t kRankMax = 16;
/// Tensors of one case (inputs, outputs and scratch).
inline constexpr size_t kTensorsMax = 64;
/// Bytes of one tensor in a request or a case: above it a request is a mistake, not a test.
inline constexpr uint64_t kTensorBytesMax = uint64_t{4} << 30;
/// Bytes of one message on the wire. Batches of 100 cases may be tens of MiB.
inline constexpr size_t kMessageBytesMax = size_t{1} << 30;
/// Nesting of a JSON document: the protocol needs 8.
inline constexpr int kJsonDepthMax = 64;
/// sockaddr_un holds 108 bytes with the terminator.
inline constexpr size_t kSocketPathBytesMax = 107;
/// Standard output of one reference script: the largest tensor in base64, and then some.
inline constexpr size_t kScriptOutputBytesMax = size_t{512} << 20;
/// Standard error kept of one reference script: what fits a screen many times over.
inline constexpr size_t kScriptErrorBytesMax = size_t{64} << 10;
/// Files that hold source text or PTX: read into a module, PTX takes forty times its size, in the
/// daemon and in each worker.
inline constexpr size_t kSourceBytesMax = size_t{64} << 20;
/// Characters of one message shown to people; longer ones are cut in the middle.
inline constexpr size_t kMessageCharsMax = 4096;
/// Histories of global memory that the race detector keeps: sixteen bytes for every four. Tensors
/// beyond are not watched.
inline constexpr uint64_t kRaceHistoryBytesMax = uint64_t{2} << 30;
/// Findings kept of one case: the first tell the story, the rest are counted.
inline constexpr size_t kFindingsMax = 64;
/// Cases of one request: a day of fuzzing at full speed.
inline constexpr uint64_t kIterationsMax = 100'000'000;
/// Cases that one GetTestBatch returns.
inline constexpr uint64_t kBatchCasesMax = 10'000;
/// Failures that one reply lists; the rest are counted and stay in storage.
inline constexpr size_t kFailuresListedMax = 1000;
/// PTX instructions that one launch may execute per thread block before it counts as a runaway.
inline constexpr uint64_t kWarpInstructionsMax = uint64_t{4} << 30;
/// Longest time a launch may ask for: a month, far below where clocks overflow.
inline constexpr uint64_t kTimeoutMsMax = uint64_t{1000} * 60 * 60 * 24 * 30;
/// CUDA's own launch limits (programming guide, table of technical specifications).
inline constexpr uint32_t kThreadsPerBlockMax = 1024;
inline constexpr uint32_t kGridXMax = 2147483647;
inline constexpr uint32_t kGridYzMax = 65535;
inline constexpr uint32_t kBlockZMax = 64;
/// What ptxas allows: shared memory that the source declares, parameters of an entry before and
/// since .version 8.1, and local memory of a thread.
inline constexpr uint32_t kStaticSharedMax = 49152;
inline constexpr uint32_t kEntryParamsMaxBefore81 = 4352;
inline constexpr uint32_t kEntryParamsMax = 32764;
inline constexpr uint32_t kLocalBytesMax = 512 << 10;
/// What malloc in kernels has, the driver's default (cudaLimitMallocHeapSize).
inline constexpr uint64_t kDeviceHeapBytes = 8 << 20;
/// Parameters of a function, and of all calls in one: thousands of ordinary calls.
inline constexpr uint32_t kFunctionParamsMax = 1 << 20;
/// Shared variables of a module: each entry has its own, and modules may have hundreds.
inline constexpr uint32_t kModuleSharedMax = 64 << 20;
/// Registers of one warp in one function: 400,000 of 64 bits, 30 times what compilers produce.
inline constexpr uint32_t kFrameBytesMax = 100 << 20;
/// Calls in progress; CUDA's default stack of 1 KiB per thread ends far earlier.
inline constexpr uint32_t kCallDepthMax = 4096;
/// Lanes that wait for each other in nested branches and calls: a program whose branches never meet
/// again would add to them for ever.
inline constexpr size_t kWaitingMax = 1 << 18;
/// Device printf: CUDA's own buffer has 1 MiB.
inline constexpr size_t kPrintedLinesMax = 10000;
inline constexpr size_t kPrintedBytesMax = size_t{1} << 20;
/// Blocks of a cluster that every device with clusters runs (more is an opt-in of some).
inline constexpr uint64_t kClusterBlocksMax = 8;
/// Guard bytes on each side of a tensor; a warp's worth of 8-byte stores.
inline constexpr size_t kGuardBytes = 256;
/// Alignment of device allocations, as cudaMalloc promises.
inline constexpr size_t kDeviceAlignment = 256;
/// How long a client waits for a daemon that it has started.
inline constexpr std::chrono::milliseconds kDaemonStartTimeout{10'000};
/// How long SIGTERM may take before SIGKILL follows.
inline constexpr std::chrono::milliseconds kStopTimeout{5'000};

}  // namespace gpuemu
