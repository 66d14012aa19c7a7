// The searches over dims, over values, and over single elements.
#include "judge/minimize/minimize.h"

#include <algorithm>
#include <cmath>

namespace gpuemu {
namespace {

/// The search over dims: the smallest failing case so far, and the results of all trials.
class DimsSearch {
 public:
  DimsSearch(const Dims& start, const std::string& kind, const DimsTrial& trial,
             const DimsOptions& options)
      : best_(start), kind_(kind), trial_(trial), options_(options) {}

  DimsMinimum run() {
    if (!adopt_all_lower()) {
      bool smaller = true;
      while (smaller && !exhausted()) {
        smaller = false;
        for (const std::string& name : largest_first()) smaller = shrink(name) || smaller;
        if (!smaller) smaller = step_down() || shrink_pairs();
      }
    }
    return {best_, kind_, trials_, !exhausted()};
  }

 private:
  bool exhausted() const {
    return trials_ >= options_.trials_max || (options_.cancelled && options_.cancelled());
  }

  int64_t lower_of(const std::string& name) const {
    const auto found = options_.lower.find(name);
    const int64_t lower = found == options_.lower.end() ? 1 : found->second;
    return std::min(lower, best_.at(name));
  }

  /// Returns whether the same failure still occurs. Known results are reused.
  bool fails(const Dims& dims) {
    const auto known = tried_.find(dims);
    if (known != tried_.end()) return known->second;
    if (exhausted()) return false;
    ++trials_;
    const std::optional<std::string> kind = trial_(dims);
    return tried_[dims] = kind.has_value() && *kind == kind_;
  }

  bool adopt(const Dims& dims) {
    if (!fails(dims)) return false;
    best_ = dims;
    return true;
  }

  Dims with(const std::string& name, int64_t value) const {
    Dims dims = best_;
    dims[name] = value;
    return dims;
  }

  bool adopt_all_lower() {
    Dims dims = best_;
    for (auto& [name, value] : dims) value = lower_of(name);
    return dims != best_ && adopt(dims);
  }

  std::vector<std::string> largest_first() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : best_) names.push_back(name);
    std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
      return best_.at(a) > best_.at(b);
    });
    return names;
  }

  /// Bisects between the largest value known to pass and the smallest known to fail.
  bool shrink(const std::string& name) {
    const int64_t start = best_.at(name);
    int64_t passes = lower_of(name) - 1;
    if (start > lower_of(name) && adopt(with(name, lower_of(name)))) return true;
    if (start > lower_of(name)) passes = lower_of(name);
    while (best_.at(name) - passes > 1 && !exhausted()) {
      const int64_t middle = passes + (best_.at(name) - passes) / 2;
      if (!adopt(with(name, middle))) passes = middle;
    }
    return best_.at(name) < start;
  }

  /// Failures at odd or unaligned sizes are not monotonic: a smaller neighbour may fail although
  /// the middle passed.
  bool step_down() {
    for (const std::string& name : largest_first()) {
      for (const int64_t step : {int64_t{1}, int64_t{2}, int64_t{3}}) {
        const int64_t value = best_.at(name) - step;
        if (value >= lower_of(name) && adopt(with(name, value))) return true;
      }
      // Tries one more than a smaller power of two, which is typical of tile boundaries.
      for (int64_t power = 1; power < best_.at(name) - 1; power *= 2) {
        if (power + 1 >= lower_of(name) && adopt(with(name, power + 1))) return true;
      }
    }
    return false;
  }

  /// Handles dims that must stay equal or proportional, which can only shrink together.
  bool shrink_pairs() {
    const std::vector<std::string> names = largest_first();
    for (size_t i = 0; i < names.size(); ++i) {
      for (size_t j = i + 1; j < names.size(); ++j) {
        for (const bool halve : {true, false}) {
          Dims dims = best_;
          for (const std::string& name : {names[i], names[j]}) {
            const int64_t value = dims[name];
            dims[name] = std::max(lower_of(name), halve ? value / 2 : value - 1);
          }
          if (dims != best_ && adopt(dims)) return true;
        }
      }
    }
    return false;
  }

  Dims best_;
  const std::string& kind_;
  const DimsTrial& trial_;
  const DimsOptions& options_;
  uint64_t trials_ = 0;
  std::map<Dims, bool> tried_;
};

}  // namespace

DimsMinimum minimize_dims(const Dims& start, const std::string& kind, const DimsTrial& trial,
                          const DimsOptions& options) {
  return DimsSearch(start, kind, trial, options).run();
}

ValueMinimum minimize_values(const ValueChoice& start, const std::string& kind,
                             const ValueTrial& trial, const ValueOptions& options) {
  ValueMinimum best{start, kind, 0};
  const auto adopt = [&](const ValueChoice& choice) {
    if (best.trials >= options.trials_max || (options.cancelled && options.cancelled())) {
      return false;
    }
    ++best.trials;
    const std::optional<std::string> found = trial(choice);
    if (!found.has_value() || *found != kind) return false;
    best.choice = choice;
    return true;
  };
  for (const Strategy strategy : options.simpler) {
    if (strategy == start.strategy || adopt({strategy, start.scale})) break;
  }
  const Strategy strategy = best.choice.strategy;
  const double from = best.choice.scale;
  // Halvings left before the smallest scale is reached; zeros cannot be narrowed.
  const double left = static_cast<double>(options.halvings_max) + std::floor(std::log2(from));
  if (strategy == Strategy::Zeros || !(left >= 1)) return best;
  const auto narrowed = [&](uint64_t halvings) {
    return ValueChoice{strategy, std::ldexp(from, -static_cast<int>(halvings))};
  };
  uint64_t fails = 0, passes = static_cast<uint64_t>(left);
  if (adopt(narrowed(passes))) return best;
  while (passes - fails > 1) {
    const uint64_t middle = fails + (passes - fails) / 2;
    (adopt(narrowed(middle)) ? fails : passes) = middle;
  }
  return best;
}

ElementMinimum minimize_elements(const std::vector<size_t>& elements, const ElementTrial& trial,
                                 uint64_t trials_max) {
  ElementMinimum best{elements, 0};
  const auto adopt = [&](std::vector<size_t> kept) {
    if (best.trials >= trials_max) return false;
    ++best.trials;
    if (!trial(kept)) return false;
    best.kept = std::move(kept);
    return true;
  };
  if (elements.empty() || adopt({})) return best;
  size_t block = (elements.size() + 1) / 2;
  while (best.trials < trials_max) {
    bool smaller = false;
    for (size_t at = 0; at < best.kept.size() && best.trials < trials_max;) {
      std::vector<size_t> kept = best.kept;
      const auto first = kept.begin() + static_cast<ptrdiff_t>(at);
      kept.erase(first, kept.begin() + static_cast<ptrdiff_t>(std::min(at + block, kept.size())));
      // The empty set was tried already.
      const bool adopted = !kept.empty() && adopt(std::move(kept));
      smaller = smaller || adopted;
      if (!adopted) at += block;
    }
    if (block == 1 && !smaller) break;
    if (block > 1) block = std::min(block / 2, std::max<size_t>(1, (best.kept.size() + 1) / 2));
  }
  return best;
}

}  // namespace gpuemu
