// Shared by the steps of bulk copies: cp.async.bulk with and without a tensor map.
#pragma once

#include <cstdint>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/machine/async_copies.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

/// Reports a copy's source or destination to the race detectors, as accesses by the lane that
/// starts the copy, `width` bytes at a time.
void note_end(Warp& warp, const Step& step, const BulkCopy& copy, const BulkEnd& end, Access access,
              uint32_t width);
/// Records the whole destination as written when the copy starts.
void note_target(Warp& warp, const Step& step, const BulkCopy& copy);
/// Combines each element by `BulkCopy::reduction`.
void combine_elements(const BulkCopy& copy, std::byte* to, const std::byte* from);
/// Copies to the same offset in every block of the mask and signals that block's mbarrier.
void multicast(Warp& warp, const Step& step, const BulkCopy& copy, uint32_t blocks);
/// Adds the copy to the lane's current bulk group, which the lane can wait for.
void add_to_group(Warp& warp, BulkCopy copy);
/// Returns whether the whole range is in one allocation; reports it otherwise.
bool has_memory(Warp& warp, const Step& step, uint32_t lane, uint64_t address, uint64_t bytes);

}  // namespace gpuemu::emulator::steps
