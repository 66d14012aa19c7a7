// All searches in turn, over one predicate with one budget and one memory of what was tried.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "judge/minimize/elements.h"
#include "judge/minimize/minimize.h"

namespace gpuemu {
namespace {

// Trials that single elements may take: sums that need all of theirs would use up any number.
constexpr uint64_t kElementTrialsMax = 60;
constexpr size_t kElementsMax = size_t{1} << 20;
constexpr size_t kSimplifiedMax = 8;  // Elements that are given a rounder value.

/// How simple a number is to people: 0, 1, then whole ones, then the others.
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
  /// Everything that leaves the values to the generator.
  void run_generated() {
    if (search_.change_dims) {
      simplify_layout();
      simplify_attrs();
    }
    bool smaller = true;
    while (smaller && !exhausted()) {
      const bool dims = search_.change_dims && shrink_dims();
      const bool values = search_.change_values && shrink_values();
      // Without new values the dims are at their least already, and the other way round.
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

  /// What came of a choice. Remembered answers cost nothing.
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

  /// Takes the choice when it fails in the same way.
  bool consider(const CaseChoice& choice) {
    const auto kind = ask(choice);
    if (!kind || *kind != kind_) return false;
    best_ = choice;
    return true;
  }

  /// The choice of now with other dims, layout and the like.
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

  /// The search sees the place in the list for dims that have one, and sizes for the others.
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

  /// The search over dims, where `made` says what other dims make of the choice of now.
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
    // An unlisted size of an older configuration stays as it is unless something smaller fails.
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

  /// Where few elements matter, the others are simplified; else the generator's values stay.
  void shrink_elements() {
    // A word is simpler to tell than a list of elements.
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

  /// Smaller sizes of what is stored now: the leading part of every input.
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

  /// Round numbers in place of the few that are left.
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
