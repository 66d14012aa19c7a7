#include "judge/scan/mismatch_pattern.h"

#include <algorithm>

#include <fmt/core.h>

namespace gpuemu {
namespace {

constexpr size_t kLongestTile = 128;
constexpr size_t kPeriods[] = {1024, 512, 256, 128, 64, 32};

}  // namespace

void MismatchPattern::merge(const MismatchPattern& other) {
  if (other.count_ == 0) return;
  if (count_ == 0) {
    *this = other;
    return;
  }
  // A bit that differs from their first fault differs from ours, or ours differs from theirs in it.
  index_bits_ |= other.index_bits_ | (first_ ^ other.first_);
  row_bits_ |= other.row_bits_ | (first_row_ ^ other.first_row_);
  column_bits_ |= other.column_bits_ | (first_column_ ^ other.first_column_);
  lowest_column_ = std::min(lowest_column_, other.lowest_column_);
  count_ += other.count_;
  if (other.first_ < first_) {
    first_ = other.first_;
    first_row_ = other.first_row_;
    first_column_ = other.first_column_;
  }
}

std::string MismatchPattern::pattern(const Grid& grid) const {
  if (count_ == 0) return "";
  if (count_ == grid.size()) return count_ > 1 ? "every element" : "";
  for (const auto part : {&MismatchPattern::axis_pattern, &MismatchPattern::tail_pattern,
                          &MismatchPattern::period_pattern, &MismatchPattern::tile_pattern}) {
    std::string text = (this->*part)(grid);
    if (!text.empty()) return text;
  }
  return "";
}

std::string MismatchPattern::axis_pattern(const Grid& grid) const {
  if (grid.rows < 2) return "";
  if (column_bits_ == 0) {
    if (first_column_ + 1 == grid.columns) return "only the last column";
    return first_column_ == 0 ? "only the first column"
                              : fmt::format("only column {}", first_column_);
  }
  if (row_bits_ == 0) {
    if (first_row_ + 1 == grid.rows) return "only the last row";
    return first_row_ == 0 ? "only the first row" : fmt::format("only row {}", first_row_);
  }
  return "";
}

/// Recognises the end of every row, or of the whole tensor: the result of a missing tail mask.
std::string MismatchPattern::tail_pattern(const Grid& grid) const {
  if (count_ > 1 && first_ + count_ == grid.size()) {
    return fmt::format("only the last {} elements", count_);
  }
  const size_t width = grid.columns - lowest_column_;
  if (grid.rows > 1 && width < grid.columns && width * grid.rows == count_) {
    return fmt::format("only the last {} columns", width);
  }
  return "";
}

std::string MismatchPattern::period_pattern(const Grid& grid) const {
  if (count_ < 3) return "";
  for (const size_t period : kPeriods) {
    if (period >= grid.size()) continue;
    const char* suffix = period % 10 == 2 && period != 512 ? "nd" : "th";
    if (index_bits_ % period == 0) return fmt::format("only every {}{} element", period, suffix);
    if (grid.rows > 1 && period < grid.columns && column_bits_ % period == 0) {
      return fmt::format("only every {}{} column", period, suffix);
    }
  }
  return "";
}

std::string MismatchPattern::tile_pattern(const Grid& grid) const {
  if (grid.rows < 2 || count_ < 2) return "";
  for (size_t tile = 8; tile <= kLongestTile; tile *= 2) {
    if (tile >= grid.columns && tile >= grid.rows) return "";
    if (row_bits_ >= tile || column_bits_ >= tile) continue;
    return fmt::format("only one {} x {} tile, at [{}, {}]", tile, tile, first_row_ / tile * tile,
                       first_column_ / tile * tile);
  }
  return "";
}

}  // namespace gpuemu
