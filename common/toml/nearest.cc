// Computes the edit distance with three rows of the usual table.
#include "common/toml/nearest.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "common/numeric/dtype.h"

namespace gpuemu {
namespace {

// Longer words are data, not misspelled keys; the table below is quadratic.
constexpr size_t kWordCharsMax = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: the row before the last is needed for swaps.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t differs = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + differs});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kWordCharsMax) return "";
  std::string best;
  // At most a third of the letters may differ; otherwise it is another word.
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kWordCharsMax) continue;
    const size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance || distance >= candidate.size()) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

std::string known_or_none(const std::vector<std::string>& names) {
  return names.empty() ? "there are none" : fmt::format("known are {}", fmt::join(names, ", "));
}

std::string unknown_dtype(std::string_view name) {
  std::vector<std::string> known;
  for (size_t i = 0; i < kDTypeCount; ++i) known.emplace_back(name_of(static_cast<DType>(i)));
  // Without a module, as in torch.float32.
  const size_t dot = name.find_last_of(".:");
  std::string hint = did_you_mean(dot == name.npos ? name : name.substr(dot + 1), known);
  if (hint.empty()) hint = fmt::format(", expected one of {}", fmt::join(known, ", "));
  return fmt::format("unknown dtype '{}'{}", name, hint);
}

}  // namespace gpuemu
