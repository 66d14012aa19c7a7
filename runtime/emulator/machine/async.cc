#include "runtime/emulator/machine/async.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/emulator/machine/mbarrier.h"
#include "runtime/emulator/machine/program.h"
#include "runtime/emulator/machine/races.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {
namespace {

uint32_t first_lane(uint32_t mask) { return static_cast<uint32_t>(std::countr_zero(mask)); }

/// The lanes write the bytes when they arrive. In another function than the copy's that is only
/// kept, for those that come after.
void note_arrival(Warp& warp, const AsyncCopy& copy, uint32_t lanes) {
  Block& block = *warp.block;
  if (block.race.empty()) return;
  if (warp.depth != 0 && &warp.code() == copy.code) {
    std::array<uint64_t, kLanes> to{};
    std::ranges::copy(copy.to, to.begin());
    return note_shared(warp, *copy.ins, to.data(), copy.bytes, Access::Store, lanes, 0);
  }
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_lane(rest);
    for (uint32_t word = copy.to[lane] / 4; word <= (copy.to[lane] + copy.bytes - 1) / 4; ++word) {
      RaceWord written = block.race.load(word);
      written.write = block.epoch << kWarpBits | (warp.index + 1);
      written.write_site = site_number(copy.site);
      written.writers = uint32_t{1} << warp.index;
      written.write_lanes = uint32_t{1} << lane;
      written.write_event = warp.order.now();
      written.written_bytes = written.write_parts = kWholeWord;
      block.race.store(word, written);
    }
  }
}

/// The copied bytes are as defined as their source; zeros that fill the rest are.
void define_arrival(Warp& warp, const AsyncCopy& copy, uint32_t lane) {
  Block& block = *warp.block;
  if (block.shared_defined.empty()) return;
  uint8_t* const shadow = block.shared_defined.data() + copy.to[lane];
  std::fill_n(shadow, copy.bytes, uint8_t{1});
  const uint32_t size = copy.size[lane];
  Allocation* const from = size != 0 ? warp.launch->memory->find(copy.from[lane], size) : nullptr;
  if (from == nullptr || !from->tracked || from->all_defined) return;
  const uint8_t* const source = from->shadow(copy.from[lane]);
  for (uint32_t i = 0; i < size; ++i) shadow[i] = source[i] != 0 ? uint8_t{1} : uint8_t{0};
}

void drop_empty(std::vector<AsyncCopy>& copies) {
  std::erase_if(copies, [](const AsyncCopy& copy) { return copy.lanes == 0; });
}

/// Lanes of `copy` whose group is among those that must have arrived.
uint32_t due(const WarpCopies& of, const AsyncCopy& copy, uint32_t lanes, uint32_t left) {
  uint32_t out = 0;
  for (uint32_t rest = copy.lanes & lanes; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_lane(rest);
    if (copy.group[lane] + left < of.commits[lane]) out |= uint32_t{1} << lane;
  }
  return out;
}

void settle_arrivals(Warp& warp, uint32_t barrier) {
  WarpCopies& copies = *warp.copies;
  for (AsyncArrival& arrival : copies.arrivals) {
    uint32_t lanes = 0;
    for (uint32_t rest = arrival.lanes; rest != 0; rest &= rest - 1)
      if (arrival.barrier[first_lane(rest)] == barrier) lanes |= rest & (0 - rest);
    if (lanes == 0) continue;
    arrival.lanes &= ~lanes;
    for (AsyncCopy& copy : copies.copies)
      if (copy.serial < arrival.serial) arrive(warp, copy, copy.lanes & lanes);
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

std::byte* host(const BulkEnd& end) {
  return end.block != nullptr ? end.block->shared.data() + end.at
                              : reinterpret_cast<std::byte*>(end.at);
}

/// Shadow bytes of an end; none where everything counts as defined.
uint8_t* defined(Launch& launch, const BulkEnd& end, uint64_t bytes) {
  if (!launch.checks.init) return nullptr;
  if (end.block != nullptr) return end.block->shared_defined.data() + end.at;
  Allocation* allocation = launch.memory->find(end.at, bytes);
  return allocation != nullptr && allocation->tracked ? allocation->shadow(end.at) : nullptr;
}
}  // namespace

void note_source(Warp& warp, const AsyncCopy& copy, uint32_t lanes) {
  if (warp.launch->races == nullptr || warp.depth == 0 || &warp.code() != copy.code) return;
  uint32_t whole = 0;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_lane(rest);
    if (copy.size[lane] == copy.bytes) whole |= uint32_t{1} << lane;
    if (copy.size[lane] == copy.bytes || copy.size[lane] == 0) continue;
    after_global(warp, *copy.ins, copy.from.data(), copy.size[lane], Access::Load,
                 uint32_t{1} << lane);
  }
  if (whole != 0) after_global(warp, *copy.ins, copy.from.data(), copy.bytes, Access::Load, whole);
}

void arrive(Warp& warp, AsyncCopy& copy, uint32_t lanes) {
  if (lanes == 0) return;
  Block& block = *warp.block;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_lane(rest);
    std::byte* to = block.shared.data() + copy.to[lane];
    const uint32_t size = copy.size[lane];
    if (size != 0) std::memcpy(to, reinterpret_cast<const void*>(copy.from[lane]), size);
    if (size < copy.bytes) std::memset(to + size, 0, copy.bytes - size);
    define_arrival(warp, copy, lane);
  }
  note_arrival(warp, copy, lanes);
  note_source(warp, copy, lanes);
  copy.lanes &= ~lanes;
}

void wait_for_copies(Warp& warp, uint32_t lanes, uint32_t left) {
  if (warp.copies == nullptr) return;
  for (AsyncCopy& copy : warp.copies->copies)
    arrive(warp, copy, due(*warp.copies, copy, lanes, left));
  drop_empty(warp.copies->copies);
}

void arrive(Warp* reporter, BulkCopy& copy) {
  Launch& launch = *(copy.to.block != nullptr ? copy.to.block : copy.from.block)->launch;
  std::byte *to = host(copy.to), *from = host(copy.from);
  if (reporter != nullptr && !copy.seen.empty() &&
      std::memcmp(copy.seen.data(), from, copy.bytes) != 0)
    report(
        *reporter, *reporter->ins,
        {.kind = "race_async",
         .message = fmt::format("shared memory was changed while {} could still read it: wait with "
                                "cp.async.bulk.wait_group.read before it is written again",
                                describe(launch.program->module, *copy.source)),
         .lane = copy.lane,
         .other = copy.source});
  if (copy.combine != nullptr)
    copy.combine(copy.how, to, from, copy.bytes);
  else
    std::memmove(to, from, copy.bytes);
  uint8_t* shadow = defined(launch, copy.to, copy.bytes);
  if (shadow == nullptr) return;
  const uint8_t* source = defined(launch, copy.from, copy.bytes);
  for (uint64_t i = 0; i < copy.bytes; ++i)
    shadow[i] = source == nullptr || source[i] != 0 ? uint8_t{1} : uint8_t{0};
}

void settle_barrier(Block& block, uint32_t barrier) {
  for (size_t i = 0; i < block.bulk.size();) {
    if (block.bulk[i].barrier != barrier) {
      ++i;
      continue;
    }
    BulkCopy copy = std::move(block.bulk[i]);
    block.bulk.erase(block.bulk.begin() + static_cast<std::ptrdiff_t>(i));
    arrive(nullptr, copy);
    if (mbarrier_state(block, barrier) != MbarrierState::Valid) continue;
    Mbarrier state = read_mbarrier(block, barrier);
    state.bytes -= static_cast<int32_t>(copy.bytes);
    // A phase that ends here is what somebody waits for; the rest belongs to later ones.
    if (write_mbarrier(block, barrier, state)) break;
  }
  for (Warp& warp : block.warps)
    if (warp.copies != nullptr && !warp.copies->arrivals.empty()) settle_arrivals(warp, barrier);
}

const ptx::Instruction* copy_in_flight(const Block& block, uint32_t offset) {
  for (const Warp& warp : block.warps) {
    if (warp.copies == nullptr) continue;
    for (const AsyncCopy& copy : warp.copies->copies)
      for (uint32_t rest = copy.lanes; rest != 0; rest &= rest - 1)
        if (offset - copy.to[first_lane(rest)] < copy.bytes) return copy.source;
  }
  for (const BulkCopy& copy : block.bulk)
    if (copy.to.block == &block && offset - copy.to.at < copy.bytes) return copy.source;
  return nullptr;
}

const BulkCopy* unfinished_bulk(const Block& block) {
  for (const Warp& warp : block.warps)
    if (warp.copies != nullptr && !warp.copies->bulk.empty()) return &warp.copies->bulk.front();
  return block.bulk.empty() ? nullptr : &block.bulk.front();
}

}  // namespace gpuemu::emulator
