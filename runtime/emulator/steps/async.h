// Helpers of the steps of asynchronous copies and mbarriers.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/emulator/machine/async_copies.h"
#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

/// The address of an mbarrier in one lane.
struct LaneAddress {
  uint32_t lane = 0;
  uint64_t address = 0;
};

inline WarpCopies& copies_of(Warp& warp) {
  if (warp.copies == nullptr) warp.copies = std::make_unique<WarpCopies>();
  return *warp.copies;
}

LaneAddress address_of(Warp& warp, const Step& step, const MbarrierAddress& where, uint32_t lane);
/// Finds the mbarrier there; otherwise reports what is there and returns nothing.
std::optional<SharedPlace> locate_mbarrier(Warp& warp, const Step& step, LaneAddress at);
void report_mbarrier(Warp& warp, const Step& step, LaneAddress at, const std::string& what);
/// Applies `atom` or `red` to one element.
void update_atomically(const Reduction& reduction, std::byte* to, uint64_t operand, bool global);

// --- async_arrivals.cc ---
/// Completes copies until at most `left` of the last groups of each of `lanes` are in flight.
void wait_for_copies(Warp& warp, uint32_t lanes, uint32_t left);
/// Completes the started copies that signal this mbarrier.
void settle_barrier(Block& block, uint32_t barrier);

}  // namespace gpuemu::emulator::steps
