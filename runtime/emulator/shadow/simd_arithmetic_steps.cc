// Does the same as arithmetic_steps.cc for f32 values in all lanes at once, if no history is kept.
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/emulator/shadow/nudge.h"
#include "runtime/emulator/shadow/shadow.h"

namespace gpuemu::emulator {
namespace {
/// is_magic() for the bits of an f32.
bool is_magic(uint32_t bits) {
  constexpr uint32_t kMantissa = 23, kExponents = 0xff, kWholeFrom = 127 + kMantissa;
  return (bits >> kMantissa & kExponents) == kWholeFrom;
}
bool in_words(const Source& source) { return source.reg == kNone || source.bytes == 4; }
}  // namespace

/// Returns a view of the operand's values: in its plane, or in `at.operands` if they come from
/// several places. Keeps the bits for look().
PairView Shadow::view(const Warp& warp, ShadowedWarp& at, size_t operand) {
  const Source& from = at.pending->operands[operand];
  OperandBits& bits = at.operand_bits[operand];
  Lanes& made = at.operands[0][operand];
  if (from.reg == kNone) {
    bits.fill(static_cast<uint32_t>(from.bits));
  } else {
    std::memcpy(bits.data(), warp.registers.data + from.offset, sizeof bits);
  }
  if (config_.nudge != 0 && from.fixed) {
    const double value = value_of(static_cast<uint32_t>(from.bits), Format::F32);
    made.high.fill(nudged_constant(value, Format::F32, config_.nudge));
    return {made.high.data(), nullptr, nullptr, true};
  }
  const Plane* plane = from.plane == kNone ? nullptr : &at.registers->planes[from.plane];
  const uint32_t live = plane == nullptr ? 0 : pairs_.live(bits.data(), *plane);
  if ((live & at.mask) == 0) {
    pairs_.widen(bits.data(), made.high.data());
    return {made.high.data(), nullptr, nullptr, true};
  }
  if (live == kNone) return {plane->high.data(), plane->low.data(), plane->bound.data(), false};
  pairs_.mix(bits.data(), *plane, live, made);
  return {made.high.data(), made.low.data(), made.bound.data(), false};
}

/// Returns false if the operation has to be done lane by lane.
bool Shadow::begin_row(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const PairFunction function = pair_function(pairs_, does.meaning);
  const size_t count = does.operands.size();
  if (config_.nudge != 0 && does.meaning == Meaning::Sub) return false;
  if (does.from != Format::F32 || does.to != Format::F32 || count > 3 || does.results.empty() ||
      does.results[0].bytes != 4 || traces(warp) || !std::ranges::all_of(does.operands, in_words)) {
    return false;
  }
  PairViews views;
  for (size_t i = 0; i < count; ++i) views[i] = view(warp, at, i);
  const bool multiplies = does.meaning == Meaning::Mul || does.meaning == Meaning::Fma;
  // A product of a rounded and a loaded value may have to be moved by nudge_factor().
  if (config_.nudge != 0 && multiplies && views[0].exact != views[1].exact) return false;
  Lanes& out = at.results[0];
  if (function != nullptr && function(views, does, out)) {
    if (does.saturates) clamp(out);
    return true;
  }
  if (does.meaning == Meaning::Discretise) return false;
  for (size_t i = 0; i < count; ++i) {
    fetch(warp, at, does.operands[i], 0, does.from, at.operands[0][i]);
  }
  compute(does, at.operands[0], out);
  return true;
}

void Shadow::finish_row(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const Source& to = does.results[0];
  Lanes& out = at.results[0];
  const auto* bits = reinterpret_cast<const uint32_t*>(warp.registers.data + to.offset);
  for (uint32_t lane = 0; does.magic && lane < kLanes; ++lane) {
    if (!is_magic(bits[lane])) continue;
    out.high[lane] = std::bit_cast<float>(bits[lane]);
    out.low[lane] = out.bound[lane] = 0;
  }
  const uint32_t far = pairs_.far_off(bits, out, least_far(Format::F32)) & at.mask;
  if (far != 0 && !report_.divergence) {
    // The planes are unchanged, because the result is not stored yet.
    for (size_t i = 0; i < does.operands.size(); ++i) {
      const uint32_t plane = does.operands[i].plane;
      fetch_floats(at.operand_bits[i].data(),
                   plane == kNone ? nullptr : &at.registers->planes[plane], at.operands[0][i]);
    }
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      out.computed[lane] = value_of(bits[lane], Format::F32);
    }
    look(warp, at, 0, far);
  }
  if (to.plane != kNone) pairs_.keep(out, bits, at.mask, at.registers->planes[to.plane]);
}

/// Returns whether the exact values decide the same as the computed ones in every lane, with
/// certainty.
bool Shadow::keeps_order(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const bool compares = does.meaning == Meaning::Compare;
  const size_t count = compares ? 2 : 1;
  if (does.from != Format::F32 || does.operands.size() < count || does.results.size() > 1) {
    return false;
  }
  PairViews views;
  for (size_t i = 0; i < count; ++i) {
    if (!in_words(does.operands[i])) return false;
    views[i] = view(warp, at, i);
  }
  if (views[0].exact && (!compares || views[1].exact)) return true;
  if (!compares) return false;
  return (pairs_.reordered(at.operand_bits[0].data(), at.operand_bits[1].data(), views[0],
                           views[1]) &
          at.mask) == 0;
}

}  // namespace gpuemu::emulator
