#include "runtime/emulator/program/budget.h"

#include <algorithm>
#include <ctime>

#include "common/base/limits.h"
#include "runtime/emulator/memory/race_history.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {
namespace {
constexpr auto kGrace = std::chrono::milliseconds(500);
constexpr int kGraceShare = 4;
constexpr int kStarvedMax = 4;  ///< The timeout is extended to at most this multiple.
}  // namespace

uint64_t block_bytes(const LaunchInputs& inputs) {
  const Dim3& block = inputs.config->block;
  const uint64_t warps = (uint64_t{block.x} * block.y * block.z + kLanes - 1) / kLanes;
  const Code& entry = *inputs.entry;
  // Local memory doubles when it grows, and has definedness bytes. Shared memory has two shadows,
  // and two histories if volatile accesses are checked for races.
  const uint64_t per_lane = entry.param_bytes + uint64_t{4} * entry.local_bytes;
  const uint64_t per_warp = entry.frame_bytes + per_lane * kLanes;
  return warps * per_warp + uint64_t{inputs.shared_bytes} * (2 + 2 * kRaceBytesPerWord / 4) +
         uint64_t{inputs.program->cached} * sizeof(Allocation*);
}

Result<Residency> fit_blocks(const LaunchInputs& inputs, Residency wanted, uint64_t limit) {
  const uint64_t one = std::max<uint64_t>(block_bytes(inputs), 1);
  const uint64_t fitting = limit / one;
  if (fitting == 0) {
    return error(ErrorCode::ResourceExhausted,
                 "a block of entry '{}' needs {} bytes of the host for its registers, local and "
                 "shared memory, the limit is {}; use fewer threads per block",
                 inputs.entry->name, one, limit);
  }
  Residency made;
  made.threads = static_cast<uint32_t>(std::min<uint64_t>(wanted.threads, fitting));
  made.blocks = static_cast<uint32_t>(std::min<uint64_t>(wanted.blocks, fitting / made.threads));
  return made;
}

void end_soon(Launch& launch) {
  if (launch.clock.cut_short.load(std::memory_order_relaxed)) return;
  const auto now = std::chrono::steady_clock::now();
  const auto grace = std::max<std::chrono::steady_clock::duration>(
      kGrace, kGraceShare * (now - launch.clock.began));
  if (now + grace >= launch.clock.deadline.load() || launch.clock.cut_short.exchange(true)) return;
  launch.clock.deadline = now + grace;
}

void start_timeout(Launch& launch, std::chrono::steady_clock::time_point now) {
  launch.clock.began = now;
  launch.clock.counted_from = now;
  launch.clock.processor_then = processor_time_lately(now);
  launch.clock.deadline =
      now + std::chrono::milliseconds(std::min(launch.inputs.config->timeout_ms, kTimeoutMsMax));
}

std::chrono::nanoseconds processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::chrono::nanoseconds processor_time_lately(std::chrono::steady_clock::time_point now) {
  thread_local std::chrono::steady_clock::time_point asked;
  thread_local std::chrono::nanoseconds told;
  if (now - asked > std::chrono::milliseconds(1)) {
    asked = now;
    told = processor_time();
  }
  return told;
}

bool is_starved(std::chrono::nanoseconds elapsed, std::chrono::nanoseconds processor,
                std::chrono::nanoseconds timeout) {
  return 2 * processor < elapsed && elapsed < kStarvedMax * timeout;
}

namespace {
/// Begins the timeout anew in its second half if a block has ended since it began.
void restart_timeout(Launch& launch, std::chrono::steady_clock::time_point now) {
  LaunchClock& clock = launch.clock;
  const auto timeout = std::chrono::milliseconds(launch.inputs.config->timeout_ms);
  if (clock.cut_short || now < clock.deadline.load() - timeout / 2) return;
  const uint64_t executed = launch.progress.executed.load(std::memory_order_relaxed);
  if (clock.executed_then.load() == executed) return;
  clock.counted_from = now;
  clock.processor_then = processor_time();
  clock.deadline = now + timeout;
  clock.executed_then = executed;  // Last, because other threads then compare with the deadline.
}
}  // namespace

bool is_over(Launch& launch) {
  const auto now = std::chrono::steady_clock::now();
  LaunchClock& clock = launch.clock;
  const LaunchConfig& config = *launch.inputs.config;
  if (config.timeout_restarts) restart_timeout(launch, now);
  if (now <= clock.deadline.load()) return false;
  const auto timeout = std::chrono::milliseconds(config.timeout_ms);
  const bool goes_on = config.timeout_stretches && !clock.cut_short &&
                       is_starved(now - clock.counted_from.load(),
                                  processor_time() - clock.processor_then.load(), timeout);
  if (goes_on) clock.deadline = now + timeout / 2;
  return !goes_on;
}

}  // namespace gpuemu::emulator
