// The limits of the daemon's service: requests, jobs, programs. Limits of kernels and data are in
// limits.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gpuemu {

/// Results or failures per listing: a reply must stay below the largest message that clients read.
inline constexpr size_t kResultsListedMax = 10'000;
/// Input snapshots per reply; base64 makes them a third larger.
inline constexpr size_t kSnapshotReplyBytesMax = size_t{64} << 20;
/// Shards of a CI run: more machines than any project has, and few enough that products of shard
/// numbers do not overflow.
inline constexpr uint64_t kShardsMax = 10'000;
/// Inputs of one case that clients draw or an op script receives. They cross pipes as base64 in
/// JSON, so a case takes several times this memory while it runs.
inline constexpr uint64_t kClientCaseBytesMax = uint64_t{512} << 20;
/// Files and architectures of one Inspect; each pair is one run of a compiler.
inline constexpr size_t kInspectFilesMax = 10'000;
inline constexpr size_t kInspectArchsMax = 16;
/// Slots of a daemon, and concurrent cases or compilers of one run: more than any machine has
/// cores.
inline constexpr uint32_t kWorkersMax = 1024;
/// Longest time that a job may be kept running after the last poll, and the time that commands
/// request: they poll five times a second.
inline constexpr std::chrono::milliseconds kJobLeaseMax{std::chrono::hours(24)};
inline constexpr std::chrono::milliseconds kCommandLease{30'000};
/// Unfinished requests and jobs of all sessions. Each has a thread, and a job has several, which
/// take a few KiB while they wait. If the system runs out of threads, a job uses fewer.
inline constexpr size_t kRequestsUnfinishedMax = 4096;
/// Weight of a session: no session waits more than a hundred times as long as another.
inline constexpr double kSessionWeightMin = 0.01, kSessionWeightMax = 100;
/// Open sessions of clients; each may have its own work.
inline constexpr size_t kSessionsMax = 4096;
/// Delay after which a request that was refused because of too many waiting ones should be
/// repeated: a few cases later.
inline constexpr std::chrono::milliseconds kBusyRetry{250};
/// Size of a gpuemu.toml: thousands of ops.
inline constexpr size_t kConfigBytesMax = size_t{16} << 20;
/// Terms of a sum; no tensor has more elements.
inline constexpr int64_t kAccumulateMax = int64_t{1} << 32;
/// Elements of the largest tensor of a usual case, small enough that hundreds of cases take
/// seconds.
inline constexpr int64_t kUsualElementsMax = 1 << 18;
/// Upper limit of max_elements; no tensor has more.
inline constexpr int64_t kMaxElementsMax = int64_t{1} << 32;
/// Defaults of max_elements: more than 2^16 blocks of 256 threads. A case of this many float32
/// takes some seconds; on a GPU most of it is the reference and the comparison.
inline constexpr int64_t kLargeElementsEmulator = 20'000'000;
inline constexpr int64_t kLargeElementsCuda = 100'000'000;
/// Limit of the product of all dims of a case, as a multiple of max_elements. The product
/// approximates the work of a kernel such as a matrix product.
inline constexpr int64_t kWorkPerElementMax = 16;
/// Expected time limit of a large case, including reference and comparison. A run of 64 usual cases
/// takes about a second.
inline constexpr uint64_t kLargeCaseMsMax = 10'000;
/// Divisor of runtime.memory_limit_mb that gives the memory for the tensors of a large case;
/// layouts with gaps, scratch and guards need the rest.
inline constexpr uint64_t kLargeMemoryShare = 4;
/// Entries of one list in messages between daemon and worker.
inline constexpr uint32_t kWireListMax = 1 << 20;
/// Modules that one worker holds, current and outdated: kernels and dtypes of a project.
inline constexpr size_t kWorkerModulesMax = 256;
/// Lines of a kernel's printf kept per case; the device may keep more.
inline constexpr size_t kPrintedLinesKept = 1000;
/// Freed memory that a process keeps for the next case, and the largest block taken from it: the
/// tensors of small cases, widened to 64 bits.
inline constexpr int kFreedBytesKept = 64 << 20;
inline constexpr int kHeapBlockBytesMax = 32 << 20;
/// Findings that one report explains, the elements of a case up to which it does so, the time limit
/// of one run without rounding (tens of times as slow as the case), and the limit for all of them.
/// A user waits for a report; `gpuemu explain` has no such limits.
inline constexpr size_t kDiagnosesMax = 16;
inline constexpr int64_t kDiagnosedElementsMax = 1 << 18;
inline constexpr uint64_t kDiagnosedCaseMsMax = 5'000;
inline constexpr uint64_t kDiagnoseMsMax = 30'000;
/// Compiler-sensitive cases that the report of one op and dtype lists.
inline constexpr size_t kFragileListedMax = 12;
/// Time that a running daemon may take until it answers: on a cold disk it searches for a Python
/// with NumPy and waits for its database lock.
inline constexpr std::chrono::milliseconds kDaemonStartMax{60'000};

}  // namespace gpuemu
