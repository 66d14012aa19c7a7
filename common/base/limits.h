// The limits of kernels and data, each with its reason. Limits of the daemon's service are in
// service_limits.h. No other code contains such numbers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gpuemu {

/// Dimensions of a tensor. NumPy allows 32 (64 since 2.0); kernels use fewer than 8.
inline constexpr size_t kRankMax = 16;
/// Tensors of one case (inputs, outputs and scratch).
inline constexpr size_t kTensorsMax = 64;
/// Bytes of one tensor in a request or a case. A larger request is a mistake rather than a test.
inline constexpr uint64_t kTensorBytesMax = uint64_t{4} << 30;
/// Bytes of one message on the wire. Batches of 100 cases can be tens of MiB.
inline constexpr size_t kMessageBytesMax = size_t{1} << 30;
/// Nesting depth of a JSON document; the protocol needs 8.
inline constexpr int kJsonDepthMax = 64;
/// sockaddr_un holds 108 bytes, including the terminator.
inline constexpr size_t kSocketPathBytesMax = 107;
/// Standard output of one reference script: the largest tensor in base64, with some room.
inline constexpr size_t kScriptOutputBytesMax = size_t{512} << 20;
/// Standard error kept per reference script: many screens.
inline constexpr size_t kScriptErrorBytesMax = size_t{64} << 10;
/// Files with source text or PTX. A module parsed from PTX takes forty times the file's size, in
/// the daemon and in each worker.
inline constexpr size_t kSourceBytesMax = size_t{64} << 20;
/// Characters of one message; longer ones are cut in the middle.
inline constexpr size_t kMessageCharsMax = 4096;
/// Memory for race histories of global memory: seventeen bytes for every four, of which one is used
/// where whole warps access whole rows. Tensors beyond it are not checked.
inline constexpr uint64_t kRaceHistoryBytesMax = uint64_t{2} << 30;
/// Registers and shared memory that the emulator keeps for the next launch of a kernel: of one
/// cluster, since larger ones cost little beside their launch, and of all, as many as the launches
/// of a small training step need.
inline constexpr uint64_t kKeptClusterBytesMax = uint64_t{2} << 20;
inline constexpr uint64_t kKeptClustersBytesMax = uint64_t{16} << 20;
/// Findings kept per case; the others are counted.
inline constexpr size_t kFindingsMax = 64;
/// Cases of one request: a day of fuzzing at full speed.
inline constexpr uint64_t kIterationsMax = 100'000'000;
/// Cases that one GetTestBatch returns.
inline constexpr uint64_t kBatchCasesMax = 10'000;
/// Failures that one reply lists; the rest are counted and stay in storage.
inline constexpr size_t kFailuresListedMax = 1000;
/// PTX instructions per warp after which a launch counts as an endless loop.
inline constexpr uint64_t kWarpInstructionsMax = uint64_t{4} << 30;
/// Longest timeout of a launch: a month, far below the overflow of clocks.
inline constexpr uint64_t kTimeoutMsMax = uint64_t{1000} * 60 * 60 * 24 * 30;
/// CUDA's own launch limits (programming guide, table of technical specifications).
inline constexpr uint32_t kThreadsPerBlockMax = 1024;
inline constexpr uint32_t kGridXMax = 2147483647;
inline constexpr uint32_t kGridYzMax = 65535;
inline constexpr uint32_t kBlockZMax = 64;
/// Limits of ptxas: shared memory declared in the source, parameters of an entry before and since
/// .version 8.1, and local memory of a thread.
inline constexpr uint32_t kStaticSharedMax = 49152;
inline constexpr uint32_t kEntryParamsMaxBefore81 = 4352;
inline constexpr uint32_t kEntryParamsMax = 32764;
inline constexpr uint32_t kLocalBytesMax = 512 << 10;
/// Heap of malloc in kernels: the driver's default (cudaLimitMallocHeapSize).
inline constexpr uint64_t kDeviceHeapBytes = 8 << 20;
/// Parameters of a function, and of all calls in one function: thousands of ordinary calls.
inline constexpr uint32_t kFunctionParamsMax = 1 << 20;
/// Shared variables of a module: each entry has its own, and modules can have hundreds of entries.
inline constexpr uint32_t kModuleSharedMax = 64 << 20;
/// Registers of one warp in one function: 400,000 of 64 bits, 30 times what compilers produce.
inline constexpr uint32_t kFrameBytesMax = 100 << 20;
/// Nested calls; CUDA's default stack of 1 KiB per thread overflows much earlier.
inline constexpr uint32_t kCallDepthMax = 4096;
/// Waiting entries in nested branches and calls; a program whose branches never reconverge would
/// add entries forever.
inline constexpr size_t kWaitingMax = 1 << 18;
/// Device printf; CUDA's own buffer has 1 MiB.
inline constexpr size_t kPrintedLinesMax = 10000;
inline constexpr size_t kPrintedBytesMax = size_t{1} << 20;
/// Blocks of a cluster that every device with clusters supports, and those that some do by opt-in.
inline constexpr uint64_t kClusterBlocksMax = 8, kLargeClusterBlocksMax = 16;
/// Guard bytes on each side of a tensor: 8-byte stores of one warp.
inline constexpr size_t kGuardBytes = 256;
/// Alignment of device allocations, as cudaMalloc promises.
inline constexpr size_t kDeviceAlignment = 256;
/// Time that a client waits for a daemon it has started.
inline constexpr std::chrono::milliseconds kDaemonStartTimeout{10'000};
/// Time after SIGTERM until SIGKILL follows.
inline constexpr std::chrono::milliseconds kStopTimeout{5'000};

}  // namespace gpuemu
