// Operations on blocks of elements that vector instructions compute several elements at a time.
#pragma once

#include <cstddef>
#include <span>

#include "judge/bounds/error_bound.h"

namespace gpuemu {

inline constexpr size_t kBlockElements = 1024;

/// Returns whether the processor can run the functions that require it.
bool has_vector_blocks();

/// Returns the largest finite |value|; 0 if there is none.
double largest_finite(std::span<const double> values);
/// Returns the largest finite |value| of float32 numbers as they lie in memory.
double largest_finite_float32(std::span<const std::byte> values);
/// Returns what largest_finite() does. Requires has_vector_blocks() and values.size() % 4 == 0.
double largest_finite_by_four(std::span<const double> values);
/// The sum and the count of the finite values, added in the order of four lanes.
struct FiniteSum {
  double sum = 0;
  size_t count = 0;
};
FiniteSum sum_of_finite(std::span<const double> values);
/// Turns scales into bounds, which may be written over them. Requires has_vector_blocks() and
/// bounds.size() % 4 == 0.
void automatic_bounds_by_four(const BoundTerms& terms, const double* references,
                              const double* scales, std::span<double> bounds);

}  // namespace gpuemu
