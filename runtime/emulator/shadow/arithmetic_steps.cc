// Shadows instructions that compute floats from floats or integers, and those that make decisions
// by them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/emulator/program/program.h"
#include "runtime/emulator/shadow/nudge.h"
#include "runtime/emulator/shadow/shadow.h"

namespace gpuemu::emulator {
namespace {
/// A result is examined if it lost this factor more than its operands had.
constexpr double kLossOverOperands = 64;

Held held_as(Format format) {
  return format == Format::F64 ? Held::Eight : format == Format::F32 ? Held::Four : Held::Two;
}

uint64_t part_bits(uint64_t bits, Format format, uint32_t part) {
  return format == Format::F16 || format == Format::BF16 ? bits >> (16 * part) & 0xffff : bits;
}

bool decided(Decision decision, DoubleDouble a, DoubleDouble b) {
  switch (decision) {
    case Decision::Equal:
      return equal(a, b);
    case Decision::NotEqual:
      return !equal(a, b);
    case Decision::Less:
      return less(a, b);
    case Decision::LessOrEqual:
      return !less(b, a);
    case Decision::Greater:
      return less(b, a);
    case Decision::GreaterOrEqual:
      return !less(a, b);
    default:
      return false;
  }
}

/// Relative error that a float64 reference may have against the exact value.
constexpr double kLastDigits = 0x1p-40;

double whole(Decision decision, double value) {
  switch (decision) {
    case Decision::ToNearest:
      return std::nearbyint(value);
    case Decision::Down:
      return std::floor(value);
    case Decision::Up:
      return std::ceil(value);
    default:
      return std::trunc(value);
  }
}

/// The roundings of later results depend on a product that is not rounded, so they move with it.
constexpr double kTimesFusable = 2;

/// Returns whether a change by `by` makes the value round to another whole number.
bool is_near_a_step(Decision decision, double value, double by) {
  return whole(decision, value - by) != whole(decision, value + by);
}

ShadowValue value_in(const Lanes& of, uint32_t lane, std::string name) {
  return {std::move(name), of.computed[lane], of.high[lane] + of.low[lane], of.bound[lane]};
}

std::string name_of_operand(const ptx::Instruction& in, size_t index) {
  return index < in.operands.size() ? ptx::text(in.operands[index]) : "";
}
}  // namespace

void Shadow::fetch(const Warp& warp, const ShadowedWarp& at, const Source& from, uint32_t part,
                   Format format, Lanes& to) const {
  if (config_.nudge != 0 && from.fixed) {
    const double value = value_of(part_bits(from.bits, format, part), format);
    to.computed.fill(value);
    to.high.fill(nudged_constant(value, format, config_.nudge));
    to.low.fill(0);
    to.bound.fill(0);
    to.node.fill(0);
    return;
  }
  const Plane* plane = from.plane == kNone ? nullptr : &at.registers->planes[from.plane];
  if (from.reg != kNone && from.bytes == 4 && format == Format::F32) {
    return fetch_floats(reinterpret_cast<const uint32_t*>(warp.registers.data + from.offset), plane,
                        to);
  }
  if (from.reg != kNone && from.bytes == 8 && format == Format::F64) {
    return fetch_doubles(reinterpret_cast<const uint64_t*>(warp.registers.data + from.offset),
                         plane, to);
  }
  const Held wanted = held_as(format);
  if (plane != nullptr) plane += std::min(part, at.plan->planes_each - 1);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t bits = bits_of(warp, from, lane);
    to.computed[lane] = value_of(part_bits(bits, format, part), format);
    const bool live =
        plane != nullptr && plane->held[lane] == wanted && is_live(*plane, lane, part, bits);
    to.high[lane] = live ? plane->high[lane] : to.computed[lane];
    to.low[lane] = live ? plane->low[lane] : 0;
    to.bound[lane] = live ? plane->bound[lane] : 0;
    to.node[lane] = live ? plane->node[lane] : 0;
  }
}

void Shadow::begin_arithmetic(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  at.together = begin_row(warp, at);
  if (at.together) return;
  for (uint32_t part = 0; part < does.pairs; ++part) {
    std::array<Lanes, 3>& operands = at.operands[part];
    if (does.picks_last) {  // cvt of two floats: the first becomes the upper half.
      fetch(warp, at, does.operands[does.operands.size() > 1 ? 1 - part : 0], 0, does.from,
            operands[0]);
    } else {
      for (size_t i = 0; i < std::min<size_t>(does.operands.size(), 3); ++i) {
        fetch(warp, at, does.operands[i], part, does.from, operands[i]);
      }
    }
    if (does.meaning != Meaning::Discretise) compute(does, operands, at.results[part]);
  }
  if (does.meaning == Meaning::Discretise) decide(warp, at);
  if (config_.nudge == 0) return;
  if (does.meaning == Meaning::Sub) nudge(at);
  if (does.meaning == Meaning::Mul || does.meaning == Meaning::Fma) nudge_product(at);
}

/// A row's last warp may have few active lanes, which says nothing about sharing; the other warps
/// decide.
void Shadow::nudge(ShadowedWarp& at) {
  const Operation& does = *at.pending;
  if (does.operands.size() < 2 || does.operands[0].fixed || does.operands[1].fixed) return;
  if (std::popcount(at.mask) < 2 && !shares_.contains(&does)) return;
  bool shares = true;
  for (uint32_t part = 0; part < does.pairs; ++part) {
    shares = nudge_shared(at.operands[part], does.from, at.mask, config_.nudge, at.results[part]) &&
             shares;
  }
  if (shares) shares_.insert(&does);
}

void Shadow::nudge_product(ShadowedWarp& at) {
  const Operation& does = *at.pending;
  if (does.from != Format::F32 || does.operands[0].fixed || does.operands[1].fixed) return;
  for (uint32_t part = 0; part < does.pairs; ++part) {
    nudge_factor(at.operands[part], at.mask, config_.nudge, at.results[part]);
  }
}

void Shadow::begin_from_integer(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  Lanes& out = at.results[0];
  const uint32_t unused = 64 - 8 * does.element;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t bits = bits_of(warp, does.operands[0], lane) << unused;
    DoubleDouble value;
    if (does.is_unsigned) {
      const uint64_t whole = bits >> unused;
      value = two_sum(static_cast<double>(whole >> 32) * 0x1p32,
                      static_cast<double>(whole & 0xffffffff));
    } else {
      const int64_t whole = static_cast<int64_t>(bits) >> unused;
      value = two_sum(static_cast<double>(whole >> 32) * 0x1p32,
                      static_cast<double>(whole & 0xffffffff));
    }
    out.high[lane] = value.high;
    out.low[lane] = value.low;
    out.bound[lane] = does.unit * std::fabs(value.high);
  }
}

void Shadow::keep(Warp& warp, ShadowedWarp& at, uint32_t part) {
  const Operation& does = *at.pending;
  const Source& to = does.results[0];
  Plane& plane = at.registers->planes[to.plane + part];
  const Lanes& from = at.results[part];
  const Held held = held_as(does.to);
  if (at.mask == kNone && held == Held::Four && to.bytes == 4) {
    plane.high = from.high;
    plane.low = from.low;
    plane.bound = from.bound;
    plane.held.fill(held);
    plane.node = from.node;
    std::memcpy(plane.bits.data(), warp.registers.data + to.offset, sizeof plane.bits);
    plane.bits_high.fill(0);
    return;
  }
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((at.mask >> lane & 1) == 0) continue;
    plane.high[lane] = from.high[lane];
    plane.low[lane] = from.low[lane];
    plane.bound[lane] = from.bound[lane];
    plane.held[lane] = held;
    plane.node[lane] = from.node[lane];
    const uint64_t bits = bits_of(warp, to, lane);
    plane.bits[lane] = part_of(bits, held, part);
    plane.bits_high[lane] = static_cast<uint32_t>(bits >> 32);
  }
}

/// Adds a history node for each lane's result. Results of lanes in `discrete` depend on no operand.
void Shadow::trace_part(Warp& warp, ShadowedWarp& at, uint32_t part, uint32_t discrete) {
  const Operation& does = *at.pending;
  Lanes& out = at.results[part];
  const bool is_float = does.meaning != Meaning::FromInteger;
  Slopes slopes{};
  if (is_float) differentiate(does, at.operands[part], out, slopes);
  for (uint32_t left = at.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const bool depends = is_float && (discrete >> lane & 1) == 0;
    Node node;
    std::array<Edge, 3> edges;
    size_t count = 0;
    for (size_t i = 0; i < std::min<size_t>(does.operands.size(), 3); ++i) {
      const Lanes& operand = at.operands[part][i];
      node.from_finite = node.from_finite && std::isfinite(operand.computed[lane]);
      const uint32_t from = operand.node[lane];
      if (depends && from != 0) edges[count++] = {from, slopes[i][lane]};
    }
    node.computed = out.computed[lane];
    node.exact = out.high[lane];
    node.bound = out.bound[lane];
    node.gap = (node.computed - out.high[lane]) - out.low[lane];
    out.node[lane] = add_node(warp, at, lane, node, edges.data(), count);
  }
}

void Shadow::finish_arithmetic(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  if (std::exchange(at.together, false)) return finish_row(warp, at);
  if (does.results.empty()) return;
  const bool trace = traces(warp);
  for (uint32_t part = 0; part < does.pairs; ++part) {
    Lanes& out = at.results[part];
    const Source& to = does.results[0];
    if (does.to == Format::F32 && to.bytes == 4) {
      const auto* bits = reinterpret_cast<const float*>(warp.registers.data + to.offset);
      for (uint32_t lane = 0; lane < kLanes; ++lane) out.computed[lane] = bits[lane];
    } else {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        out.computed[lane] = value_of(part_bits(bits_of(warp, to, lane), does.to, part), does.to);
      }
    }
    out.node.fill(0);
    uint32_t discrete = does.meaning == Meaning::Discretise ? kNone : 0;
    for (uint32_t lane = 0; does.magic && lane < kLanes; ++lane) {
      discrete |= static_cast<uint32_t>(is_magic(out.computed[lane], does.to)) << lane;
    }
    for (uint32_t left = discrete; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      out.high[lane] = out.computed[lane];
      out.low[lane] = out.bound[lane] = 0;
    }
    const uint32_t far = far_off(out, least_far(does.to), at.mask);
    if (far != 0 && !report_.divergence) look(warp, at, part, far);
    if (trace && to.plane != kNone) trace_part(warp, at, part, discrete);
    if (to.plane != kNone) keep(warp, at, part);
  }
}

/// Finds the first result of the launch that lost more than its operands had, among `lanes`.
void Shadow::look(Warp& warp, ShadowedWarp& at, uint32_t part, uint32_t lanes) {
  const Operation& does = *at.pending;
  if (does.meaning == Meaning::FromInteger) return;
  const ptx::Instruction& in = at.plan->code->source->body[does.index];
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const ShadowValue result = value_in(at.results[part], lane, name_of_operand(in, 0));
    std::vector<ShadowValue> operands;
    double before = does.unit;
    const size_t count = does.picks_last ? 1 : std::min<size_t>(does.operands.size(), 3);
    for (size_t i = 0; i < count; ++i) {
      operands.push_back(value_in(at.operands[part][i], lane, name_of_operand(in, i + 1)));
      before = std::max(before, relative_gap(operands.back()));
    }
    if (!(relative_gap(result) > kLossOverOperands * before)) continue;
    ShadowStep step = step_at(warp, at, lane);
    step.kind = kind_of_loss(does, result, operands);
    step.result = result;
    step.operands = operands;
    report_.divergence = std::move(step);
    return;
  }
}

void Shadow::decide(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  if (keeps_order(warp, at)) return;
  const ptx::Instruction& in = at.plan->code->source->body[does.index];
  const bool compares = does.meaning == Meaning::Compare;
  std::array<Lanes, 3>& operands = at.operands[0];
  if (does.operands.empty()) return;
  fetch(warp, at, does.operands[0], 0, does.from, operands[0]);
  if (compares) fetch(warp, at, does.operands[1], 0, does.from, operands[1]);
  for (uint32_t left = at.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const Lanes &a = operands[0], &b = operands[1];
    const DoubleDouble exact{a.high[lane], a.low[lane]};
    const bool fuses = config_.errors == ShadowErrors::Fusable;
    // Roundings other than those of products have no bound in this mode.
    const bool is_rounded = a.bound[lane] != 0 || (compares && b.bound[lane] != 0) ||
                            (fuses && distance(a.computed[lane], exact) > 0);
    if (!is_rounded) continue;
    if (!std::isfinite(a.computed[lane]) || !std::isfinite(exact.high)) continue;
    bool differs = false;
    if (compares) {
      if (!std::isfinite(b.computed[lane]) || !std::isfinite(b.high[lane])) continue;
      differs = decided(does.decision, exact, {b.high[lane], b.low[lane]}) !=
                decided(does.decision, {a.computed[lane], 0}, {b.computed[lane], 0});
    } else {
      differs = whole(does.decision, a.computed[lane]) != whole(does.decision, exact.high);
      const bool close = distance(a.computed[lane], exact) > 0 &&
                         is_near_a_step(does.decision, exact.high, exact.high * kLastDigits);
      const bool counts = fuses || config_.errors == ShadowErrors::All ||
                          distance(a.computed[lane], exact) <= a.bound[lane];
      const bool changes =
          fuses && is_near_a_step(does.decision, a.computed[lane], kTimesFusable * a.bound[lane]);
      report_.close_roundings += counts && (differs || close || changes) ? 1 : 0;
    }
    if (!differs) continue;
    ++report_.other_decisions;
    const bool of_underflow = config_.errors == ShadowErrors::Underflow ||
                              config_.errors == ShadowErrors::UnderflowOrFlush;
    if (of_underflow && compares && distance(a.computed[lane], exact) <= a.bound[lane] &&
        distance(b.computed[lane], {b.high[lane], b.low[lane]}) <= b.bound[lane]) {
      ++report_.lost_comparisons;
    }
    if (report_.first_other_decision) continue;
    ShadowStep step = step_at(warp, at, lane);
    step.result = value_in(a, lane, name_of_operand(in, 1));
    step.operands.push_back(step.result);
    if (compares) step.operands.push_back(value_in(b, lane, name_of_operand(in, 2)));
    report_.first_other_decision = std::move(step);
  }
}

}  // namespace gpuemu::emulator
