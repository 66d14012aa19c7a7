// Counts wrong elements and tracks their positions in a few words of memory: enough to recognise
// one row, one column, a tile, the tail, or every n-th element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpuemu {

/// A tensor seen as rows of its last axis.
struct Grid {
  size_t rows = 1, columns = 1;
  size_t size() const { return rows * columns; }
};

class MismatchPattern {
 public:
  /// Requires index to be above all added before.
  void add(size_t index, const Grid& grid) {
    const size_t row = index / grid.columns, column = index - row * grid.columns;
    if (count_++ == 0) {
      first_ = index;
      first_row_ = row;
      first_column_ = lowest_column_ = column;
    }
    note(index, row, column);
  }
  /// Adds the faults of another part of the same tensor.
  void merge(const MismatchPattern& other);

  uint64_t count() const { return count_; }
  /// Requires count() > 0.
  size_t first() const { return first_; }

  /// Returns for example "only the last column"; "" if the faults form no pattern.
  std::string pattern(const Grid& grid) const;

 private:
  void note(size_t index, size_t row, size_t column) {
    index_bits_ |= index ^ first_;
    row_bits_ |= row ^ first_row_;
    column_bits_ |= column ^ first_column_;
    if (column < lowest_column_) lowest_column_ = column;
  }
  std::string axis_pattern(const Grid& grid) const;
  std::string tail_pattern(const Grid& grid) const;
  std::string period_pattern(const Grid& grid) const;
  std::string tile_pattern(const Grid& grid) const;

  uint64_t count_ = 0;
  size_t first_ = 0, first_row_ = 0, first_column_ = 0, lowest_column_ = 0;
  // The bits in which the position of some fault differs from the first one's.
  size_t index_bits_ = 0, row_bits_ = 0, column_bits_ = 0;
};

}  // namespace gpuemu
