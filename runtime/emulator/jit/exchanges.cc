// Compiles shuffles of whole warps in one segment, as reductions and scans use them.
#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "runtime/emulator/jit/operations.h"
#include "runtime/emulator/memory/lane_clock.h"
#include "runtime/emulator/memory/race_row.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
namespace {
constexpr uint32_t kLast = kLanes - 1;

std::array<uint32_t, kHalfLanes> lanes_of(uint32_t half) {
  std::array<uint32_t, kHalfLanes> lanes{};
  for (uint32_t i = 0; i < kHalfLanes; ++i) lanes[i] = half * kHalfLanes + i;
  return lanes;
}

/// Computes into `from` the source lanes for half a warp. k7: the lanes that read from themselves
/// because their source is out of range.
void find_sources(Emitter& e, ShuffleKind kind, const Vector& from, const Vector& named,
                  uint32_t half) {
  const Xbyak::Address lanes = e.constant(lanes_of(half));
  const Vector distance = e.scratch(0);
  switch (kind) {
    case ShuffleKind::Bfly:
      return e.vpxord(from, named, lanes);
    case ShuffleKind::Idx:
      return e.vmovdqa32(from, named);
    case ShuffleKind::Down:
      e.vpandd(distance, named, e.splat(kLast));
      e.vpaddd(from, distance, lanes);
      e.vpcmpud(e.k7, from, e.splat(kLast), kGreater);
      break;
    case ShuffleKind::Up:
      e.vpandd(distance, named, e.splat(kLast));
      e.vmovdqa32(from, lanes);
      e.vpsubd(from, from, distance);
      e.vpmovd2m(e.k7, from);
      break;
  }
  e.vmovdqa32(from | e.k7, lanes);
}

/// Jumps to `others` unless every lane's member mask names all lanes.
void expect_all(Emitter& e, const Vectors& members, const Xbyak::Label& others) {
  e.vpcmpd(e.k7, members.at[0], e.splat(kNone), kNotEqual);
  e.vpcmpd(e.k0, members.at[1], e.splat(kNone), kNotEqual);
  e.kortestw(e.k7, e.k0);
  e.jnz(others, kNear);
}

/// The race detectors must know that the lanes have synchronised.
enum class Watched : uint8_t { No, Shared, Global };

/// Lets rows be noted at the next event, if they could be at the last, whose number is in ecx.
void go_on_with_rows(Emitter& e) {
  constexpr uint32_t kEvents = (uint32_t{kCellEventsMax} - 1) << kCellSiteBits;
  Xbyak::Label stale;
  e.mov(e.rdx, e.ptr[e.rsp + Emitter::kRowsAt]);
  e.cmp(e.dword[e.rdx + static_cast<int>(offsetof(RowTags, event))], e.ecx);
  e.jne(stale);
  e.mov(e.r8, e.ptr[e.rdx + static_cast<int>(offsetof(RowTags, stem))]);
  e.mov(e.r9d, e.r8d);
  e.not_(e.r9d);
  e.test(e.r9d, kEvents);
  e.jz(stale);  // A segment has room for no more of them.
  e.add(e.r8, 1 << kCellSiteBits);
  e.mov(e.ptr[e.rdx + static_cast<int>(offsetof(RowTags, stem))], e.r8);
  e.inc(e.dword[e.rdx + static_cast<int>(offsetof(RowTags, event))]);
  e.L(stale);
}

/// Does what LaneClock::order_reads() does; jumps to `others` if the clock is full.
void count_meeting(Emitter& e, Watched watched, const Xbyak::Label& others) {
  e.mov(e.rax, e.ptr[e.rsp + Emitter::kLaneEventAt]);
  e.mov(e.ecx, e.dword[e.rax]);
  e.cmp(e.ecx, LaneClock::kEventsMax);
  e.je(others, kNear);
  if (watched == Watched::Global) go_on_with_rows(e);
  e.inc(e.ecx);
  e.mov(e.dword[e.rax], e.ecx);
  e.mov(e.dword[e.rax + static_cast<int>(offsetof(LaneClock::Counts, read_ordered))], e.ecx);
}

void shuffle(Emitter& e, const Step& step, Watched watched) {
  const auto& [kind, predicate] = step.operands.get<ShuffleOperands>();
  const bool may_miss = kind == ShuffleKind::Up || kind == ShuffleKind::Down;
  const bool fixed = constant_at(e.code(), step.src[3]).has_value();
  const Vectors values = e.read(step.src[0], RegisterClass::Narrow),
                named = e.read(step.src[1], RegisterClass::Narrow);
  const Vectors members = fixed ? Vectors() : e.read(step.src[3], RegisterClass::Narrow);
  // If the handler runs instead, it needs its operand registers unchanged.
  e.keep(step.dst);
  const Vectors out = e.write(step.dst, RegisterClass::Narrow);
  Masks valid;
  if (predicate != kNone) valid = e.write_masks(predicate);
  auto done = std::make_shared<Xbyak::Label>();
  if (!fixed || watched != Watched::No) {
    const Xbyak::Label& others = e.by_handler(done);
    if (!fixed) expect_all(e, members, others);
    if (watched != Watched::No) count_meeting(e, watched, others);
  }
  for (uint32_t half = 0; half < 2; ++half) {
    find_sources(e, kind, out.at[half], named.at[half], half);
    e.vpermi2d(out.at[half], values.at[0], values.at[1]);
    if (predicate == kNone) continue;
    if (may_miss) {
      e.knotw(Xbyak::Opmask(valid.at[half].getIdx()), e.k7);
    } else {
      const Xbyak::Opmask all_lanes(valid.at[half].getIdx());
      e.kxnorw(all_lanes, all_lanes, all_lanes);
    }
  }
  e.L(*done);
}
/// Returns whether the operand that names lanes and the members are constants, as in reductions and
/// scans: then the source of each lane is known when the code is compiled.
bool is_fixed(const Code& code, const Step& step) {
  return constant_at(code, step.src[1]) && constant_at(code, step.src[3]);
}

constexpr uint32_t kParts = 4, kPartLanes = kLanes / kParts;
/// Returns the word for each lane of a part.
template <typename Pick>
std::array<uint32_t, kHalfLanes> words_for_part(uint32_t part, const Pick& pick) {
  std::array<uint32_t, kHalfLanes> words{};
  for (uint32_t i = 0; i < kPartLanes; ++i) words[i] = pick(part * kPartLanes + i);
  return words;
}

/// Returns the lane from which `lane` reads, and whether that is in range; otherwise it reads its
/// own value.
std::pair<uint32_t, bool> source_of(ShuffleKind kind, uint32_t lane, uint32_t named) {
  const uint32_t distance = named & kLast;
  switch (kind) {
    case ShuffleKind::Bfly:
      return {lane ^ distance, true};
    case ShuffleKind::Idx:
      return {distance, true};
    case ShuffleKind::Down:
      if (lane + distance > kLast) break;
      return {lane + distance, true};
    case ShuffleKind::Up:
      if (lane < distance) break;
      return {lane - distance, true};
  }
  return {lane, false};
}

Xbyak::Address part_at(Emitter& e, uint32_t offset, uint32_t part) {
  return e.in_frame(offset + part * kPartBytes);
}

/// Jumps to `others` unless every lane's member mask names all lanes.
void expect_all_in_frame(Emitter& e, uint32_t members, const Xbyak::Label& others) {
  e.vmovdqa(e.ymm0, part_at(e, members, 0));
  for (uint32_t part = 1; part < kParts; ++part) {
    e.vpand(e.ymm0, e.ymm0, part_at(e, members, part));
  }
  e.vptest(e.ymm0, e.splat(kNone));
  e.jnc(others, kNear);
}

/// Computes the source lanes of a part into ymm4. The sign of ymm5: the lanes that read from
/// themselves because their source is out of range.
void find_sources_in_frame(Emitter& e, ShuffleKind kind, uint32_t named, uint32_t part) {
  const Xbyak::Ymm from = e.ymm4, missing = e.ymm5;
  const Xbyak::Address lanes = e.constant(words_for_part(part, [](uint32_t lane) { return lane; }));
  e.vmovdqa(from, part_at(e, named, part));
  switch (kind) {
    case ShuffleKind::Bfly:
      return e.vpxor(from, from, lanes);
    case ShuffleKind::Idx:
      return;
    case ShuffleKind::Down:
      e.vpand(from, from, e.splat(kLast));
      e.vpaddd(from, from, lanes);
      e.vpcmpgtd(missing, from, e.splat(kLast));
      break;
    case ShuffleKind::Up:
      e.vpand(from, from, e.splat(kLast));
      e.vmovdqa(missing, lanes);
      e.vpsubd(from, missing, from);
      e.vmovdqa(missing, from);
      break;
  }
  e.vblendvps(from, from, lanes, missing);
}

/// Looks words up in all four parts, and selects by the upper bits of the lane.
void look_up_in_parts(Emitter& e, const Xbyak::Ymm& out) {
  constexpr uint8_t kFourthBit = 28, kFifthBit = 27;  ///< Shifts to the sign.
  const Xbyak::Ymm from = e.ymm4, odd = e.ymm5, upper = e.ymm6, low = e.ymm7, high = e.ymm8,
                   other = e.ymm9;
  e.vpslld(odd, from, kFourthBit);
  e.vpslld(upper, from, kFifthBit);
  e.vpermd(low, from, e.ymm0);
  e.vpermd(other, from, e.ymm1);
  e.vblendvps(low, low, other, odd);
  e.vpermd(high, from, e.ymm2);
  e.vpermd(other, from, e.ymm3);
  e.vblendvps(high, high, other, odd);
  e.vblendvps(out, low, high, upper);
}

/// For AVX2: the operand that names lanes is in a register.
void shuffle_by_register(Emitter& e, const Step& step, Watched watched) {
  const auto& [kind, predicate] = step.operands.get<ShuffleOperands>();
  const bool may_miss = kind == ShuffleKind::Up || kind == ShuffleKind::Down;
  auto done = std::make_shared<Xbyak::Label>();
  const bool fixed = constant_at(e.code(), step.src[3]).has_value();
  if (!fixed || watched != Watched::No) {
    const Xbyak::Label& others = e.by_handler(done);
    if (!fixed) expect_all_in_frame(e, step.src[3], others);
    if (watched != Watched::No) count_meeting(e, watched, others);
  }
  for (uint32_t part = 0; part < kParts; ++part) {
    e.vmovdqa(Xbyak::Ymm(static_cast<int>(part)), part_at(e, step.src[0], part));
  }
  e.xor_(e.ecx, e.ecx);
  constexpr uint32_t kFirstOut = 10;
  for (uint32_t part = 0; part < kParts; ++part) {
    find_sources_in_frame(e, kind, step.src[1], part);
    if (may_miss && predicate != kNone) {
      e.vmovmskps(e.eax, e.ymm5);
      e.shl(e.eax, static_cast<int>(part * kPartLanes));
      e.or_(e.ecx, e.eax);
    }
    look_up_in_parts(e, Xbyak::Ymm(static_cast<int>(kFirstOut + part)));
  }
  for (uint32_t part = 0; part < kParts; ++part) {
    e.vmovdqa(part_at(e, step.dst, part), Xbyak::Ymm(static_cast<int>(kFirstOut + part)));
  }
  if (predicate != kNone) {
    e.not_(e.ecx);
    e.mov(e.dword[e.registers + static_cast<int>(predicate)], e.ecx);
  }
  e.L(*done);
}

/// For AVX2: moves words within the frame. A part takes its words from at most two others. Requires
/// is_fixed().
void shuffle_in_frame(Emitter& e, const Step& step, Watched watched) {
  const auto& [kind, predicate] = step.operands.get<ShuffleOperands>();
  auto done = std::make_shared<Xbyak::Label>();
  if (watched != Watched::No) count_meeting(e, watched, e.by_handler(done));
  const auto named = constant_at(e.code(), step.src[1]);
  GPUEMU_CHECK(named.has_value());
  uint32_t valid = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    valid |= (source_of(kind, lane, *named).second ? uint32_t{1} : 0) << lane;
  }
  for (uint32_t part = 0; part < kParts; ++part) {
    const Xbyak::Ymm out(static_cast<int>(part)), numbers = e.ymm4, other = e.ymm5;
    const auto from = [&](uint32_t lane) { return source_of(kind, lane, *named).first; };
    e.vmovdqa(numbers, e.constant(words_for_part(
                           part, [&](uint32_t lane) { return from(lane) % kPartLanes; })));
    bool first = true;
    for (uint32_t source = 0; source < kParts; ++source) {
      uint8_t taken = 0;
      for (uint32_t i = 0; i < kPartLanes; ++i) {
        const bool takes = from(part * kPartLanes + i) / kPartLanes == source;
        taken = static_cast<uint8_t>(taken | (takes ? 1u : 0u) << i);
      }
      if (taken == 0) continue;
      e.vpermd(first ? out : other, numbers, part_at(e, step.src[0], source));
      if (!first) e.vpblendd(out, out, other, taken);
      first = false;
    }
  }
  for (uint32_t part = 0; part < kParts; ++part) {
    e.vmovdqa(part_at(e, step.dst, part), Xbyak::Ymm(static_cast<int>(part)));
  }
  if (predicate != kNone) e.mov(e.dword[e.registers + static_cast<int>(predicate)], valid);
  e.L(*done);
}
}  // namespace

bool is_whole_shuffle(const Code& code, const Step& step) {
  if (step.run != kRunOf<steps::shuffle> || !step.guard.is_always()) return false;
  const bool up = step.operands.get<ShuffleOperands>().kind == ShuffleKind::Up;
  const bool may_be_all = constant_at(code, step.src[3]).value_or(kNone) == kNone;
  return step.dst != kTrueOffset && constant_at(code, step.src[2]) == (up ? 0 : kLast) &&
         may_be_all;
}

void add_exchanges(Operations& all, Accesses accesses) {
  const Watched watched = (accesses & kGlobalRaces) != 0   ? Watched::Global
                          : (accesses & kSharedRaces) != 0 ? Watched::Shared
                                                           : Watched::No;
  all.add_step(kRunOf<steps::shuffle>, [watched](Emitter& e, const Step& step) {
    if (e.is_avx512()) return shuffle(e, step, watched);
    is_fixed(e.code(), step) ? shuffle_in_frame(e, step, watched)
                             : shuffle_by_register(e, step, watched);
  });
}

}  // namespace gpuemu::emulator
