#include "runtime/emulator/machine/access.h"

#include <algorithm>
#include <bit>

#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/machine/program.h"

namespace gpuemu::emulator {
namespace {

/// Alignment of every lane; the misaligned are reported and taken out.
uint32_t aligned_lanes(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                       Access access) {
  Tally bad;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    if ((warp.mask >> lane & 1) != 0 && (address[lane] & (bytes - 1)) != 0) bad.note(lane);
  if (bad.lanes == 0) return warp.mask;
  Allocation* near = warp.launch->memory->nearest(address[bad.first]);
  Incident incident{.kind = "misaligned",
                    .message = fmt::format("{} {} bytes at {:#x}, which is not a multiple of {}",
                                           verb(access), bytes, address[bad.first], bytes),
                    .lane = bad.first,
                    .count = bad.count()};
  if (near != nullptr) {
    incident.tensor = near->name;
    incident.byte_offset = static_cast<int64_t>(address[bad.first] - near->base);
  }
  report(warp, ins, std::move(incident));
  return warp.mask & ~bad.lanes;
}

void report_outside(Warp& warp, const Ins& ins, const Tally& bad, uint64_t address, uint32_t bytes,
                    Access access) {
  Allocation* near = warp.launch->memory->nearest(address);
  Incident incident{.kind = "out_of_bounds", .lane = bad.first, .count = bad.count()};
  if (near == nullptr) {
    incident.message = fmt::format("{} {} bytes at {:#x}, which belongs to no tensor", verb(access),
                                   bytes, address);
  } else {
    incident.tensor = near->name;
    incident.byte_offset = static_cast<int64_t>(address - near->base);
    incident.message =
        fmt::format("{} {} bytes at byte offset {} of '{}', which has {} bytes", verb(access),
                    bytes, incident.byte_offset, near->name, near->bytes);
  }
  report(warp, ins, std::move(incident));
}

/// Whether an element was never written at all. One written in part is what copies of structures
/// with padding read.
bool undefined(const Ins& ins, const uint8_t* shadow, uint32_t bytes, Access access) {
  const bool apart = access == Access::Load && (ins.flags & kWholeAccess) == 0 && ins.count != 0;
  const uint32_t element = apart ? bytes / ins.count : bytes;
  for (uint32_t at = 0; at + element <= bytes; at += element)
    if (std::all_of(shadow + at, shadow + at + element, [](uint8_t byte) { return byte == 0; }))
      return true;
  return false;
}

void report_undefined(Warp& warp, const Ins& ins, const Tally& bad, const std::string& what,
                      int64_t offset) {
  report(warp, ins,
         {.kind = "uninitialized",
          .message = fmt::format("reads byte offset {} of {} before anything was written there",
                                 offset, what),
          .lane = bad.first,
          .tensor = what.starts_with("shared") || what.starts_with("local") ? "" : what,
          .byte_offset = offset,
          .count = bad.count()});
}

/// Lanes whose bytes a copy has not brought yet.
void report_in_flight(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                      uint32_t lanes) {
  const uint8_t* shadow = warp.block->shared_defined.data();
  Tally bad;
  uint64_t where = 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint8_t* begin = shadow + address[lane];
    const uint8_t* found = std::find(begin, begin + bytes, kInFlight);
    if (found == begin + bytes) continue;
    if (bad.lanes == 0) where = static_cast<uint64_t>(found - shadow);
    bad.note(lane);
  }
  if (bad.lanes == 0) return;
  const ptx::Instruction* copy = copy_in_flight(*warp.block, static_cast<uint32_t>(where));
  report(warp, ins,
         {.kind = "race_async",
          .message = fmt::format(
              "reads shared memory {} before {} has been waited for",
              shared_place(warp, where, element_bytes(instruction_of(warp, ins))),
              copy != nullptr ? describe(warp.launch->program->module, *copy) : "a copy to it"),
          .lane = bad.first,
          .byte_offset = static_cast<int64_t>(where),
          .count = bad.count(),
          .other = copy});
}

/// Lanes inside a window of `size` bytes.
uint32_t window_lanes(Warp& warp, const Ins& ins, const uint64_t* address, uint64_t size,
                      uint32_t bytes, std::pair<const char*, Access> what) {
  uint32_t lanes = aligned_lanes(warp, ins, address, bytes, what.second);
  Tally bad;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (address[lane] > size || bytes > size - address[lane]) bad.note(lane);
  }
  if (bad.lanes == 0) return lanes;
  const auto offset = static_cast<int64_t>(address[bad.first]);
  report(warp, ins,
         {.kind = "out_of_bounds",
          .message = fmt::format("{} {} bytes at offset {} of {} memory, which has {} bytes",
                                 verb(what.second), bytes, offset, what.first, size),
          .lane = bad.first,
          .byte_offset = offset,
          .count = bad.count()});
  return lanes & ~bad.lanes;
}
}  // namespace

const char* verb(Access access) {
  return access == Access::Load ? "reads" : access == Access::Store ? "writes" : "updates";
}

uint32_t resolve_global(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                        Access access) {
  const uint32_t aligned = aligned_lanes(warp, ins, address, bytes, access);
  Allocation* known = warp.cache[ins.cache];
  Tally outside, unwritten;
  uint32_t lanes = 0;
  for (uint32_t left = aligned; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (known == nullptr || !known->contains(address[lane], bytes)) {
      Allocation* found = warp.launch->memory->find(address[lane], bytes);
      if (found == nullptr) {
        outside.note(lane);
        continue;
      }
      known = found;
    }
    lanes |= uint32_t{1} << lane;
    if (access != Access::Store && warp.launch->checks.init && !known->all_defined &&
        undefined(ins, known->shadow(address[lane]), bytes, access))
      unwritten.note(lane);
  }
  warp.cache[ins.cache] = known;
  if (outside.lanes != 0) report_outside(warp, ins, outside, address[outside.first], bytes, access);
  if (unwritten.lanes != 0) {
    const Allocation* of = warp.launch->memory->find(address[unwritten.first], bytes);
    report_undefined(warp, ins, unwritten, of->name,
                     static_cast<int64_t>(address[unwritten.first] - of->base));
  }
  return lanes;
}

uint32_t resolve_shared(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                        Access access) {
  const uint32_t lanes =
      window_lanes(warp, ins, address, warp.launch->shared_bytes, bytes, {"shared", access});
  if (access == Access::Store || !warp.launch->checks.init) return lanes;
  Tally bad;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (undefined(ins, warp.block->shared_defined.data() + address[lane], bytes, access))
      bad.note(lane);
  }
  if (bad.lanes != 0)
    report_undefined(warp, ins, bad, "shared memory", static_cast<int64_t>(address[bad.first]));
  report_in_flight(warp, ins, address, bytes, lanes);
  return lanes;
}

uint32_t resolve_param(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes) {
  return window_lanes(warp, ins, address, warp.launch->params.size(), bytes,
                      {"parameter", Access::Load});
}

void refuse_param(Warp& warp, const Ins& ins, const uint64_t* address) {
  const auto lane = static_cast<uint32_t>(std::countr_zero(warp.mask));
  report(warp, ins,
         {.kind = "out_of_bounds",
          .message = fmt::format("writes to byte {} of the kernel's parameters, which are constant",
                                 address[lane]),
          .lane = lane,
          .count = static_cast<uint64_t>(std::popcount(warp.mask))});
}

uint32_t resolve_local(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                       Access access) {
  const uint64_t size = uint64_t{warp.frame().local_base} + warp.code().local_bytes;
  const uint32_t lanes = window_lanes(
      warp, ins, address, std::min<uint64_t>(size, warp.local_stride), bytes, {"local", access});
  if (!warp.launch->checks.init) return lanes;
  // Unoptimised code reads whole words of variables to set a few of their bits.
  const bool debug = warp.launch->program->module.debug;
  Tally bad;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    uint8_t* shadow = warp.local_defined.data() + size_t{lane} * warp.local_stride + address[lane];
    if (access == Access::Store)
      std::fill(shadow, shadow + bytes, uint8_t{1});
    else if (!debug && undefined(ins, shadow, bytes, access))
      bad.note(lane);
  }
  if (bad.lanes != 0)
    report_undefined(warp, ins, bad, "local memory", static_cast<int64_t>(address[bad.first]));
  return lanes;
}

void define_global(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                   uint32_t lanes) {
  Allocation* known = warp.cache[ins.cache];
  const uint64_t span = uint64_t{bytes} * kLanes;
  if (lanes == kNone && known != nullptr && known->contains(address[0], span)) {
    bool row = true;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      row = row && address[lane] - address[0] == uint64_t{lane} * bytes;
    if (row && known->tracked) std::fill_n(known->shadow(address[0]), span, uint8_t{1});
    if (row) return;
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (known == nullptr || !known->contains(address[lane], bytes))
      known = warp.launch->memory->find(address[lane], bytes);
    if (known->tracked) std::fill_n(known->shadow(address[lane]), bytes, uint8_t{1});
  }
}

void split_generic(Warp& warp, const Ins& ins, uint64_t* address, const SpaceHandlers& handlers) {
  const uint32_t all = warp.mask;
  for (const uint64_t window : {uint64_t{0}, kSharedWindow, kLocalWindow, kParamWindow}) {
    uint32_t lanes = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint64_t high = address[lane] & kWindowMask;
      const bool other = high != kSharedWindow && high != kLocalWindow && high != kParamWindow;
      if ((all >> lane & 1) != 0 && (window == 0 ? other : high == window))
        lanes |= uint32_t{1} << lane;
    }
    uint32_t ranked = 0;
    for (uint32_t left = window == kSharedWindow ? lanes : 0; left != 0; left &= left - 1)
      if ((address[std::countr_zero(left)] >> kRankShift & kRankMask) != 0)
        ranked |= left & (0 - left);
    if (ranked != 0) access_ranked(warp, ins, address, ranked);
    lanes &= ~ranked;
    if (lanes == 0) continue;
    uint64_t of_space[kLanes];
    const uint64_t first = address[std::countr_zero(lanes)];
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      of_space[lane] = ((lanes >> lane & 1) != 0 ? address[lane] : first) - window;
    warp.mask = lanes;
    (window == 0               ? handlers.global
     : window == kSharedWindow ? handlers.shared
     : window == kLocalWindow  ? handlers.local
                               : handlers.param)(warp, ins, of_space);
  }
  warp.mask = all;
}

}  // namespace gpuemu::emulator
