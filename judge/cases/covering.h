// A covering array: rows of choices in which every pair of choices of any two factors meets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuemu {

/// Has strength two, from Latin squares over a prime p that is no less than the number of factors
/// and the most choices of one: p^2 rows, the fewest there can be where two factors have p choices.
/// Row 0 has choice 0 of every factor, row 1 choice 1; the first p rows have every choice of
/// every factor.
class CoveringArray {
 public:
  /// REQUIRES: no factor without choices.
  explicit CoveringArray(std::vector<size_t> choices);

  uint64_t rows() const { return prime_ * prime_; }
  /// REQUIRES: row < rows(), factor < the number of factors.
  size_t choice(uint64_t row, size_t factor) const;

 private:
  std::vector<size_t> choices_;
  uint64_t prime_ = 2;
};

}  // namespace gpuemu
