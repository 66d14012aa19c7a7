#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/emulator/checks/async_races.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/mbarrier.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/steps/async.h"

namespace gpuemu::emulator::steps {
namespace {

/// The copied bytes are as defined as their source; zero-filled bytes are defined.
void define_arrival(Warp& warp, const AsyncCopy& copy, uint32_t lane) {
  Block& block = *warp.block;
  if (block.shared.defined.empty()) return;
  uint8_t* const shadow = block.shared.defined.data() + copy.to[lane];
  std::fill_n(shadow, copy.bytes, uint8_t{1});
  const uint32_t size = copy.size[lane];
  Allocation* const from = size != 0 ? warp.launch->memory->find(copy.from[lane], size) : nullptr;
  if (from == nullptr || !from->tracked || from->all_defined) return;
  const uint8_t* const source = from->shadow(copy.from[lane]);
  for (uint32_t i = 0; i < size; ++i) shadow[i] = source[i] != 0 ? uint8_t{1} : uint8_t{0};
  block.shared.sources.copy(block.shared.defined.size(), copy.to[lane], from->sources,
                            copy.from[lane] - from->base, size);
}

void drop_empty(std::vector<AsyncCopy>& copies) {
  std::erase_if(copies, [](const AsyncCopy& copy) { return copy.lanes == 0; });
}

/// Returns the lanes of `copy` whose group must have arrived.
uint32_t due(const WarpCopies& of, const AsyncCopy& copy, uint32_t lanes, uint32_t left) {
  uint32_t out = 0;
  for (uint32_t rest = copy.lanes & lanes; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_lane(rest);
    if (copy.group[lane] + left < of.commits[lane]) out |= uint32_t{1} << lane;
  }
  return out;
}

/// Completes a copy for `lanes`.
void arrive(Warp& warp, AsyncCopy& copy, uint32_t lanes) {
  if (lanes == 0) return;
  Block& block = *warp.block;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_lane(rest);
    std::byte* to = block.shared.bytes.data() + copy.to[lane];
    const uint32_t size = copy.size[lane];
    if (size != 0) std::memcpy(to, reinterpret_cast<const void*>(copy.from[lane]), size);
    if (size < copy.bytes) std::memset(to + size, 0, copy.bytes - size);
    define_arrival(warp, copy, lane);
  }
  note_arrival(warp, copy, lanes);
  note_source(warp, copy, lanes);
  copy.lanes &= ~lanes;
}

void settle_arrivals(Warp& warp, uint32_t barrier) {
  WarpCopies& copies = *warp.copies;
  for (AsyncArrival& arrival : copies.arrivals) {
    uint32_t lanes = 0;
    for (uint32_t rest = arrival.lanes; rest != 0; rest &= rest - 1) {
      if (arrival.barrier[first_lane(rest)] == barrier) lanes |= rest & (0 - rest);
    }
    if (lanes == 0) continue;
    arrival.lanes &= ~lanes;
    for (AsyncCopy& copy : copies.copies) {
      if (copy.serial < arrival.serial) arrive(warp, copy, copy.lanes & lanes);
    }
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      if (mbarrier_state(*warp.block, barrier) != MbarrierState::Valid) break;
      Mbarrier state = read_mbarrier(*warp.block, barrier);
      if (state.pending != 0) --state.pending;
      write_mbarrier(*warp.block, barrier, state);
    }
  }
  std::erase_if(copies.arrivals, [](const AsyncArrival& arrival) { return arrival.lanes == 0; });
  drop_empty(copies.copies);
}

}  // namespace

void wait_for_copies(Warp& warp, uint32_t lanes, uint32_t left) {
  if (warp.copies == nullptr) return;
  for (AsyncCopy& copy : warp.copies->copies) {
    arrive(warp, copy, due(*warp.copies, copy, lanes, left));
  }
  drop_empty(warp.copies->copies);
}

void settle_barrier(Block& block, uint32_t barrier) {
  for (size_t i = 0; i < block.barriers.bulk_copies.size();) {
    if (block.barriers.bulk_copies[i].barrier != barrier) {
      ++i;
      continue;
    }
    BulkCopy copy = std::move(block.barriers.bulk_copies[i]);
    block.barriers.bulk_copies.erase(block.barriers.bulk_copies.begin() +
                                     static_cast<std::ptrdiff_t>(i));
    arrive(nullptr, copy);
    if (mbarrier_state(block, barrier) != MbarrierState::Valid) continue;
    Mbarrier state = read_mbarrier(block, barrier);
    state.bytes -= static_cast<int32_t>(copy.bytes);
    // The completed phase is the one that is waited for; the rest belongs to later phases.
    if (write_mbarrier(block, barrier, state)) break;
  }
  for (Warp& warp : block.warps) {
    if (warp.copies != nullptr && !warp.copies->arrivals.empty()) settle_arrivals(warp, barrier);
  }
}

}  // namespace gpuemu::emulator::steps
