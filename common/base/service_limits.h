// Limits of the daemon's service: requests, jobs, programs. Those of kernels and data stand in
// limits.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gpuemu {

/// Results or failures of one listing: a reply must stay below what clients read.
inline constexpr size_t kResultsListedMax = 10'000;
/// Input snapshots of one reply; base64 makes them a third larger.
inline constexpr size_t kSnapshotReplyBytesMax = size_t{64} << 20;
/// Parts that one CI run is cut into: more machines than any project has; below it numbers of
/// shards multiply without overflow.
inline constexpr uint64_t kShardsMax = 10'000;
/// Inputs of one case that clients' requests draw or an op script gets. They cross pipes as base64
/// in JSON, so that a case takes several times as much memory while it runs.
inline constexpr uint64_t kClientCaseBytesMax = uint64_t{512} << 20;
/// Files and architectures of one Inspect: each pair is one run of a compiler.
inline constexpr size_t kInspectFilesMax = 10'000;
inline constexpr size_t kInspectArchsMax = 16;
/// Lanes of a daemon, and cases or compilers at a time of one run: more than any machine has cores.
inline constexpr uint32_t kWorkersMax = 1024;
/// How long a job may be asked to outlive the last question for it, and how long one of the command
/// line does: it asks five times a second.
inline constexpr std::chrono::milliseconds kJobLeaseMax{std::chrono::hours(24)};
inline constexpr std::chrono::milliseconds kCommandLease{30'000};
/// Requests and jobs of all sessions that are not done: each has a thread, a job some more, which
/// take a few KiB while they wait. Where the system has no more threads, a job works with fewer.
inline constexpr size_t kRequestsUnfinishedMax = 4096;
/// The weight of a session: nobody waits for more than a hundred times as long as others.
inline constexpr double kSessionWeightMin = 0.01, kSessionWeightMax = 100;
/// Sessions that clients have opened: each may have work of its own.
inline constexpr size_t kSessionsMax = 4096;
/// When a request that was refused because too many wait should be sent again: some cases later.
inline constexpr std::chrono::milliseconds kBusyRetry{250};
/// One gpuemu.toml: thousands of ops.
inline constexpr size_t kConfigBytesMax = size_t{16} << 20;
/// Terms of one sum: no tensor has more elements.
inline constexpr int64_t kAccumulateMax = int64_t{1} << 32;
/// Elements of the largest tensor of a usual case: small enough that hundreds take seconds.
inline constexpr int64_t kUsualElementsMax = 1 << 18;
/// What max_elements may be: no tensor has more.
inline constexpr int64_t kMaxElementsMax = int64_t{1} << 32;
/// What it is where nobody says: more than 2^16 blocks of 256 threads. A case of so many float32
/// takes some seconds; on a GPU the reference and the comparison take most of them.
inline constexpr int64_t kLargeElementsEmulator = 20'000'000;
inline constexpr int64_t kLargeElementsCuda = 100'000'000;
/// How many times max_elements the product of all dims of a case may be, which is about what a
/// kernel such as a matrix product computes.
inline constexpr int64_t kWorkPerElementMax = 16;
/// How long a large case may be expected to take, reference and comparison included: a run of 64
/// usual cases takes about a second.
inline constexpr uint64_t kLargeCaseMsMax = 10'000;
/// The part of runtime.memory_limit_mb that the tensors of a large case may take: layouts with
/// gaps, scratch and guards come on top.
inline constexpr uint64_t kLargeMemoryShare = 4;
/// Entries of one list between daemon and worker.
inline constexpr uint32_t kWireListMax = 1 << 20;
/// Modules that one worker holds, current and outdated: kernels and dtypes of a project.
inline constexpr size_t kWorkerModulesMax = 256;
/// Lines of a kernel's printf that a case keeps, for people; the device may keep more.
inline constexpr size_t kPrintedLinesKept = 1000;
/// Freed memory that a process keeps for the next case, and the largest block that comes from it:
/// the tensors of small cases, widened to 64 bits.
inline constexpr int kFreedBytesKept = 64 << 20;
inline constexpr int kHeapBlockBytesMax = 32 << 20;
/// Findings that one report explains, the elements of a case for which it does so, how long one run
/// without rounding may take (tens of times as long as the case) and all of them together: a report
/// is waited for, and `gpuemu explain` has no such limits.
inline constexpr size_t kDiagnosesMax = 16;
inline constexpr int64_t kDiagnosedElementsMax = 1 << 18;
inline constexpr uint64_t kDiagnosedCaseMsMax = 5'000;
inline constexpr uint64_t kDiagnoseMsMax = 30'000;
/// Fragile cases that the report of one op and dtype lists.
inline constexpr size_t kFragileListedMax = 12;
/// How long a daemon that still runs may take until it answers: on a cold disk it looks for a
/// Python with NumPy and waits for the lock of its database.
inline constexpr std::chrono::milliseconds kDaemonStartMax{60'000};

}  // namespace gpuemu
