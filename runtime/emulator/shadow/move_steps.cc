// Shadows instructions that move floats unchanged, and integer instructions on their bits.
#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/emulator/shadow/shadow.h"

namespace gpuemu::emulator {
namespace {
constexpr Plane kEmpty{};

/// Bit layout of a float, to recognise what an integer instruction did to it.
struct BitForm {
  uint64_t sign;
  int mantissa;
  uint64_t exponents;  ///< All exponent bits set, as in infinity.
};
BitForm form_of(Held held) {
  switch (held) {
    case Held::Four:
      return {0x80000000, 23, 0xff};
    case Held::HighHalf:
      return {0x80000000, 20, 0x7ff};
    case Held::Eight:
      return {uint64_t{1} << 63, 52, 0x7ff};
    default:
      return {0x8000, 10, 0x1f};
  }
}

void scale(Plane& plane, uint32_t lane, double by) {
  plane.high[lane] *= by;
  plane.low[lane] *= by;
  plane.bound[lane] *= std::fabs(by);
}

/// If `bits` is the float `was` with another sign or exponent, or with its last bits cut, updates
/// the plane's lane accordingly.
bool rework(Plane& plane, uint32_t lane, uint64_t was, uint64_t bits) {
  const Held held = plane.held[lane];
  if (bits == was) return true;
  if (held == Held::LowHalf) return false;
  const BitForm form = form_of(held);
  if ((was ^ bits) == form.sign) {
    scale(plane, lane, -1);
    return true;
  }
  if (held == Held::Two || ((was ^ bits) & form.sign) != 0) return false;
  const uint64_t ones = (uint64_t{1} << form.mantissa) - 1;
  const uint64_t before = was >> form.mantissa & form.exponents,
                 after = bits >> form.mantissa & form.exponents;
  const bool normal =
      before != 0 && after != 0 && before != form.exponents && after != form.exponents;
  if (normal && (was & ones) == (bits & ones)) {
    scale(plane, lane, std::ldexp(1.0, static_cast<int>(after) - static_cast<int>(before)));
    return true;
  }
  const bool cut = held == Held::Four && (bits & ~was) == 0 && (was ^ bits) < 0x10000;
  if (cut) {
    const auto lost = static_cast<int>(std::bit_width(was ^ bits));
    plane.bound[lane] += std::fabs(plane.high[lane]) * std::ldexp(1.0, lost - form.mantissa);
  }
  return cut;
}

void set_bits(Plane& plane, uint32_t lane, uint64_t bits) {
  plane.bits[lane] = static_cast<uint32_t>(bits);
  plane.bits_high[lane] = static_cast<uint32_t>(bits >> 32);
}
}  // namespace

/// Does the same as copy() for f32 values in all lanes at once. Returns false if it is not
/// possible.
bool Shadow::copy_row(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const Source& to = does.results[0];
  const bool picks = does.operands.size() == 3;
  const size_t sources = picks ? 2 : 1;
  if (at.plan->planes_each != 1 || to.bytes != 4) return false;
  for (size_t i = 0; i < sources; ++i) {
    const Source& from = does.operands[i];
    if (from.plane == kNone) continue;
    if (from.bytes != 4 || (pairs_.others(at.registers->planes[from.plane]) & at.mask) != 0) {
      return false;
    }
  }
  uint32_t first = at.mask;
  if (picks) {
    const Source& by = does.operands[2];
    if (by.reg == kNone || by.bytes != 0) return false;
    const uint32_t holds = *reinterpret_cast<const uint32_t*>(warp.registers.data + by.offset);
    first &= by.negated ? ~holds : holds;
  }
  Plane& plane = at.registers->planes[to.plane];
  for (size_t i = 0; i < sources; ++i) {
    const Source& from = does.operands[i];
    const uint32_t lanes = i == 0 ? first : at.mask & ~first;
    const Plane* source = from.plane == kNone ? nullptr : &at.registers->planes[from.plane];
    const auto* bits = reinterpret_cast<const uint32_t*>(warp.registers.data + from.offset);
    const uint32_t live = source == nullptr ? 0 : pairs_.live(bits, *source) & lanes;
    pairs_.clear(lanes & ~live, plane);
    if (live != 0) pairs_.assign(*source, live, plane);
  }
  return true;
}

/// Handles mov, and selp with the operand that its predicate selects.
void Shadow::copy(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const Source& to = does.results[0];
  if (to.plane == kNone || copy_row(warp, at)) return;
  const bool picks = does.operands.size() == 3;
  for (uint32_t part = 0; part < at.plan->planes_each; ++part) {
    Plane& plane = at.registers->planes[to.plane + part];
    for (uint32_t left = at.mask; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      size_t which = 0;
      if (picks) {
        which = (bits_of(warp, does.operands[2], lane) != 0) != does.operands[2].negated ? 0 : 1;
      }
      const Source& from = does.operands[which];
      const Plane& source = from.plane == kNone ? kEmpty : at.registers->planes[from.plane + part];
      if (from.plane != kNone && is_live(source, lane, part, bits_of(warp, from, lane))) {
        assign(plane, lane, source, lane);
      } else {
        plane.held[lane] = Held::Nothing;
      }
    }
  }
}

namespace {
/// Returns the source lane of shfl for `lane`.
enum class Way : uint8_t { Up, Down, Across, Index };
uint32_t shuffled_from(Way way, uint32_t lane, uint32_t b, uint32_t c) {
  b &= 31;
  const uint32_t segment = c >> 8 & 31, first = lane & segment, last = first | (c & 31 & ~segment);
  const uint32_t other = way == Way::Up       ? lane - b
                         : way == Way::Down   ? lane + b
                         : way == Way::Across ? lane ^ b
                                              : first | (b & ~segment);
  const bool in_range =
      way == Way::Up ? static_cast<int32_t>(other) >= static_cast<int32_t>(last) : other <= last;
  return in_range ? other & 31 : lane;
}
}  // namespace

void Shadow::shuffle(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const Source& to = does.results[0];
  const Source& from = does.operands[0];
  if (to.plane == kNone) return;
  const ptx::Instruction& in = at.plan->code->source->body[does.index];
  const Way way = in.has(ptx::Modifier::Up)     ? Way::Up
                  : in.has(ptx::Modifier::Down) ? Way::Down
                  : in.has(ptx::Modifier::Bfly) ? Way::Across
                                                : Way::Index;
  for (uint32_t part = 0; part < at.plan->planes_each; ++part) {
    Plane& plane = at.registers->planes[to.plane + part];
    const Plane source = from.plane == kNone ? kEmpty : at.registers->planes[from.plane + part];
    for (uint32_t left = at.mask; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      const uint32_t chosen =
          shuffled_from(way, lane, static_cast<uint32_t>(bits_of(warp, does.operands[1], lane)),
                        static_cast<uint32_t>(bits_of(warp, does.operands[2], lane)));
      if (from.plane != kNone && is_live(source, chosen, part, bits_of(warp, from, chosen))) {
        assign(plane, lane, source, chosen);
      } else {
        plane.held[lane] = Held::Nothing;
      }
    }
  }
}

/// Handles mov of {a, b} into one register.
void Shadow::pack(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const Source& to = does.results[0];
  if (to.plane == kNone || does.operands.size() != 2 || at.plan->planes_each < 2) return;
  const Held wanted = to.bytes == 8 ? Held::Four : Held::Two;
  for (uint32_t left = at.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    std::array<const Plane*, 2> from{};
    for (size_t i = 0; i < 2; ++i) {
      const Source& part = does.operands[i];
      if (part.plane == kNone) continue;
      const Plane& plane = at.registers->planes[part.plane];
      if (is_live(plane, lane, 0, bits_of(warp, part, lane))) from[i] = &plane;
    }
    const uint64_t low = bits_of(warp, does.operands[0], lane),
                   high = bits_of(warp, does.operands[1], lane);
    Plane made[2];
    made[0].held[lane] = made[1].held[lane] = Held::Nothing;
    const bool halves = from[0] != nullptr && from[1] != nullptr &&
                        from[0]->held[lane] == Held::LowHalf &&
                        from[1]->held[lane] == Held::HighHalf;
    if (halves) {
      assign(made[0], lane, *from[1], lane);
      made[0].held[lane] = Held::Eight;
      set_bits(made[0], lane, (low & 0xffffffff) | high << 32);
    } else if (from[0] == nullptr && (low & 0xffff) == 0 && from[1] != nullptr &&
               from[1]->held[lane] == Held::Two && to.bytes == 4) {
      assign(made[0], lane, *from[1], lane);  // A bf16 becomes an f32.
      made[0].held[lane] = Held::Four;
      set_bits(made[0], lane, (high & 0xffff) << 16);
    } else {
      for (size_t i = 0; i < 2; ++i) {
        if (from[i] != nullptr && from[i]->held[lane] == wanted) {
          assign(made[i], lane, *from[i], lane);
        }
      }
    }
    for (size_t i = 0; i < 2; ++i) assign(at.registers->planes[to.plane + i], lane, made[i], lane);
  }
}

/// Handles mov of one register into {a, b}.
void Shadow::unpack(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const Source& from = does.operands[0];
  if (at.plan->planes_each < 2) return;
  const Plane* planes = from.plane == kNone ? nullptr : &at.registers->planes[from.plane];
  const Held wanted = from.bytes == 8 ? Held::Four : Held::Two;
  for (uint32_t left = at.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t bits = bits_of(warp, from, lane);
    Plane made[2];
    for (uint32_t i = 0; i < 2; ++i) {
      made[i].held[lane] = Held::Nothing;
      if (planes == nullptr) continue;
      if (planes[i].held[lane] == wanted && is_live(planes[i], lane, i, bits)) {
        assign(made[i], lane, planes[i], lane);
      } else if (planes[0].held[lane] == Held::Eight && is_live(planes[0], lane, 0, bits)) {
        assign(made[i], lane, planes[0], lane);
        made[i].held[lane] = i == 0 ? Held::LowHalf : Held::HighHalf;
        set_bits(made[i], lane, bits >> (32 * i) & 0xffffffff);
      }
    }
    for (size_t i = 0; i < std::min<size_t>(does.results.size(), 2); ++i) {
      if (does.results[i].plane != kNone) {
        assign(at.registers->planes[does.results[i].plane], lane, made[i], lane);
      }
    }
  }
}

void Shadow::begin_bits(Warp& warp, ShadowedWarp& at) {
  // Saves the operands, which the instruction may overwrite.
  const Operation& does = *at.pending;
  at.saved.clear();
  for (const Source& from : does.operands) {
    if (from.plane == kNone) continue;
    const Plane& first = at.registers->planes[from.plane];
    const auto* words = reinterpret_cast<const uint32_t*>(warp.registers.data + from.offset);
    if (at.plan->planes_each == 1 && from.bytes == 4 &&
        ((pairs_.others(first) | pairs_.live(words, first)) & at.mask) == 0) {
      continue;
    }
    for (uint32_t part = 0; part < at.plan->planes_each; ++part) {
      Plane& kept = at.saved.emplace_back(at.registers->planes[from.plane + part]);
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if (!is_live(kept, lane, part, bits_of(warp, from, lane))) kept.held[lane] = Held::Nothing;
      }
    }
  }
}

void Shadow::finish_bits(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const Source& to = does.results[0];
  if (to.plane == kNone) return;
  for (uint32_t part = 0; part < at.plan->planes_each; ++part) {
    pairs_.clear(at.mask, at.registers->planes[to.plane + part]);
  }
  if (at.saved.empty()) return;
  for (uint32_t left = at.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t bits = bits_of(warp, to, lane);
    for (const Plane& from : at.saved) {
      const Held held = from.held[lane];
      if (held == Held::Nothing) continue;
      const uint64_t was = held == Held::Eight
                               ? from.bits[lane] | uint64_t{from.bits_high[lane]} << 32
                               : from.bits[lane];
      Plane made;
      assign(made, lane, from, lane);
      const uint32_t parts = held == Held::Two && to.bytes == 4 ? at.plan->planes_each : 1;
      for (uint32_t part = 0; part < parts; ++part) {
        Plane& plane = at.registers->planes[to.plane + part];
        const uint64_t now = held == Held::Eight ? bits : part_of(bits, held, part);
        if (plane.held[lane] != Held::Nothing || !rework(made, lane, was, now)) continue;
        assign(plane, lane, made, lane);
        set_bits(plane, lane, now);
      }
      Plane& first = at.registers->planes[to.plane];
      if (held == Held::Two && first.held[lane] == Held::Nothing && bits == was << 16 && was != 0) {
        assign(first, lane, from, lane);  // A bf16 becomes an f32.
        first.held[lane] = Held::Four;
        set_bits(first, lane, bits);
      }
    }
  }
}

}  // namespace gpuemu::emulator
