#include "judge/cases/order.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "common/rng/rng.h"

namespace gpuemu {
namespace {

/// A case of one dtype that has a strategy of its own.
struct Place {
  uint64_t row;
  std::string_view strategy;
  uint64_t turn = 0;
};

/// Of the cases that are rows of the covering array. Row 0 has every dim at its least, where little
/// shows, row 1 at its largest.
constexpr Place kCovered[] = {{0, "normal"},          {1, "tile_maxima"}, {3, "thresholds"},
                              {3, "int_thresholds"},  {4, "row_mix"},     {6, "row_specials"},
                              {14, "row_specials", 1}};

/// Of the cases between: every fourth from 9 on has sizes of the kernel's own, 15 a long dim.
constexpr Place kBetween[] = {{9, "row_mix", 2},  {13, "row_specials", 3}, {15, "exact_ties"},
                              {17, "thresholds"}, {17, "int_thresholds"},  {19, "row_specials", 2},
                              {21, "row_mix", 1}, {23, "tile_maxima", 1}};

/// Strategies of floats whose faults those above show too: they wait, in this order, until the
/// others have come.
constexpr std::string_view kLater[] = {"large",    "sorted_ties", "one_inf", "one_ninf",
                                       "all_neg",  "impulse",     "ascend",  "descend",
                                       "constant", "zeros",       "one_nan", "all_pos"};

bool has(const std::vector<std::string>& strategies, std::string_view name) {
  return std::ranges::find(strategies, name) != strategies.end();
}

bool has_place(const std::string& strategy) {
  return strategy == "exact_ties" ||
         std::ranges::find(kCovered, strategy, &Place::strategy) != std::end(kCovered);
}

/// How the patterns of a case are turned, so that those of a run differ.
uint64_t turn_of(std::string_view strategy, uint64_t row) {
  for (const Place& place : kBetween) {
    if (place.row == row && place.strategy == strategy) return place.turn;
  }
  for (const Place& place : kCovered) {
    if (place.row == row && place.strategy == strategy) return place.turn;
  }
  return row;
}

}  // namespace

std::optional<uint64_t> covering_row(uint64_t row) {
  if (row < kCoveringFirst) return row;
  if (row % 2 != 0) return std::nullopt;
  return kCoveringFirst + (row - kCoveringFirst) / 2;
}

std::vector<std::string> in_order(const std::vector<std::string>& strategies, uint64_t base_seed) {
  std::vector<std::string> placed, usual, later;
  const bool has_rows = has(strategies, "row_mix");
  for (const std::string& name : strategies) {
    const bool waits = has_rows && std::ranges::find(kLater, name) != std::end(kLater);
    if (!waits) (has_place(name) ? placed : usual).push_back(name);
  }
  for (const std::string_view name : kLater) {
    if (has_rows && has(strategies, name)) later.emplace_back(name);
  }
  Stream rotation(base_seed, 0, "strategy/value");
  if (!usual.empty()) {
    const auto start = static_cast<ptrdiff_t>(rotation.below(usual.size()));
    std::ranges::rotate(usual, usual.begin() + start);
  }
  // So that functions without code of ours have the cases that kernels with numbers have.
  const bool has_numbers = has(placed, "thresholds") || has(placed, "int_thresholds");
  const std::string instead = has_numbers || later.empty() ? "" : later.back();
  for (const Place& place : kCovered) {
    if (place.strategy == "thresholds" && !instead.empty()) {
      const auto at = static_cast<ptrdiff_t>(*covering_row(place.row));
      usual.insert(usual.begin() + std::min(at, std::ssize(usual)), instead);
    }
    if (!has(placed, place.strategy)) continue;
    const auto at =
        static_cast<ptrdiff_t>(std::min<uint64_t>(*covering_row(place.row), usual.size()));
    usual.insert(usual.begin() + at, std::string(place.strategy));
  }
  usual.insert(usual.end(), later.begin(), later.end());
  if (has(placed, "exact_ties")) usual.emplace_back("exact_ties");
  return usual;
}

std::optional<std::string> value_of_row(const std::vector<std::string>& ordered, uint64_t row) {
  if (row >= kOrderedRows) return std::nullopt;
  const size_t covered = (kOrderedRows + kCoveringFirst) / 2;  // In the first rows of the array.
  size_t next = covered;
  for (uint64_t each = kCoveringFirst + 1; each <= row; each += 2) {
    const auto place = std::ranges::find_if(
        kBetween, [&](const Place& one) { return one.row == each && has(ordered, one.strategy); });
    const bool is_reserved = place != std::end(kBetween);
    if (each == row) {
      if (is_reserved) return std::string(place->strategy);
      if (next < ordered.size()) return ordered[next];
      // All have been; where they are few they come again, from the end.
      return ordered[ordered.size() - 1 - (next - covered) % ordered.size()];
    }
    if (!is_reserved) ++next;
  }
  return std::nullopt;
}

void set_value_parameters(CasePlan& plan, const Constants& constants, uint64_t row) {
  plan.value_parameters.clear();
  const std::string& name = plan.value_strategy;
  if (name == "thresholds") plan.value_parameters = constants.floats;
  if (name == "int_thresholds") {
    plan.value_parameters.assign(constants.integers.begin(), constants.integers.end());
  }
  if (name == "tile_maxima" || name == "row_mix" || name == "row_specials") {
    plan.value_parameters = {static_cast<double>(turn_of(name, row))};
  }
}

}  // namespace gpuemu
