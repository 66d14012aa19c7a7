// Runs all searches in turn, with one predicate, one budget and one memory of results.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "judge/minimize/elements.h"
#include "judge/minimize/minimize.h"

namespace gpuemu {
namespace {

// Limit of trials for single elements: sums that need all their elements would use up any budget.
constexpr uint64_t kElementTrialsMax = 60;
constexpr size_t kElementsMax = size_t{1} << 20;
constexpr size_t kSimplifiedMax = 8;  // Elements that are replaced by rounder values.

/// Ranks how simple a number is to a reader: 0, 1, whole numbers, others.
std::tuple<int, double> simplicity_of(double value) {
  const int group = value == 0 ? 0 : value == 1 ? 1 : std::trunc(value) == value ? 2 : 3;
  return {group, std::fabs(value)};
}

class CaseMinimizer {
 public:
  CaseMinimizer(const CaseChoice& start, const std::string& kind, const CaseTrial& trial,
                const CaseSearch& search)
      : best_(start), kind_(kind), trial_(trial), search_(search) {}

  CaseMinimum run() {
    if (!best_.stored) run_generated();
    if (search_.change_values && search_.inputs_of) shrink_elements();
    if (best_.stored && search_.change_dims && search_.inputs_of) crop();
    if (best_.stored && search_.change_values) round_elements();
    return {best_, trials_, !exhausted()};
  }

 private:
  /// Runs all searches in which the generator still makes the values.
  void run_generated() {
    if (search_.change_dims) {
      simplify_layout();
      simplify_attrs();
    }
    bool smaller = true;
    while (smaller && !exhausted()) {
      const bool dims = search_.change_dims && shrink_dims();
      const bool values = search_.change_values && shrink_values();
      // Without new values the dims are already minimal, and the reverse.
      smaller = search_.change_dims && search_.change_values && (dims || values);
    }
    if (search_.change_dims) {
      simplify_layout();
      simplify_attrs();
    }
  }

  bool exhausted() const {
    return trials_ >= search_.trials_max || (search_.cancelled && search_.cancelled());
  }

  /// Returns the result of a choice. Known results are reused.
  std::optional<std::string> ask(const CaseChoice& choice) {
    if (choice.stored) {
      if (exhausted()) return std::nullopt;
      ++trials_;
      return trial_(choice);
    }
    const auto key = std::tuple(choice.dims, choice.values.strategy, choice.values.scale,
                                choice.layout, choice.attrs);
    if (const auto known = tried_.find(key); known != tried_.end()) return known->second;
    if (exhausted()) return std::nullopt;
    ++trials_;
    return tried_[key] = trial_(choice);
  }

  /// Adopts the choice if it fails in the same way.
  bool consider(const CaseChoice& choice) {
    const auto kind = ask(choice);
    if (!kind || *kind != kind_) return false;
    best_ = choice;
    return true;
  }

  /// Returns the current choice with a change applied.
  template <typename Change>
  CaseChoice with(const Change& change) const {
    CaseChoice choice = best_;
    change(choice);
    return choice;
  }

  void simplify_layout() {
    for (const MemoryLayout layout : search_.layouts) {
      if (layout == best_.layout) return;
      if (consider(with([&](CaseChoice& choice) { choice.layout = layout; }))) return;
    }
  }

  void simplify_attrs() {
    for (const auto& [name, given] : search_.attrs) {
      std::vector<double> values = given;
      std::ranges::sort(values, {}, simplicity_of);
      for (const double value : values) {
        const auto now = best_.attrs.find(name);
        if (now == best_.attrs.end() || now->second == value) break;
        if (consider(with([&](CaseChoice& choice) { choice.attrs[name] = value; }))) break;
      }
    }
  }

  /// For dims with a list of sizes, the search uses positions in the list.
  Dims positions_of(Dims dims) const {
    for (auto& [name, size] : dims) {
      const auto list = search_.sizes.find(name);
      if (list == search_.sizes.end()) continue;
      const auto at = std::ranges::lower_bound(list->second, size);
      size = at - list->second.begin();
    }
    return dims;
  }
  Dims sizes_of(Dims places) const {
    for (auto& [name, place] : places) {
      const auto list = search_.sizes.find(name);
      if (list == search_.sizes.end() || list->second.empty()) continue;
      place = list->second[std::min(static_cast<size_t>(place), list->second.size() - 1)];
    }
    return places;
  }

  /// Searches over dims; `made` returns the current choice with other dims.
  template <typename Made>
  bool search_dims(const Made& made) {
    DimsOptions options;
    options.lower = search_.lower;
    for (const auto& [name, list] : search_.sizes) options.lower[name] = 0;
    options.trials_max = UINT64_MAX;
    options.cancelled = [this] { return exhausted(); };
    const Dims before = best_.dims;
    const DimsMinimum minimum = minimize_dims(
        positions_of(before), kind_,
        [&](const Dims& places) { return ask(made(sizes_of(places))); }, options);
    // An unlisted size from an older configuration is kept unless something smaller fails.
    if (minimum.dims != positions_of(before)) best_ = made(sizes_of(minimum.dims));
    return best_.dims != before;
  }

  bool shrink_dims() {
    const CaseChoice start = best_;
    return search_dims([&](const Dims& dims) {
      CaseChoice choice = start;
      choice.dims = dims;
      return choice;
    });
  }

  bool shrink_values() {
    ValueOptions options;
    options.trials_max = UINT64_MAX;
    options.cancelled = [this] { return exhausted(); };
    const ValueChoice before = best_.values;
    best_.values = minimize_values(
                       before, kind_,
                       [this](const ValueChoice& values) {
                         return ask(with([&](CaseChoice& choice) { choice.values = values; }));
                       },
                       options)
                       .choice;
    return best_.values.strategy != before.strategy || best_.values.scale != before.scale;
  }

  CaseChoice with_inputs(NamedTensors inputs) const {
    CaseChoice choice = best_;
    choice.stored = std::make_shared<const NamedTensors>(std::move(inputs));
    return choice;
  }

  /// If few elements matter, simplifies the others; otherwise the generator's values stay.
  void shrink_elements() {
    // A strategy's name is simpler to report than a list of elements.
    if (best_.values.strategy == Strategy::Zeros || best_.values.strategy == Strategy::Constant) {
      return;
    }
    const NamedTensors inputs = best_.stored ? *best_.stored : search_.inputs_of(best_);
    const Elements elements(inputs, search_.simplest);
    const std::vector<size_t> differing = elements.differing();
    if (differing.empty() || differing.size() > kElementsMax || exhausted()) return;
    const CaseChoice start = best_;
    const ElementMinimum minimum = minimize_elements(
        differing,
        [&](const std::vector<size_t>& kept) {
          const auto kind = ask(with_inputs(elements.only(kept)));
          return kind && *kind == kind_;
        },
        std::min(kElementTrialsMax, search_.trials_max - trials_));
    best_ = start;
    if (minimum.kept.size() < differing.size()) best_ = with_inputs(elements.only(minimum.kept));
  }

  /// Reduces the sizes of stored inputs to the leading part of each.
  void crop() {
    const CaseChoice start = best_;
    search_dims([&](const Dims& dims) {
      CaseChoice choice = start;
      choice.dims = dims;
      choice.stored = nullptr;
      choice.values.strategy = Strategy::Zeros;
      const NamedTensors shapes = search_.inputs_of(choice);
      choice.values = start.values;
      choice.stored = std::make_shared<const NamedTensors>(cropped(*start.stored, shapes));
      return choice;
    });
  }

  /// Replaces the few remaining values by round numbers.
  void round_elements() {
    const std::vector<size_t> left = Elements(*best_.stored, search_.simplest).differing();
    if (left.size() > kSimplifiedMax) return;
    for (const size_t element : left) {
      const std::shared_ptr<const NamedTensors> now = best_.stored;
      const Elements elements(*now, search_.simplest);
      const double value = elements.value_of(element);
      for (const double rounder : {1.0, std::trunc(value), std::round(value)}) {
        if (!std::isfinite(value) || simplicity_of(rounder) >= simplicity_of(value)) continue;
        if (consider(with_inputs(elements.with(element, rounder)))) break;
      }
    }
  }

  CaseChoice best_;
  const std::string& kind_;
  const CaseTrial& trial_;
  const CaseSearch& search_;
  uint64_t trials_ = 0;
  std::map<std::tuple<Dims, Strategy, double, MemoryLayout, std::map<std::string, double>>,
           std::optional<std::string>>
      tried_;
};

}  // namespace

CaseMinimum minimize_case(const CaseChoice& start, const std::string& kind, const CaseTrial& trial,
                          const CaseSearch& search) {
  return CaseMinimizer(start, kind, trial, search).run();
}

}  // namespace gpuemu
