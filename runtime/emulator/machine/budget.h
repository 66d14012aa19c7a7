// How much host memory the threads of a launch may take, and how many blocks fit into it.
#pragma once

#include "common/base/result.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

/// Bytes of one block's registers, shared and local memory and their shadows, before any call.
uint64_t block_bytes(const LaunchInputs& inputs);

/// The number of host threads and of blocks in progress per host thread that fit a memory limit.
struct Residency {
  uint32_t threads = 1, blocks = 1;
};
/// Fits at most `wanted` into `limit` bytes. ResourceExhausted if not a single block fits.
Result<Residency> fit_blocks(const LaunchInputs& inputs, Residency wanted, uint64_t limit);

/// Moves the deadline forward after a read that makes the rest of the launch a matter of chance: a
/// few times as long as it took to come there is enough to see what else is wrong.
void end_soon(Launch& launch);

/// The time that all threads of this process have been executed.
std::chrono::nanoseconds processor_time();
/// The same up to a millisecond ago: it takes a system call, and small launches not much longer.
std::chrono::nanoseconds processor_time_lately(std::chrono::steady_clock::time_point now);
/// Whether a launch at its deadline had too little processor time, because other programs used the
/// processors, for this to say anything about the kernel. False from four times the timeout on.
bool is_starved(std::chrono::nanoseconds elapsed, std::chrono::nanoseconds processor,
                std::chrono::nanoseconds timeout);
/// Whether the launch is at its end; moves the deadline of one that is starved.
bool is_over(Launch& launch);

}  // namespace gpuemu::emulator
