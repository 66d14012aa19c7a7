#include "runtime/emulator/checks/access.h"

#include <algorithm>
#include <array>
#include <bit>

#include "common/base/text.h"
#include "runtime/emulator/checks/index_overflow.h"
#include "runtime/emulator/checks/last_word.h"
#include "runtime/emulator/checks/piece_notes.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/report/element_names.h"
#include "runtime/ptx/language.h"

namespace gpuemu::emulator {
namespace {
constexpr std::string_view kShared = "shared";

/// Returns the lanes whose address is aligned; reports the others.
uint32_t aligned_lanes(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                       Access access) {
  Tally bad;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((warp.masks.running >> lane & 1) != 0 && (address[lane] & (bytes - 1)) != 0) bad.note(lane);
  }
  if (bad.lanes == 0) return warp.masks.running;
  Allocation* near = warp.launch->memory->nearest(address[bad.first]);
  CheckReport incident{.kind = DeviceFindingKind::Misaligned,
                       .message = fmt::format("{} {} bytes at {:#x}, which is not a multiple of {}",
                                              verb(access), bytes, address[bad.first], bytes),
                       .lane = bad.first,
                       .count = bad.count()};
  if (near != nullptr) {
    incident.tensor = near->name;
    incident.byte_offset = static_cast<int64_t>(address[bad.first] - near->base);
    if (near->contains(address[bad.first], 1)) {
      incident.message =
          fmt::format("{} {} bytes at byte offset {} of '{}', which is not a multiple of {}",
                      verb(access), bytes, incident.byte_offset, near->name, bytes);
    }
  }
  report_check(warp, step, std::move(incident));
  return warp.masks.running & ~bad.lanes;
}

/// Returns whether no byte of the access was ever written.
bool unwritten(const uint8_t* shadow, uint32_t bytes) {
  return std::all_of(shadow, shadow + bytes, [](uint8_t byte) { return byte == 0; });
}

/// Returns whether some element was never written at all. A partly written one is not reported:
/// copies of structures with padding read such elements.
bool undefined(const Step& step, const uint8_t* shadow, uint32_t bytes, Access access) {
  const uint32_t element =
      access == Access::Load ? bytes / std::max(step.elements().count, 1u) : bytes;
  for (uint32_t at = 0; at + element <= bytes; at += element) {
    if (unwritten(shadow + at, element)) return true;
  }
  return false;
}

/// Lanes that read uninitialised memory. For a plain load this matters only when the value is used.
struct UndefinedRead {
  Tally lanes;
  std::string where;  ///< Describes the place of the first lane's access.
  std::string why = " before anything was written there";
  std::string tensor;
  int64_t offset = 0;
  std::array<const uint8_t*, kLanes> shadows{};
  /// Null for memory that kernels do not compute into.
  std::array<const ByteSources*, kLanes> sources{};
  std::array<uint64_t, kLanes> places{};  ///< Offset of the first byte in `sources`.

  void note(uint32_t lane, const uint8_t* shadow, const ByteSources* from, uint64_t place) {
    lanes.note(lane);
    shadows[lane] = shadow;
    sources[lane] = from;
    places[lane] = place;
  }
  uint32_t source(uint32_t lane, uint32_t byte) const {
    return sources[lane] == nullptr ? 0 : sources[lane]->at(places[lane] + byte);
  }
  Cause cause(uint32_t from) const {
    const std::string_view said =
        from == 0 ? std::string_view(why) : ", which was computed from memory that nothing wrote";
    return {.kind = DeviceFindingKind::Uninitialized,
            .what = fmt::format("reads {}{}", where, said),
            .tensor = tensor,
            .byte_offset = offset,
            .source = from,
            .is_moved = from == 0};
  }
};

/// Calls `take` once per source, with those of `lanes` that have this source.
template <typename Take>
void for_each_source(const UndefinedRead& read, uint32_t lanes, uint32_t byte, const Take& take) {
  while (lanes != 0) {
    const uint32_t source = read.source(static_cast<uint32_t>(std::countr_zero(lanes)), byte);
    uint32_t same = 0;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      if (read.source(lane, byte) == source) same |= uint32_t{1} << lane;
    }
    take(same, source);
    lanes &= ~same;
  }
}

void note_undefined(Warp& warp, const Step& step, uint32_t bytes, const UndefinedRead& read) {
  if (read.lanes.lanes == 0) return;
  const ptx::Opcode opcode = instruction_of(warp, step).opcode;
  if (opcode == ptx::Opcode::Cp) return;  // The copied bytes stay as undefined as they are here.
  const bool defers = warp.launch->inputs.checks.defers;
  const bool updates = opcode == ptx::Opcode::Atom || opcode == ptx::Opcode::Red;
  if (updates && defers) {
    return for_each_source(read, read.lanes.lanes, 0, [&](uint32_t lanes, uint32_t source) {
      warp.tracking.definedness.updated(warp, step, lanes, read.cause(source));
    });
  }
  if (defers && opcode == ptx::Opcode::Ldmatrix) return;  // It handles each element itself.
  if (defers && opcode == ptx::Opcode::Wmma) {
    return for_each_source(read, read.lanes.lanes, 0, [&](uint32_t lanes, uint32_t source) {
      Definedness& tracked = warp.tracking.definedness;
      tracked.note_element(warp, step, tracked.fragment_element, lanes, read.cause(source));
    });
  }
  if (opcode != ptx::Opcode::Ld) {
    return report_check(warp, step,
                        {.kind = DeviceFindingKind::Uninitialized,
                         .message = read.cause(0).what,
                         .lane = read.lanes.first,
                         .tensor = read.tensor,
                         .byte_offset = read.offset,
                         .count = read.lanes.count()});
  }
  const uint32_t count = step.elements().count, size = bytes / count;
  for (uint32_t element = 0; element < count; ++element) {
    uint32_t lanes = 0;
    for (uint32_t left = read.lanes.lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      if (unwritten(read.shadows[lane] + element * size, size)) lanes |= uint32_t{1} << lane;
    }
    for_each_source(read, lanes, element * size, [&](uint32_t same, uint32_t source) {
      warp.tracking.definedness.note_element(warp, step, element, same, read.cause(source));
    });
  }
}

/// Finds what `lanes` read at these offsets of shared memory.
UndefinedRead read_of_shared(Warp& warp, const Step& step, uint32_t lanes, const uint64_t* offset) {
  const SharedMemory& shared = warp.block->shared;
  UndefinedRead read;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    read.note(lane, shared.defined.data() + offset[lane], &shared.sources, offset[lane]);
  }
  const uint64_t first = offset[read.lanes.first];
  read.offset = static_cast<int64_t>(first);
  read.where = fmt::format("shared memory {}",
                           shared_place(warp, first, element_bytes(instruction_of(warp, step))));
  return read;
}

/// Reports lanes that read bytes of an asynchronous copy that is still in flight.
void report_in_flight(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                      uint32_t lanes) {
  const uint8_t* shadow = warp.block->shared.defined.data();
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
  report_check(
      warp, step,
      {.kind = DeviceFindingKind::RaceAsync,
       .message = fmt::format(
           "reads shared memory {} before {} has been waited for",
           shared_place(warp, where, element_bytes(instruction_of(warp, step))),
           copy != nullptr ? describe(warp.launch->inputs.program->module, *copy) : "a copy to it"),
       .lane = bad.first,
       .byte_offset = static_cast<int64_t>(where),
       .count = bad.count(),
       .other = copy});
}

/// Returns a hint for a kernel whose dynamic shared memory has no size.
std::string about_dynamic(Warp& warp) {
  const bool none =
      warp.code().names_dynamic && warp.launch->inputs.config->dynamic_shared_bytes == 0;
  if (!none) return "";
  const bool cpp = ptx::language_of(warp.launch->inputs.program->module) == ptx::Language::Cpp;
  return fmt::format(": the launch gives the dynamic part{} no bytes; set its `shared`",
                     cpp ? " (extern __shared__)" : "");
}

/// Returns the lanes whose access is inside a window of `size` bytes; reports the others.
uint32_t window_lanes(Warp& warp, const Step& step, const uint64_t* address, uint64_t size,
                      uint32_t bytes, std::pair<std::string_view, Access> what) {
  uint32_t lanes = aligned_lanes(warp, step, address, bytes, what.second);
  Tally bad;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (address[lane] > size || bytes > size - address[lane]) bad.note(lane);
  }
  if (bad.lanes == 0) return lanes;
  const auto offset = static_cast<int64_t>(address[bad.first]);
  report_check(
      warp, step,
      {.kind = DeviceFindingKind::OutOfBounds,
       .message = fmt::format("{} {} at offset {} of {} memory, which has {}{}", verb(what.second),
                              counted(bytes, "byte"), offset, what.first, counted(size, "byte"),
                              what.first == kShared ? about_dynamic(warp) : ""),
       .lane = bad.first,
       .byte_offset = offset,
       .count = bad.count()});
  return lanes & ~bad.lanes;
}

void define_once(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                 uint32_t lanes) {
  Tally again;
  const Allocation* of = nullptr;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    Allocation* known = warp.launch->memory->find(address[lane], bytes);
    if (!known->tracked) continue;
    uint8_t* shadow = known->shadow(address[lane]);
    if (std::any_of(shadow, shadow + bytes, [](uint8_t byte) { return byte != 0; })) {
      if (again.lanes == 0) of = known;
      again.note(lane);
    }
    std::fill_n(shadow, bytes, uint8_t{1});
  }
  if (again.lanes == 0) return;
  const uint64_t offset = address[again.first] - of->base;
  report_check(
      warp, step,
      {.kind = DeviceFindingKind::WrittenTwice,
       .message = fmt::format("writes {} at byte offset {} of '{}'{}, which {} written before",
                              counted(bytes, "byte"), offset, of->name,
                              element_text(offset, element_bytes(instruction_of(warp, step))),
                              bytes == 1 ? "was" : "were"),
       .lane = again.first,
       .tensor = of->name,
       .byte_offset = static_cast<int64_t>(offset),
       .count = again.count()});
}
}  // namespace

const Allocation* look_up(Warp& warp, const Step& step, uint64_t address, uint64_t bytes) {
  Allocation* const found = warp.launch->memory->find(address, bytes);
  if (found != nullptr) warp.registers.allocations[step.cache()] = found;
  return found;
}

void report_outside(Warp& warp, const Step& step, const Tally& bad, uint64_t address,
                    uint32_t bytes, Access access) {
  Allocation* near = warp.launch->memory->nearest(address);
  CheckReport incident{
      .kind = DeviceFindingKind::OutOfBounds, .lane = bad.first, .count = bad.count()};
  const std::string what = fmt::format("{} {}", verb(access), counted(bytes, "byte"));
  if (near == nullptr) {
    incident.message = fmt::format("{} at {:#x}, which belongs to no tensor", what, address);
  } else {
    incident.tensor = near->name;
    incident.byte_offset = static_cast<int64_t>(address - near->base);
    incident.message =
        fmt::format("{} at byte offset {} of '{}', which {}", what, incident.byte_offset,
                    near->name, near->freed ? "was freed" : "has " + counted(near->bytes, "byte"));
  }
  incident.message += explain_wrap(warp, step, bad.first);
  report_check(warp, step, std::move(incident));
}

uint32_t resolve_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                        Access access) {
  const uint32_t aligned = aligned_lanes(warp, step, address, bytes, access);
  Allocation* known = warp.registers.allocations[step.cache()];
  Tally outside;
  uint32_t lanes = 0;
  for (uint32_t left = aligned; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (known == nullptr || !known->contains(address[lane], bytes)) {
      Allocation* found = warp.launch->memory->find(address[lane], bytes);
      if (found == nullptr) {
        if (ending_in_word(warp, step, address[lane], bytes) == nullptr) outside.note(lane);
        continue;
      }
      known = found;
    }
    lanes |= uint32_t{1} << lane;
  }
  warp.registers.allocations[step.cache()] = known;
  if (outside.lanes != 0) {
    report_outside(warp, step, outside, address[outside.first], bytes, access);
  }
  note_unwritten_global(warp, step, address, bytes, access, lanes);
  return lanes;
}

void note_unwritten_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                           Access access, uint32_t lanes) {
  if (access == Access::Store || !warp.launch->inputs.checks.init) return;
  Allocation* in = warp.registers.allocations[step.cache()];
  const auto look_up_lane = [&](uint32_t lane) {
    if (in != nullptr && in->contains(address[lane], bytes)) return;
    in = warp.launch->memory->find(address[lane], bytes);
  };
  uint32_t undefined_lanes = 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    look_up_lane(lane);
    if (in->all_defined || !undefined(step, in->shadow(address[lane]), bytes, access)) continue;
    undefined_lanes |= uint32_t{1} << lane;
  }
  if (undefined_lanes == 0) return;
  UndefinedRead read;
  for (uint32_t left = undefined_lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    look_up_lane(lane);
    const uint64_t offset = address[lane] - in->base;
    read.note(lane, in->shadow(address[lane]), &in->sources, offset);
    if (lane != read.lanes.first) continue;
    read.tensor = in->name;
    read.offset = static_cast<int64_t>(offset);
    read.where = fmt::format("byte offset {} of '{}'{}", offset, in->name,
                             element_text(offset, element_bytes(instruction_of(warp, step))));
  }
  note_undefined(warp, step, bytes, read);
}

uint32_t resolve_shared(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                        Access access) {
  const uint32_t lanes =
      window_lanes(warp, step, address, warp.launch->inputs.shared_bytes, bytes, {kShared, access});
  if (access == Access::Store || !warp.launch->inputs.checks.init) return lanes;
  const uint8_t* const defined = warp.block->shared.defined.data();
  if (pieces_are_written(defined, address, bytes, lanes)) return lanes;
  uint32_t undefined_lanes = 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const bool is_undefined = undefined(step, defined + address[lane], bytes, access);
    if (is_undefined) undefined_lanes |= uint32_t{1} << lane;
  }
  if (undefined_lanes != 0) {
    note_undefined(warp, step, bytes, read_of_shared(warp, step, undefined_lanes, address));
  }
  report_in_flight(warp, step, address, bytes, lanes);
  return lanes;
}

void note_undefined_shared(Warp& warp, const Step& step, uint32_t element, uint32_t lanes,
                           const uint64_t* offset) {
  const UndefinedRead read = read_of_shared(warp, step, lanes, offset);
  for_each_source(read, lanes, 0, [&](uint32_t same, uint32_t source) {
    warp.tracking.definedness.note_element(warp, step, element, same, read.cause(source));
  });
}

uint32_t resolve_param(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes) {
  const uint32_t lanes = window_lanes(warp, step, address, warp.launch->inputs.params.size(), bytes,
                                      {"parameter", Access::Load});
  note_param_gaps(warp, step, address, bytes, lanes);
  return lanes;
}

void note_param_gaps(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                     uint32_t lanes) {
  if (!warp.launch->inputs.checks.init) return;
  const uint8_t* const given = warp.launch->inputs.params_given.data();
  const auto is_gap = [&](uint32_t lane) {
    return (lanes >> lane & 1) != 0 && undefined(step, given + address[lane], bytes, Access::Load);
  };
  uint32_t lane = 0;
  while (lane < kLanes && !is_gap(lane)) ++lane;
  if (lane == kLanes) return;
  UndefinedRead read;
  for (; lane < kLanes; ++lane) {
    if (is_gap(lane)) read.note(lane, given + address[lane], nullptr, 0);
  }
  read.where = fmt::format("byte {} of the kernel's parameters", address[read.lanes.first]);
  read.why = ", where no parameter lies";
  note_undefined(warp, step, bytes, read);
}

void refuse_param(Warp& warp, const Step& step, const uint64_t* address) {
  const auto lane = static_cast<uint32_t>(std::countr_zero(warp.masks.running));
  report_check(
      warp, step,
      {.kind = DeviceFindingKind::OutOfBounds,
       .message = fmt::format("writes to byte {} of the kernel's parameters, which are constant",
                              address[lane]),
       .lane = lane,
       .count = static_cast<uint64_t>(std::popcount(warp.masks.running))});
}

uint32_t resolve_local(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                       Access access) {
  const uint64_t size = warp.local_end();
  const uint32_t lanes = window_lanes(
      warp, step, address, std::min<uint64_t>(size, warp.local.stride), bytes, {"local", access});
  if (!warp.launch->inputs.checks.init) return lanes;
  // Unoptimised code reads whole words of variables to set a few of their bits.
  const bool debug = warp.launch->inputs.program->module.debug;
  uint32_t undefined_lanes = 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t place = uint64_t{lane} * warp.local.stride + address[lane];
    uint8_t* shadow = warp.local.defined.data() + place;
    if (access == Access::Store) {
      std::fill(shadow, shadow + bytes, uint8_t{1});
    } else if (!debug && undefined(step, shadow, bytes, access)) {
      undefined_lanes |= uint32_t{1} << lane;
    }
  }
  if (undefined_lanes != 0) {
    UndefinedRead read;
    for (uint32_t left = undefined_lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      const uint64_t place = uint64_t{lane} * warp.local.stride + address[lane];
      read.note(lane, warp.local.defined.data() + place, &warp.local.sources, place);
    }
    read.offset = static_cast<int64_t>(address[read.lanes.first]);
    read.where = fmt::format("byte offset {} of local memory", read.offset);
    note_undefined(warp, step, bytes, read);
  }
  return lanes;
}

void define_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                   uint32_t lanes) {
  if (warp.launch->inputs.checks.writes) return define_once(warp, step, address, bytes, lanes);
  Allocation* known = warp.registers.allocations[step.cache()];
  const uint64_t span = uint64_t{bytes} * kLanes;
  if (lanes == kNone && known != nullptr && known->contains(address[0], span)) {
    bool row = true;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      row = row && address[lane] - address[0] == uint64_t{lane} * bytes;
    }
    if (row && known->tracked) std::fill_n(known->shadow(address[0]), span, uint8_t{1});
    if (row) return;
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (known == nullptr || !known->contains(address[lane], bytes)) {
      known = warp.launch->memory->find(address[lane], bytes);
    }
    if (known->tracked) std::fill_n(known->shadow(address[lane]), bytes, uint8_t{1});
  }
}

void split_generic(Warp& warp, const Step& step, uint64_t* address, const SpaceHandlers& handlers) {
  const uint32_t all = warp.masks.running;
  for (const uint64_t window : {uint64_t{0}, kSharedWindow, kLocalWindow, kParamWindow}) {
    uint32_t lanes = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint64_t high = address[lane] & kWindowMask;
      const bool other = high != kSharedWindow && high != kLocalWindow && high != kParamWindow;
      if ((all >> lane & 1) != 0 && (window == 0 ? other : high == window)) {
        lanes |= uint32_t{1} << lane;
      }
    }
    uint32_t ranked = 0;
    for (uint32_t left = window == kSharedWindow ? lanes : 0; left != 0; left &= left - 1) {
      if ((address[std::countr_zero(left)] >> kRankShift & kRankMask) != 0) {
        ranked |= left & (0 - left);
      }
    }
    if (ranked != 0) access_ranked(warp, step, address, ranked);
    lanes &= ~ranked;
    if (lanes == 0) continue;
    uint64_t of_space[kLanes];
    const uint64_t first = address[std::countr_zero(lanes)];
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      of_space[lane] = ((lanes >> lane & 1) != 0 ? address[lane] : first) - window;
    }
    warp.masks.running = lanes;
    (window == 0               ? handlers.global
     : window == kSharedWindow ? handlers.shared
     : window == kLocalWindow  ? handlers.local
                               : handlers.param)(warp, step, of_space);
  }
  warp.masks.running = all;
}

}  // namespace gpuemu::emulator
