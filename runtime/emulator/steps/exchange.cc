// Warp-level instructions: shuffles, votes, matches, reductions and carries.
#include <algorithm>
#include <array>

#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {

bool in(uint32_t mask, uint32_t lane) { return (mask >> lane & 1) != 0; }

/// Handles the lanes with one member mask; `present` are those of its members that execute here.
using Exchange = void (*)(Warp& warp, const Step& step, uint32_t present);

/// The order that an instruction establishes between its lanes.
enum class Orders : uint8_t { Reads, All };
void note_order(Warp& warp, uint32_t members, Orders orders) {
  if (orders == Orders::All) {
    warp.sync_lanes(members);
  } else {
    warp.meet_lanes(members);
  }
}

/// Runs `one` for every group of lanes that have the same member mask in register `source`.
void for_groups(Warp& warp, const Step& step, uint32_t source, Exchange one,
                Orders orders = Orders::Reads) {
  const uint32_t all = warp.masks.running;
  uint32_t common = kNone;
  for (uint32_t lane = 0; lane < kLanes; ++lane) common &= warp.u32(source)[lane];
  if (all == kNone && common == kNone) {  // All lanes with a full mask: nothing to check.
    if (warp.await_lanes(step, kNone)) return;
    note_order(warp, kNone, orders);
    return one(warp, step, kNone);
  }
  std::array<uint32_t, kLanes> named{};
  std::copy_n(warp.u32(source), kLanes, named.begin());
  uint32_t wanted = 0;
  for (uint32_t left = all; left != 0; left &= left - 1) wanted |= named[first_lane(left)];
  if (warp.await_lanes(step, wanted)) return;
  for (uint32_t left = all; left != 0;) {
    const uint32_t lead = first_lane(left);
    uint32_t group = 0;
    for (uint32_t lane = lead; lane < kLanes; ++lane) {
      if (in(left, lane) && named[lane] == named[lead]) group |= uint32_t{1} << lane;
    }
    left &= ~group;
    warp.masks.running = group;
    note_order(warp, named[lead] | group, orders);
    // A mask may name lanes that exited, unless they skipped this instruction before.
    const uint32_t absent = (named[lead] & warp.masks.alive & ~group) | warp.gone_past(named[lead]),
                   strangers = group & ~named[lead];
    if (warp.launch->inputs.checks.sync && (absent != 0 || strangers != 0)) {
      report_check(warp, step,
                   {.kind = DeviceFindingKind::IllegalMask,
                    .message = fmt::format(
                        "member mask {:#010x} does not match the lanes that execute it, {:#010x}",
                        named[lead], group),
                    .lane = lead});
    }
    one(warp, step, named[lead] & group);
  }
  warp.masks.running = all;
}
void set_pred(Warp& warp, uint32_t offset, uint32_t value) {
  uint32_t& out = warp.pred(offset);
  out = (out & ~warp.masks.running) | (value & warp.masks.running);
}
void set_all(Warp& warp, uint32_t offset, uint32_t value) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (in(warp.masks.running, lane)) warp.u32(offset)[lane] = value;
  }
}
}  // namespace

void warp_barrier(Warp& warp, const Step& step) {
  for_groups(warp, step, step.src[0], [](Warp&, const Step&, uint32_t) {}, Orders::All);
}

namespace {
/// The result for a lane whose source does not take part: undefined, and often discarded. It is a
/// NaN in every float type, so that it shows up in results of kernels that use it.
constexpr uint32_t kUndefinedShuffle = 0x7fffffff;

/// Computes the source of every lane: itself if the named one is out of range. Returns a mask of
/// the lanes whose source is in range.
template <ShuffleKind Kind>
uint32_t shuffle_sources(const uint32_t* offsets, const uint32_t* clamps, uint32_t* from) {
  uint32_t valid = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t b = offsets[lane] & 31, c = clamps[lane];
    const uint32_t clamp = c & 31, segment = c >> 8 & 31;
    const uint32_t first = lane & segment, last = first | (clamp & ~segment);
    const uint32_t source = Kind == ShuffleKind::Up     ? lane - b
                            : Kind == ShuffleKind::Down ? lane + b
                            : Kind == ShuffleKind::Bfly ? lane ^ b
                                                        : first | (b & ~segment);
    const bool ok = Kind == ShuffleKind::Up
                        ? static_cast<int32_t>(source) >= static_cast<int32_t>(last)
                        : source <= last;
    from[lane] = ok ? source : lane;
    valid |= static_cast<uint32_t>(ok) << lane;
  }
  return valid;
}

/// Marks the value of a lane as undefined if its source does not take part.
void follow_shuffle(Warp& warp, const Step& step, uint32_t present, const uint32_t* from) {
  std::array<uint32_t, kLanes> source{};
  uint32_t nobody = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    source[lane] = from[lane] & 31;
    if (in(warp.masks.running, lane) && !in(present, source[lane])) nobody |= uint32_t{1} << lane;
  }
  if (warp.tracking.active) warp.tracking.definedness.shuffled(warp, step, source);
  if (nobody != 0) {
    warp.tracking.definedness.note_element(
        warp, step, 0, nobody,
        {DeviceFindingKind::Uninitialized, "takes the value of a lane that takes no part"});
  }
}

/// Shuffles a whole warp in one segment, as reductions and broadcasts do; then every named lane
/// exists. Otherwise does nothing and returns false.
template <ShuffleKind Kind>
bool shuffle_whole(Warp& warp, const Step& step, uint32_t present) {
  if ((Kind != ShuffleKind::Idx && Kind != ShuffleKind::Bfly) ||
      (warp.masks.running & present) != kNone || warp.tracking.active) {
    return false;
  }
  const uint32_t *offsets = warp.u32(step.src[1]), *clamps = warp.u32(step.src[2]);
  uint32_t other = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) other |= clamps[lane] ^ (kLanes - 1);
  if (other != 0) return false;
  uint32_t values[kLanes], from[kLanes];
  std::copy_n(warp.u32(step.src[0]), kLanes, values);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    from[lane] = (Kind == ShuffleKind::Bfly ? lane ^ offsets[lane] : offsets[lane]) & (kLanes - 1);
  }
  uint32_t* out = warp.u32(step.dst);
  for (uint32_t lane = 0; lane < kLanes; ++lane) out[lane] = values[from[lane]];
  const uint32_t predicate = step.operands.get<ShuffleOperands>().predicate;
  if (predicate != kNone) warp.pred(predicate) = kNone;
  return true;
}

template <ShuffleKind Kind>
void shuffle_group(Warp& warp, const Step& step, uint32_t present) {
  if (shuffle_whole<Kind>(warp, step, present)) return;
  uint32_t values[kLanes], from[kLanes];
  std::copy_n(warp.u32(step.src[0]), kLanes, values);
  for (uint32_t left = ~present; left != 0; left &= left - 1) {
    values[first_lane(left)] = kUndefinedShuffle;
  }
  const uint32_t valid = shuffle_sources<Kind>(warp.u32(step.src[1]), warp.u32(step.src[2]), from);
  uint32_t* out = warp.u32(step.dst);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (in(warp.masks.running, lane)) out[lane] = values[from[lane] & 31];
  }
  const uint32_t predicate = step.operands.get<ShuffleOperands>().predicate;
  if (predicate != kNone) set_pred(warp, predicate, valid);
  if (warp.launch->inputs.checks.init && (warp.tracking.active || present != kNone)) {
    follow_shuffle(warp, step, present, from);
  }
}
}  // namespace
void shuffle(Warp& warp, const Step& step, const ShuffleOperands& shuffle) {
  switch (shuffle.kind) {
    case ShuffleKind::Up:
      return for_groups(warp, step, step.src[3], shuffle_group<ShuffleKind::Up>);
    case ShuffleKind::Down:
      return for_groups(warp, step, step.src[3], shuffle_group<ShuffleKind::Down>);
    case ShuffleKind::Bfly:
      return for_groups(warp, step, step.src[3], shuffle_group<ShuffleKind::Bfly>);
    case ShuffleKind::Idx:
      return for_groups(warp, step, step.src[3], shuffle_group<ShuffleKind::Idx>);
  }
}

namespace {
void vote_group(Warp& warp, const Step& step, uint32_t present) {
  const uint32_t yes = warp.pred(step.src[0]) & present;
  switch (step.operands.get<VoteOperands>().kind) {
    case VoteKind::Ballot:
      return set_all(warp, step.dst, yes);
    case VoteKind::All:
      return set_pred(warp, step.dst, yes == present ? kNone : 0);
    case VoteKind::Any:
      return set_pred(warp, step.dst, yes != 0 ? kNone : 0);
    case VoteKind::Uni:
      return set_pred(warp, step.dst, yes == present || yes == 0 ? kNone : 0);
  }
}
}  // namespace
void vote(Warp& warp, const Step& step, const VoteOperands&) {
  for_groups(warp, step, step.src[1], vote_group);
}

namespace {
void match_group(Warp& warp, const Step& step, uint32_t present) {
  const auto& match = step.operands.get<MatchOperands>();
  const auto value = [&](uint32_t lane) {
    return match.is_wide ? warp.u64(step.src[0])[lane] : uint64_t{warp.u32(step.src[0])[lane]};
  };
  uint32_t same[kLanes] = {};
  bool all = true;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t other = 0; other < kLanes && in(present, lane); ++other) {
      if (in(present, other) && value(other) == value(lane)) same[lane] |= uint32_t{1} << other;
    }
  }
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (in(present, lane)) all = all && same[lane] == present;
  }
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (in(warp.masks.running, lane)) {
      warp.u32(step.dst)[lane] = !match.of_all ? same[lane] : all ? present : 0;
    }
  }
  if (match.predicate != kNone) set_pred(warp, match.predicate, all ? kNone : 0);
}
}  // namespace
void match(Warp& warp, const Step& step, const MatchOperands&) {
  for_groups(warp, step, step.src[1], match_group);
}

void activemask(Warp& warp, const Step& step) { set_all(warp, step.dst, warp.masks.running); }

namespace {
void elect_group(Warp& warp, const Step& step, uint32_t present) {
  const uint32_t leader = first_lane(present == 0 ? warp.masks.running : present);
  if (step.dst != kTrueOffset) set_all(warp, step.dst, leader);
  set_pred(warp, step.operands.get<ElectOperands>().predicate, uint32_t{1} << leader);
}
}  // namespace
void elect(Warp& warp, const Step& step, const ElectOperands&) {
  for_groups(warp, step, step.src[0], elect_group);
}

namespace {
void reduce_group(Warp& warp, const Step& step, uint32_t present) {
  const uint32_t* values = warp.u32(step.src[0]);
  uint32_t total = values[first_lane(present == 0 ? warp.masks.running : present)];
  for (uint32_t left = present & (present - 1); left != 0; left &= left - 1) {
    const uint32_t v = values[first_lane(left)];
    const auto a = static_cast<int32_t>(total), b = static_cast<int32_t>(v);
    switch (step.operands.get<ReduceOperands>().kind) {
      case ReduceKind::Add:
        total += v;
        break;
      case ReduceKind::MinS:
        total = a < b ? total : v;
        break;
      case ReduceKind::MaxS:
        total = a > b ? total : v;
        break;
      case ReduceKind::MinU:
        total = std::min(total, v);
        break;
      case ReduceKind::MaxU:
        total = std::max(total, v);
        break;
      case ReduceKind::And:
        total &= v;
        break;
      case ReduceKind::Or:
        total |= v;
        break;
      case ReduceKind::Xor:
        total ^= v;
        break;
    }
  }
  set_all(warp, step.dst, total);
}
}  // namespace
void reduce(Warp& warp, const Step& step, const ReduceOperands&) {
  for_groups(warp, step, step.src[1], reduce_group);
}

/// dst = a + b + carry, or a + ~b + carry: after a subtraction the flag means that nothing was
/// borrowed. Compiled code relies on this when it reads the flag with addc.
void add_carry(Warp& warp, const Step& step, const CarryOperands& carries) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (!in(warp.masks.running, lane)) continue;
    const bool wide = carries.is_wide, sub = carries.subtracts;
    const uint64_t a = wide ? warp.u64(step.src[0])[lane] : warp.u32(step.src[0])[lane];
    const uint64_t b = wide ? warp.u64(step.src[1])[lane] : warp.u32(step.src[1])[lane];
    const bool first = !carries.takes_carry;
    const uint64_t carry = (first ? sub : in(warp.registers.carry, lane)) ? 1 : 0;
    const uint64_t all = wide ? ~uint64_t{0} : uint64_t{kNone};
    __extension__ using Wide = unsigned __int128;
    const Wide result = Wide{a} + (sub ? ~b & all : b) + carry;
    if (wide) {
      warp.u64(step.dst)[lane] = static_cast<uint64_t>(result);
    } else {
      warp.u32(step.dst)[lane] = static_cast<uint32_t>(result);
    }
    if (!carries.gives_carry) continue;
    const bool out = (static_cast<uint64_t>(result >> (wide ? 64 : 32)) & 1) != 0;
    warp.registers.carry =
        (warp.registers.carry & ~(uint32_t{1} << lane)) | static_cast<uint32_t>(out) << lane;
  }
}

}  // namespace gpuemu::emulator::steps
