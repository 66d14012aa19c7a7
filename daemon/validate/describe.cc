#include "daemon/validate/describe.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/validate/formats.h"

namespace gpuemu {
namespace {

// Above it a pattern is not looked for: the sentence would say "nearly everywhere".
constexpr uint64_t kPatternFaultsMax = uint64_t{1} << 20;
constexpr size_t kLongestTile = 128;

struct Grid {
  size_t rows = 1, columns = 1;
  size_t row_of(size_t index) const { return index / columns; }
  size_t column_of(size_t index) const { return index % columns; }
};

Grid grid_of(const Shape& shape) {
  Grid grid;
  if (shape.empty()) return grid;
  grid.columns = static_cast<size_t>(std::max<int64_t>(shape.back(), 1));
  grid.rows = static_cast<size_t>(element_count(shape)) / grid.columns;
  return grid;
}

std::vector<size_t> fault_indices(const Judge& judge, FindingKind kind) {
  std::vector<size_t> indices;
  const auto count = static_cast<size_t>(element_count(judge.comparison().output.shape));
  for (size_t i = 0; i < count; ++i) {
    const Fault fault = judge.at(i);
    if (fault != Fault::None && kind_of(fault, judge.legacy()) == kind) indices.push_back(i);
  }
  return indices;
}

template <typename Key>
bool all_same(const std::vector<size_t>& indices, const Key& key) {
  return std::all_of(indices.begin(), indices.end(),
                     [&](size_t index) { return key(index) == key(indices.front()); });
}

std::string axis_pattern(const std::vector<size_t>& indices, const Grid& grid) {
  const auto column = [&](size_t index) { return grid.column_of(index); };
  const auto row = [&](size_t index) { return grid.row_of(index); };
  if (grid.rows > 1 && all_same(indices, column)) {
    const size_t at = column(indices.front());
    if (at + 1 == grid.columns) return "only the last column";
    return at == 0 ? "only the first column" : fmt::format("only column {}", at);
  }
  if (grid.rows > 1 && all_same(indices, row)) {
    const size_t at = row(indices.front());
    if (at + 1 == grid.rows) return "only the last row";
    return at == 0 ? "only the first row" : fmt::format("only row {}", at);
  }
  return "";
}

/// The end of every row, or of the whole tensor: what a missing tail mask leaves.
std::string tail_pattern(const std::vector<size_t>& indices, const Grid& grid) {
  const size_t count = grid.rows * grid.columns;
  if (indices.size() > 1 && indices.size() < count && indices.front() + indices.size() == count) {
    return fmt::format("only the last {} elements", indices.size());
  }
  if (grid.rows < 2) return "";
  size_t lowest = grid.columns;
  for (const size_t index : indices) lowest = std::min(lowest, grid.column_of(index));
  const size_t width = grid.columns - lowest;
  if (width < grid.columns && width * grid.rows == indices.size()) {
    return fmt::format("only the last {} columns", width);
  }
  return "";
}

std::string period_pattern(const std::vector<size_t>& indices, const Grid& grid) {
  if (indices.size() < 3) return "";
  for (const size_t period :
       {size_t{1024}, size_t{512}, size_t{256}, size_t{128}, size_t{64}, size_t{32}}) {
    if (period >= grid.rows * grid.columns) continue;
    const char* suffix = period % 10 == 2 && period != 512 ? "nd" : "th";
    if (all_same(indices, [&](size_t index) { return index % period; })) {
      return fmt::format("only every {}{} element", period, suffix);
    }
    if (grid.rows > 1 && period < grid.columns &&
        all_same(indices, [&](size_t index) { return grid.column_of(index) % period; })) {
      return fmt::format("only every {}{} column", period, suffix);
    }
  }
  return "";
}

std::string tile_pattern(const std::vector<size_t>& indices, const Grid& grid) {
  if (grid.rows < 2 || indices.size() < 2) return "";
  for (size_t tile = 8; tile <= kLongestTile; tile *= 2) {
    if (tile >= grid.columns && tile >= grid.rows) return "";
    const auto tile_of = [&](size_t index) {
      return std::pair(grid.row_of(index) / tile, grid.column_of(index) / tile);
    };
    if (all_same(indices, tile_of)) {
      const auto [row, column] = tile_of(indices.front());
      return fmt::format("only one {} x {} tile, at [{}, {}]", tile, tile, row * tile,
                         column * tile);
    }
  }
  return "";
}

std::string shape_of_faults(const std::vector<size_t>& indices, const Shape& shape) {
  if (indices.empty()) return "";
  const Grid grid = grid_of(shape);
  if (indices.size() == grid.rows * grid.columns) return indices.size() > 1 ? "every element" : "";
  for (const auto pattern : {axis_pattern, tail_pattern, period_pattern, tile_pattern}) {
    std::string text = pattern(indices, grid);
    if (!text.empty()) return text;
  }
  return "";
}

const char* word_of(Fault fault) {
  switch (fault) {
    case Fault::NanCreated:
      return "nan_created: ";
    case Fault::NanLost:
      return "nan_lost: ";
    case Fault::InfCreated:
      return "inf_created: ";
    case Fault::InfLost:
      return "inf_lost: ";
    case Fault::NanBoth:
    case Fault::InfBoth:
      return "not finite: ";
    case Fault::None:
    case Fault::Tolerance:
      return "";
  }
  return "";
}

}  // namespace

std::string place_of(size_t index, const Shape& shape) {
  if (shape.size() < 2) return fmt::format("{}", index);
  std::vector<size_t> place(shape.size());
  size_t rest = index;
  for (size_t axis = shape.size(); axis-- > 0;) {
    const auto size = static_cast<size_t>(std::max<int64_t>(shape[axis], 1));
    place[axis] = rest % size;
    rest /= size;
  }
  return fmt::format("{} [{}]", index, fmt::join(place, ", "));
}

std::string pattern_of(const Judge& judge, FindingKind kind, uint64_t fault_count) {
  const Shape& shape = judge.comparison().output.shape;
  const int64_t count = element_count(shape);
  std::string text =
      fmt::format("{} of {} {}", fault_count, count, count == 1 ? "element" : "elements");
  if (fault_count > kPatternFaultsMax) return text;
  const std::string pattern = shape_of_faults(fault_indices(judge, kind), shape);
  return pattern.empty() ? text : text + "; " + pattern;
}

std::string describe_fault(const Judge& judge, Fault fault, size_t index, uint64_t fault_count) {
  const Comparison& comparison = judge.comparison();
  const double expected = element(comparison.reference, index);
  const double actual = element(comparison.output, index);
  std::string text = fmt::format("{}element {}: expected {:.9g}, got {:.9g}", word_of(fault),
                                 place_of(index, comparison.output.shape), expected, actual);
  if (fault == Fault::Tolerance) {
    text += fmt::format(", |diff| {:.6g} > bound {:.6g}", std::fabs(actual - expected),
                        judge.bound().at(index, expected));
  }
  return fmt::format("{} ({})", text,
                     pattern_of(judge, kind_of(fault, judge.legacy()), fault_count));
}

}  // namespace gpuemu
