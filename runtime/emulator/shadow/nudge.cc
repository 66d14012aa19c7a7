#include "runtime/emulator/shadow/nudge.h"

#include <bit>
#include <cmath>

namespace gpuemu::emulator {
namespace {

/// Constants with at most this many significant bits count as exact: 0.5, 0.75, 127 / 1024.
constexpr int kExactBits = 10;
/// Significant bits of a double. Errors below them are unrelated to the formats in use.
constexpr int kDoubleBits = 53;
/// Part of the last place by which a value is moved. Less than one, because inputs move by their
/// whole last place and the difference of two values moved alike would not change.
constexpr double kSharedShare = 0.75;
constexpr uint32_t kWholeWarp = ~uint32_t{0};

int significant_bits(double value) {
  const auto mantissa = std::bit_cast<uint64_t>(value) & ((uint64_t{1} << 52) - 1);
  return mantissa == 0 ? 1 : kDoubleBits - std::countr_zero(mantissa);
}

double last_place(double value, Format format) {
  return std::ldexp(2 * unit_of(format), std::ilogb(value));
}

/// A fair coin from value and draw (SplitMix64).
bool goes_down(double value, uint64_t draw) {
  uint64_t mixed = std::bit_cast<uint64_t>(value) + draw * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return (mixed >> 63) != 0;
}

/// Returns whether every lane has the same value. Sums that each lane computes in another order
/// differ in the last digits of a double.
bool is_shared(const Lanes& values, uint32_t mask) {
  constexpr double kOtherOrder = 1e-12;
  if (mask == 0) return false;
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  const double value = values.high[first];
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (values.computed[lane] != values.computed[first] ||
        !(std::fabs(values.high[lane] - value) <= kOtherOrder * std::fabs(value))) {
      return false;
    }
  }
  return std::isfinite(value);
}

/// Returns whether the value has a last place: 0, infinities and NaN have none.
bool has_last_place(double value) { return value != 0 && std::isfinite(value); }

/// Returns whether every lane subtracts a value that it read from a rounded one, or the reverse.
/// The mean of a row may be 0 or NaN.
bool are_rounded_and_read(const Lanes& rounded, const Lanes& read, uint32_t mask) {
  bool is_any = false;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const bool counts = has_last_place(rounded.high[lane]);
    if (counts && rounded.bound[lane] == 0) return false;
    const bool is_read = read.bound[lane] == 0 && (read.high[lane] == read.computed[lane] ||
                                                   std::isnan(read.computed[lane]));
    if (!is_read) return false;
    is_any = is_any || counts;
  }
  return is_any;
}

/// Returns whether every lane subtracts the whole part of a rounded value from it, as for a
/// coordinate between two pixels.
bool are_fractions(const Lanes& values, const Lanes& wholes, uint32_t mask) {
  bool is_any = false;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const double value = values.computed[lane], whole = wholes.computed[lane];
    if (values.bound[lane] == 0 || !std::isfinite(value)) return false;
    if (wholes.high[lane] != whole || std::trunc(value) != whole) return false;
    is_any = is_any || whole != 0;
  }
  return is_any;
}

void move(Lanes& out, uint32_t lane, double step, bool down) {
  const DoubleDouble moved = add({out.high[lane], out.low[lane]}, {down ? -step : step, 0});
  out.high[lane] = moved.high;
  out.low[lane] = moved.low;
}

void move_fractions(const Lanes& values, Format format, uint32_t mask, uint64_t draw, Lanes& out) {
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (values.high[lane] == 0) continue;
    move(out, lane, kSharedShare * last_place(values.high[lane], format),
         goes_down(values.computed[lane], draw));
  }
}

}  // namespace

double uncertainty_of_constant(double value, Format format) {
  if (!std::isfinite(value) || value == std::trunc(value)) return 0;
  if (significant_bits(value) <= kExactBits) return 0;
  const double unit = unit_of(format);
  const bool is_rest_of_one = std::fabs(value) < 0.5 && value / unit == std::trunc(value / unit);
  return is_rest_of_one ? unit : last_place(value, format);
}

double nudged_constant(double value, Format format, uint64_t draw) {
  const double step = uncertainty_of_constant(value, format);
  return goes_down(value, draw) ? value - step : value + step;
}

bool nudge_shared(const std::array<Lanes, 3>& operands, Format format, uint32_t mask, uint64_t draw,
                  Lanes& out) {
  const bool alone = std::popcount(mask) < 2;
  if (format == Format::F32 && are_fractions(operands[0], operands[1], mask)) {
    move_fractions(operands[0], format, mask, draw, out);
    return true;
  }
  for (size_t which = 0; which < 2; ++which) {
    const Lanes &shared = operands[which], &own = operands[1 - which];
    const auto first = static_cast<uint32_t>(std::countr_zero(mask));
    const bool is_of_all = is_shared(shared, mask) && (alone || !is_shared(own, mask)) &&
                           shared.high[first] != 0 && shared.bound[first] != 0;
    const bool is_of_each = !alone && format == Format::F32 && !is_shared(own, mask) &&
                            are_rounded_and_read(shared, own, mask);
    if (!is_of_all && !is_of_each) continue;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      const uint32_t from = is_of_all ? first : lane;
      if (!has_last_place(shared.high[from])) continue;
      const double step = kSharedShare * last_place(shared.high[from], format);
      const bool down = goes_down(shared.computed[from], draw) != (which == 1);
      move(out, lane, step, down);
    }
    return true;
  }
  return false;
}

void nudge_factor(const std::array<Lanes, 3>& operands, uint32_t mask, uint64_t draw, Lanes& out) {
  if (mask == 0) return;
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  for (size_t which = 0; which < 2; ++which) {
    const Lanes &shared = operands[which], &own = operands[1 - which];
    const double factor = shared.high[first];
    if (shared.bound[first] == 0 || factor == 0 || !is_shared(shared, kWholeWarp)) continue;
    const double step = kSharedShare * last_place(factor, Format::F32);
    // A factor and its negative move in the same direction.
    const bool down = goes_down(std::fabs(shared.computed[first]), draw) != (factor < 0);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      if (own.bound[lane] != 0 || own.high[lane] != own.computed[lane]) continue;
      if (std::isfinite(own.high[lane])) move(out, lane, step * own.high[lane], down);
    }
    return;
  }
}

}  // namespace gpuemu::emulator
