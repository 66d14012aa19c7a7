// Values of whole tensors. Element i uses outputs 2i and 2i+1 of its stream, called a and b, for
// every distribution. Large tensors are filled by several lanes that jumped ahead, with the same
// bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/numeric/dtype.h"
#include "common/rng/rng.h"

namespace gpuemu {

struct Distribution {
  enum class Kind : uint8_t { Uniform, Normal, LogUniform, Integer, Special };
  Kind kind = Kind::Uniform;
  double first = 0, second = 1;  ///< Uniform: lo, hi. Normal: mean, standard deviation. Special:
                                 ///< probability in `first`.
  int64_t lo = 0, hi = 0;        ///< LogUniform: exponents. Integer, Special: smallest and largest.

  static Distribution uniform(double lo, double hi) { return {Kind::Uniform, lo, hi, 0, 0}; }
  static Distribution normal(double mean, double sd) { return {Kind::Normal, mean, sd, 0, 0}; }
  /// Requires -1074 <= lo <= hi <= 1023.
  static Distribution log_uniform(int64_t lo, int64_t hi) {
    return {Kind::LogUniform, 0, 0, lo, hi};
  }
  static Distribution integer(int64_t lo, int64_t hi) { return {Kind::Integer, 0, 0, lo, hi}; }
  /// Draws a row of a table of special values, or -1 for elements that keep another value. Requires
  /// rows >= 1.
  static Distribution special(int64_t rows, double probability) {
    return {Kind::Special, probability, 0, 0, rows - 1};
  }
};

/// Returns the value, in float64, that outputs a and b give.
double value_of(const Distribution& distribution, uint64_t a, uint64_t b);

/// Computes the elements from `state` on, rounded to the dtype. Requires `to` to hold whole
/// elements.
void fill(RngState state, const Distribution& distribution, DType dtype, std::span<std::byte> to);
/// Computes the elements before rounding.
void fill_doubles(RngState state, const Distribution& distribution, std::span<double> to);

}  // namespace gpuemu
