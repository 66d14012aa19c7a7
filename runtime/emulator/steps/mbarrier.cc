// mbarrier: counting barriers in shared memory that also count the bytes of bulk copies.
#include "runtime/emulator/machine/mbarrier.h"

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/steps/async.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {

constexpr uint32_t kMbarrierBytes = 8;
constexpr int64_t kBytesMax = kMbarrierCountMax;

void init(Warp& warp, const Step& step, LaneAddress named) {
  const auto at = locate_shared(warp, step, named.address, named.lane, kMbarrierBytes);
  if (!at) return;
  const uint32_t count = warp.u32(step.src[1])[named.lane];
  if (mbarrier_state(*at->block, at->offset) == MbarrierState::Valid) {
    report_mbarrier(warp, step, named, "is initialised already; mbarrier.inval has to come first");
  }
  if (count == 0 || count > kMbarrierCountMax) {
    return report_mbarrier(warp, step, named,
                           fmt::format("is initialised for {} arrivals; 1 to {} are possible",
                                       count, kMbarrierCountMax));
  }
  write_mbarrier(*at->block, at->offset, {.pending = count, .expected = count});
}

/// Adds to the number of bytes that the phase waits for.
bool expect_bytes(Warp& warp, const Step& step, LaneAddress named, int64_t bytes, Mbarrier& state) {
  const int64_t sum = state.bytes + bytes;
  if (sum > kBytesMax || sum < -kBytesMax) {
    report_mbarrier(
        warp, step, named,
        fmt::format("would wait for {} bytes; at most {} are possible", sum, kBytesMax));
    return false;
  }
  state.bytes = static_cast<int32_t>(sum);
  return true;
}

void arrive(Warp& warp, const Step& step, LaneAddress named) {
  const auto at = locate_mbarrier(warp, step, named);
  if (!at) return;
  Mbarrier state = read_mbarrier(*at->block, at->offset);
  if (step.dst != kTrueOffset) warp.u64(step.dst)[named.lane] = pack(state);
  const uint32_t given = warp.u32(step.src[1])[named.lane];
  const auto& arrival = step.operands.get<MbarrierOperands>();
  const bool expects = arrival.expects_bytes;
  const uint32_t count = expects ? 1 : given;
  if (expects && !expect_bytes(warp, step, named, given, state)) return;
  if (count == 0 || count > state.pending) {
    return report_mbarrier(
        warp, step, named,
        fmt::format("gets {} arrivals while its phase waits for {}", count, state.pending));
  }
  if (arrival.drops) state.expected -= std::min(state.expected, count);
  state.pending -= count;
  if (arrival.is_no_complete && state.pending == 0 && state.bytes == 0) {
    report_mbarrier(warp, step, named, "ends its phase by an arrival with .noComplete");
  }
  write_mbarrier(*at->block, at->offset, state);
}

void count_bytes(Warp& warp, const Step& step, LaneAddress named, bool complete) {
  const auto at = locate_mbarrier(warp, step, named);
  if (!at) return;
  Mbarrier state = read_mbarrier(*at->block, at->offset);
  const int64_t bytes = warp.u32(step.src[1])[named.lane];
  if (expect_bytes(warp, step, named, complete ? -bytes : bytes, state)) {
    write_mbarrier(*at->block, at->offset, state);
  }
}

/// Returns whether the phase given by src[1], as parity or as the state before an arrival, has
/// completed.
bool ended(Warp& warp, const Step& step, uint32_t lane, const Mbarrier& state) {
  const bool by_parity = step.operands.get<MbarrierWaitOperands>().by_parity;
  const bool odd =
      by_parity ? (warp.u32(step.src[1])[lane] & 1) != 0 : unpack(warp.u64(step.src[1])[lane]).odd;
  return odd != state.odd;
}
}  // namespace

LaneAddress address_of(Warp& warp, const Step& step, const MbarrierAddress& where, uint32_t lane) {
  const auto offset = static_cast<uint64_t>(where.offset);
  return {lane, where.is_wide
                    ? warp.u64(step.src[0])[lane] + offset
                    : uint64_t{static_cast<uint32_t>(warp.u32(step.src[0])[lane] + offset)}};
}

void report_mbarrier(Warp& warp, const Step& step, LaneAddress named, const std::string& what) {
  const uint64_t address = named.address & kSharedOffsetMask;
  report_check(warp, step,
               {.kind = DeviceFindingKind::Mbarrier,
                .message = fmt::format("the mbarrier at shared memory {} {}",
                                       shared_place(warp, address, kMbarrierBytes), what),
                .lane = named.lane,
                .byte_offset = static_cast<int64_t>(address)});
}

std::optional<SharedPlace> locate_mbarrier(Warp& warp, const Step& step, LaneAddress named) {
  const auto at = locate_shared(warp, step, named.address, named.lane, kMbarrierBytes);
  if (!at) return std::nullopt;
  switch (mbarrier_state(*at->block, at->offset)) {
    case MbarrierState::Valid:
      return at;
    case MbarrierState::None:
      report_mbarrier(warp, step, named, "was not initialised");
      return std::nullopt;
    case MbarrierState::Overwritten:
      report_mbarrier(warp, step, named, "was overwritten by other instructions than mbarrier");
      drop_mbarrier(*at->block, at->offset);
      return std::nullopt;
  }
  return std::nullopt;
}

void mbarrier(Warp& warp, const Step& step, const MbarrierOperands& barrier) {
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const LaneAddress named = address_of(warp, step, barrier, first_lane(left));
    switch (barrier.kind) {
      case MbarrierKind::Init:
        init(warp, step, named);
        break;
      case MbarrierKind::Inval:
        if (const auto at = locate_mbarrier(warp, step, named)) {
          drop_mbarrier(*at->block, at->offset);
        }
        break;
      case MbarrierKind::Arrive:
        arrive(warp, step, named);
        break;
      case MbarrierKind::ExpectTx:
      case MbarrierKind::CompleteTx:
        count_bytes(warp, step, named, barrier.kind == MbarrierKind::CompleteTx);
        break;
    }
  }
}

void wait_mbarrier(Warp& warp, const Step& step, const MbarrierWaitOperands& wait) {
  uint32_t done = 0;
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const uint32_t lane = first_lane(left);
    const auto at = locate_mbarrier(warp, step, address_of(warp, step, wait, lane));
    if (!at) {
      done |= uint32_t{1} << lane;  // Already reported; waiting on would only add a deadlock.
      continue;
    }
    bool over = ended(warp, step, lane, read_mbarrier(*at->block, at->offset));
    if (!over) {
      settle_barrier(*at->block, at->offset);
      over = ended(warp, step, lane, read_mbarrier(*at->block, at->offset));
    }
    done |= static_cast<uint32_t>(over) << lane;
  }
  uint32_t& out = warp.pred(step.dst);
  out = (out & ~warp.masks.running) | done;
  if (done != warp.masks.running) warp.stop_slice();
}

void count_mbarrier(Warp& warp, const Step& step) {
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const uint32_t lane = first_lane(left);
    warp.u32(step.dst)[lane] = unpack(warp.u64(step.src[0])[lane]).pending;
  }
}

}  // namespace gpuemu::emulator::steps
