// Blocks of elements: what a processor with vector instructions computes of several at once.
#pragma once

#include <cstddef>
#include <span>

#include "judge/bounds/error_bound.h"

namespace gpuemu {

inline constexpr size_t kBlockElements = 1024;

/// True when the processor runs the functions that say so.
bool has_vector_blocks();

/// Largest finite |value|, 0 without any.
double largest_finite(std::span<const double> values);
/// largest_finite(). REQUIRES: has_vector_blocks(), values.size() % 4 == 0.
double largest_finite_by_four(std::span<const double> values);
/// The finite ones of some values, added in the order of four lanes.
struct FiniteSum {
  double sum = 0;
  size_t count = 0;
};
FiniteSum sum_of_finite(std::span<const double> values);
/// Turns scales into bounds. REQUIRES: has_vector_blocks(), scales.size() % 4 == 0.
void automatic_bounds_by_four(const BoundTerms& terms, const double* references,
                              std::span<double> scales);

}  // namespace gpuemu
