// Computes how much host memory a launch needs and how many blocks can run at once, and extends
// deadlines on a busy machine.
#pragma once

#include "common/base/result.h"
#include "runtime/emulator/program/launch.h"

namespace gpuemu::emulator {

/// Returns the bytes of one block's registers, shared and local memory and their shadows, before
/// any call.
uint64_t block_bytes(const LaunchInputs& inputs);

/// The number of host threads, and of blocks in progress on each, that fit a memory limit.
struct Residency {
  uint32_t threads = 1, blocks = 1;
};
/// Reduces `wanted` until it fits into `limit` bytes. ResourceExhausted if not even one block fits.
Result<Residency> fit_blocks(const LaunchInputs& inputs, Residency wanted, uint64_t limit);

/// Starts the clock of a launch that begins now.
void start_timeout(Launch& launch, std::chrono::steady_clock::time_point now);

/// Moves the deadline forward after a read that makes the rest of the launch unpredictable. Leaves
/// a few times the time used so far, enough to find other faults.
void end_soon(Launch& launch);

/// Returns the processor time used by all threads of this process.
std::chrono::nanoseconds processor_time();
/// Returns the same, at most a millisecond old. A fresh value takes a system call, which is slow
/// compared with a small launch.
std::chrono::nanoseconds processor_time_lately(std::chrono::steady_clock::time_point now);
/// Returns whether a launch at its deadline got too little processor time, because of other
/// programs, to conclude anything about the kernel. Always false from four times the timeout on.
bool is_starved(std::chrono::nanoseconds elapsed, std::chrono::nanoseconds processor,
                std::chrono::nanoseconds timeout);
/// Returns whether the launch must end. Moves the deadline of a launch whose timeout stretches or
/// restarts (LaunchConfig). Any thread.
bool is_over(Launch& launch);

}  // namespace gpuemu::emulator
