// Helpers of the steps of asynchronous copies and mbarriers.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/emulator/machine/async_copies.h"
#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

/// One lane's address of an mbarrier.
struct LaneAddress {
  uint32_t lane = 0;
  uint64_t address = 0;
};

inline WarpCopies& copies_of(Warp& warp) {
  if (warp.copies == nullptr) warp.copies = std::make_unique<WarpCopies>();
  return *warp.copies;
}

LaneAddress address_of(Warp& warp, const Step& step, const MbarrierAddress& where, uint32_t lane);
/// The mbarrier there, or a report of what is there instead.
std::optional<SharedPlace> locate_mbarrier(Warp& warp, const Step& step, LaneAddress at);
void report_mbarrier(Warp& warp, const Step& step, LaneAddress at, const std::string& what);
/// What `atom` and `red` do to one element.
void update_atomically(const Reduction& reduction, std::byte* to, uint64_t operand, bool global);

// async_arrivals.cc
/// Waits until at most `left` of the last groups of each of `lanes` are in flight.
void wait_for_copies(Warp& warp, uint32_t lanes, uint32_t left);
/// Completes the copies that have started and will signal the mbarrier.
void settle_barrier(Block& block, uint32_t barrier);

}  // namespace gpuemu::emulator::steps
