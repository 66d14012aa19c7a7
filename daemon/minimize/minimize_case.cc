// Both searches in turn, over one budget and one memory of what was tried.
#include <algorithm>
#include <tuple>

#include "daemon/minimize/minimize.h"

namespace gpuemu {
namespace {

class CaseMinimizer {
 public:
  CaseMinimizer(const CaseChoice& start, const std::string& kind, const CaseTrial& trial,
                const CaseSearch& search)
      : best_(start), kind_(kind), trial_(trial), search_(search) {}

  CaseMinimum run() {
    bool smaller = true;
    while (smaller && !exhausted()) {
      const bool dims = search_.change_dims && shrink_dims();
      const bool values = search_.change_values && shrink_values();
      // Without new values the dims are at their least already, and the other way round.
      smaller = search_.change_dims && search_.change_values && (dims || values);
    }
    return {best_, trials_, !exhausted()};
  }

 private:
  bool exhausted() const {
    return trials_ >= search_.trials_max || (search_.cancelled && search_.cancelled());
  }

  /// Remembered answers cost nothing.
  std::optional<std::string> ask(const CaseChoice& choice) {
    const auto key = std::tuple(choice.dims, choice.values.strategy, choice.values.scale);
    if (const auto known = tried_.find(key); known != tried_.end()) return known->second;
    if (exhausted()) return std::nullopt;
    ++trials_;
    return tried_[key] = trial_(choice);
  }

  /// The search sees the place in the list for dims that have one, and sizes for the others.
  Dims places_of(Dims dims) const {
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

  bool shrink_dims() {
    DimsOptions options;
    options.lower = search_.lower;
    for (const auto& [name, list] : search_.sizes) options.lower[name] = 0;
    options.trials_max = UINT64_MAX;
    options.cancelled = [this] { return exhausted(); };
    const Dims before = best_.dims;
    const DimsMinimum minimum = minimize_dims(
        places_of(before), kind_,
        [this](const Dims& places) { return ask({sizes_of(places), best_.values}); }, options);
    // An unlisted size of an older configuration stays as it is unless something smaller fails.
    if (minimum.dims != places_of(before)) best_.dims = sizes_of(minimum.dims);
    return best_.dims != before;
  }

  bool shrink_values() {
    ValueOptions options;
    options.trials_max = UINT64_MAX;
    options.cancelled = [this] { return exhausted(); };
    const ValueChoice before = best_.values;
    best_.values =
        minimize_values(
            before, kind_, [this](const ValueChoice& values) { return ask({best_.dims, values}); },
            options)
            .choice;
    return best_.values.strategy != before.strategy || best_.values.scale != before.scale;
  }

  CaseChoice best_;
  const std::string& kind_;
  const CaseTrial& trial_;
  const CaseSearch& search_;
  uint64_t trials_ = 0;
  std::map<std::tuple<Dims, std::string, double>, std::optional<std::string>> tried_;
};

}  // namespace

CaseMinimum minimize_case(const CaseChoice& start, const std::string& kind, const CaseTrial& trial,
                          const CaseSearch& search) {
  return CaseMinimizer(start, kind, trial, search).run();
}

}  // namespace gpuemu
