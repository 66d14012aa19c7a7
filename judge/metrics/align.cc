// Myers' greedy search over diagonals. Common ends are cut off first.
#include "judge/metrics/align.h"

#include <algorithm>

namespace gpuemu {
namespace {

// Limit of the number of changes; the search stores its square, 4 million places.
constexpr int64_t kChangesMax = 2000;

/// Searches between two middles that have no common ends.
class Alignment {
 public:
  Alignment(const std::vector<uint64_t>& before, const std::vector<uint64_t>& after)
      : before_(before),
        after_(after),
        rows_(static_cast<int64_t>(before.size())),
        columns_(static_cast<int64_t>(after.size())) {}

  /// Returns pairs of equal elements, ascending; nothing if there are too many changes.
  std::optional<std::vector<std::pair<size_t, size_t>>> run() {
    const int64_t most = std::min(rows_ + columns_, kChangesMax);
    for (int64_t changes = 0; changes <= most; ++changes) {
      reached_.emplace_back(static_cast<size_t>(2 * changes + 1));
      for (int64_t diagonal = -changes; diagonal <= changes; diagonal += 2) {
        const int64_t row = follow(start(changes, diagonal), diagonal);
        at(changes, diagonal) = row;
        if (row >= rows_ && row - diagonal >= columns_) return trace(changes);
      }
    }
    return std::nullopt;
  }

 private:
  int64_t& at(int64_t changes, int64_t diagonal) {
    return reached_[static_cast<size_t>(changes)][static_cast<size_t>(diagonal + changes)];
  }
  /// Returns whether the last change on the way to the diagonal is an addition.
  bool comes_from_addition(int64_t changes, int64_t diagonal) {
    if (diagonal == -changes) return true;
    if (diagonal == changes) return false;
    return at(changes - 1, diagonal - 1) < at(changes - 1, diagonal + 1);
  }
  int64_t start(int64_t changes, int64_t diagonal) {
    if (changes == 0) return 0;
    return comes_from_addition(changes, diagonal) ? at(changes - 1, diagonal + 1)
                                                  : at(changes - 1, diagonal - 1) + 1;
  }
  int64_t follow(int64_t row, int64_t diagonal) const {
    while (row < rows_ && row - diagonal < columns_ &&
           before_[static_cast<size_t>(row)] == after_[static_cast<size_t>(row - diagonal)]) {
      ++row;
    }
    return row;
  }
  std::vector<std::pair<size_t, size_t>> trace(int64_t changes) {
    std::vector<std::pair<size_t, size_t>> pairs;
    int64_t row = rows_, diagonal = rows_ - columns_;
    for (; changes >= 0; --changes) {
      for (const int64_t from = start(changes, diagonal); row > from; --row) {
        pairs.emplace_back(static_cast<size_t>(row - 1), static_cast<size_t>(row - 1 - diagonal));
      }
      if (changes == 0) break;
      const bool added = comes_from_addition(changes, diagonal);
      diagonal += added ? 1 : -1;
      row = at(changes - 1, diagonal);
    }
    std::ranges::reverse(pairs);
    return pairs;
  }

  const std::vector<uint64_t>& before_;
  const std::vector<uint64_t>& after_;
  const int64_t rows_, columns_;
  std::vector<std::vector<int64_t>> reached_;  // By changes, then diagonal.
};

}  // namespace

std::vector<AlignedPair> align(const std::vector<uint64_t>& before,
                               const std::vector<uint64_t>& after) {
  const auto [first_left, first_right] = std::ranges::mismatch(before, after);
  const auto head = static_cast<size_t>(first_left - before.begin());
  size_t tail = 0;
  while (tail + head < std::min(before.size(), after.size()) &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) {
    ++tail;
  }
  const std::vector<uint64_t> left(first_left, before.end() - static_cast<ptrdiff_t>(tail));
  const std::vector<uint64_t> right(first_right, after.end() - static_cast<ptrdiff_t>(tail));
  auto pairs = Alignment(left, right).run().value_or(std::vector<std::pair<size_t, size_t>>());
  pairs.emplace_back(left.size(), right.size());
  std::vector<AlignedPair> all;
  for (size_t i = 0; i < head; ++i) all.push_back({i, i});
  size_t row = 0, column = 0;
  for (const auto& [i, j] : pairs) {
    for (; row < i; ++row) all.push_back({head + row, std::nullopt});
    for (; column < j; ++column) all.push_back({std::nullopt, head + column});
    if (i < left.size()) all.push_back({head + row++, head + column++});
  }
  for (size_t i = 0; i < tail; ++i) {
    all.push_back({before.size() - tail + i, after.size() - tail + i});
  }
  return all;
}

}  // namespace gpuemu
