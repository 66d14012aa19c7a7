#include "runtime/emulator/shadow/equal_stores.h"

#include <algorithm>
#include <cmath>

#include "runtime/emulator/machine/block.h"

namespace gpuemu::emulator {
namespace {

/// Fraction of the rounding error by which shadows may differ. Shadows have twice the precision of
/// a double, so equal values differ by far less than this, and different ones by more.
constexpr double kRest = 0x1p-16;

/// Returns a lower limit of a value's rounding error if it has no bound, as after an infinite
/// operand such as a masked score.
double least_error(const Cell& of) {
  const double unit = of.held == Held::Eight ? 0x1p-53 : of.held == Held::Four ? 0x1p-24 : 0x1p-11;
  return std::isfinite(of.bound) ? of.bound : unit * std::fabs(of.high);
}

bool differ_by_rounding(const Cell& a, const Cell& b) {
  if (a.held == Held::Nothing || a.held != b.held) return false;
  // For an infinite operand the order of additions decides between infinity and NaN.
  if (!std::isfinite(a.high) && !std::isfinite(b.high)) return true;
  const DoubleDouble apart = add({a.high, a.low}, {-b.high, -b.low});
  return std::fabs(apart.high) <= kRest * std::max(least_error(a), least_error(b));
}

bool agree(const StoredValue& a, const StoredValue& b) {
  if (a.bits == b.bits) return true;
  for (size_t i = 0; i < a.parts.size(); ++i) {
    const Cell &one = a.parts[i], &other = b.parts[i];
    const bool absent = i > 0 && one.held == Held::Nothing && other.held == Held::Nothing;
    const bool same = one.held == other.held && one.bits == other.bits;
    if (!absent && !(same && one.held != Held::Nothing) && !differ_by_rounding(one, other)) {
      return false;
    }
  }
  return true;
}

}  // namespace

void EqualStores::add(const Block& block, const ptx::Instruction& store, uint64_t place,
                      const StoredValue& value) {
  const uint32_t line = store.where.line;
  seen_.insert(line);
  if (places_.size() >= kPlacesMax) return;
  First& first = places_[{block.position.linear, place, line}];
  if (first.epoch != block.shared.epoch) {
    first = {block.shared.epoch, value};
  } else if (!agree(first.value, value)) {
    different_.insert(line);
  }
}

}  // namespace gpuemu::emulator
