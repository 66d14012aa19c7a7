// A covering array: rows of choices that contain every pair of choices of any two factors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuemu {

/// Has strength two, from Latin squares over a prime p that is at least the number of factors and
/// the largest number of choices: p^2 rows, the minimum if two factors have p choices. Row 0 has
/// choice 0 of every factor, row 1 choice 1. The first p rows contain every choice of every factor.
class CoveringArray {
 public:
  /// Requires every factor to have choices.
  explicit CoveringArray(std::vector<size_t> choices);

  uint64_t rows() const { return prime_ * prime_; }
  /// Requires row < rows() and factor < the number of factors.
  size_t choice(uint64_t row, size_t factor) const;

 private:
  std::vector<size_t> choices_;
  uint64_t prime_ = 2;
};

}  // namespace gpuemu
