// Values with twice the precision of a double, as a sum of two doubles, and bounds of how far
// rounding may have moved the kernel's value.
#pragma once

#include <cmath>

namespace gpuemu::emulator {

struct DoubleDouble {
  double high = 0, low = 0;
};

/// Returns the low part; 0 if the sum is infinite, where it would be NaN.
inline double kept(double of, double low) { return of - of == 0 ? low : 0; }

inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, kept(sum, (a - (sum - part)) + (b - part))};
}
/// Requires |a| >= |b|, or that either is 0.
inline DoubleDouble quick_sum(double a, double b) {
  const double sum = a + b;
  return {sum, kept(sum, b - (sum - a))};
}
inline DoubleDouble two_product(double a, double b) {
  const double product = a * b;
  return {product, kept(product, __builtin_fma(a, b, -product))};
}

inline DoubleDouble negated(DoubleDouble a) { return {-a.high, -a.low}; }
inline DoubleDouble add(DoubleDouble a, DoubleDouble b) {
  DoubleDouble sum = two_sum(a.high, b.high);
  const DoubleDouble rest = two_sum(a.low, b.low);
  sum = quick_sum(sum.high, sum.low + rest.high);
  return quick_sum(sum.high, sum.low + rest.low);
}
inline DoubleDouble multiply(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = two_product(a.high, b.high);
  return quick_sum(product.high,
                   kept(product.high, product.low + (a.high * b.low + a.low * b.high)));
}
inline DoubleDouble divide(DoubleDouble a, DoubleDouble b) {
  const double first = a.high / b.high;
  const DoubleDouble rest = add(a, negated(multiply(b, {first, 0})));
  return quick_sum(first, kept(first, kept(b.high, rest.high / b.high)));
}
inline DoubleDouble square_root(DoubleDouble a) {
  const double first = std::sqrt(a.high);
  const DoubleDouble rest = add(a, negated(two_product(first, first)));
  return quick_sum(first, first > 0 ? kept(first, rest.high / (2 * first)) : 0);
}

/// Returns |a - b|: how far a computed value is from the exact one.
inline double distance(double a, DoubleDouble b) { return std::fabs((a - b.high) - b.low); }
/// Compares without rounding.
inline bool less(DoubleDouble a, DoubleDouble b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}
inline bool equal(DoubleDouble a, DoubleDouble b) { return a.high == b.high && a.low == b.low; }

}  // namespace gpuemu::emulator
