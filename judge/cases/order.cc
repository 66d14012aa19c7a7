#include "judge/cases/order.h"

#include <algorithm>
#include <iterator>

#include "common/rng/rng.h"

namespace gpuemu {
namespace {

/// A row for which a strategy is reserved.
struct Place {
  uint64_t row;
  Strategy strategy;
  uint64_t turn = 0;
};

/// Strategies reserved for rows of the covering array. Row 0 has every dim at its smallest, where
/// little shows; row 1 at its largest.
constexpr Place kCovered[] = {{0, Strategy::Normal},          {1, Strategy::TileMaxima},
                              {3, Strategy::Thresholds},      {3, Strategy::IntThresholds},
                              {4, Strategy::RowMix},          {6, Strategy::RowSpecials},
                              {10, Strategy::RowSpecials, 2}, {14, Strategy::RowSpecials, 1}};

/// Strategies reserved for rows outside the covering array. Every fourth row from 9 on uses the
/// kernel's own sizes, row 11 short sums or the longest dim, row 15 a long dim.
constexpr Place kBetween[] = {
    {9, Strategy::RowMix, 2},  {11, Strategy::Unit},       {13, Strategy::RowSpecials, 3},
    {15, Strategy::ExactTies}, {17, Strategy::Thresholds}, {17, Strategy::IntThresholds},
    {19, Strategy::RowMix, 1}, {21, Strategy::Offset},     {23, Strategy::TileMaxima, 1}};

/// Strategies that are only used in kBetween. Unit values reveal what a long sum in a narrow format
/// loses, values far from 0 what a one-pass variance loses; small sizes would hide both.
constexpr Strategy kOnlyBetween[] = {Strategy::Unit, Strategy::Offset, Strategy::ExactTies};

/// Float strategies whose faults the ones above reveal too. They come last, in this order.
constexpr Strategy kLater[] = {Strategy::Large,   Strategy::SortedTies, Strategy::OneInf,
                               Strategy::OneNinf, Strategy::AllNeg,     Strategy::Impulse,
                               Strategy::Ascend,  Strategy::Descend,    Strategy::Constant,
                               Strategy::Zeros,   Strategy::OneNan,     Strategy::AllPos};

bool has(const std::vector<Strategy>& strategies, Strategy strategy) {
  return std::ranges::find(strategies, strategy) != strategies.end();
}

bool is_only_between(Strategy strategy) {
  return std::ranges::find(kOnlyBetween, strategy) != std::end(kOnlyBetween);
}

bool has_place(Strategy strategy) {
  return is_only_between(strategy) ||
         std::ranges::find(kCovered, strategy, &Place::strategy) != std::end(kCovered);
}

bool is_of_integers(const TensorSpec& input) {
  const auto dtype = dtype_from_alias(input.dtype);
  return dtype && !is_float(*dtype) && *dtype != DType::Bool;
}

/// Returns the counter for the patterns of a case, so that the cases of a run differ.
uint64_t turn_of(Strategy strategy, uint64_t row) {
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

std::vector<Strategy> in_order(const std::vector<Strategy>& strategies, uint64_t base_seed) {
  std::vector<Strategy> placed, usual, later;
  const bool has_rows = has(strategies, Strategy::RowMix);
  for (const Strategy each : strategies) {
    const bool waits = has_rows && std::ranges::find(kLater, each) != std::end(kLater);
    if (!waits) (has_place(each) ? placed : usual).push_back(each);
  }
  for (const Strategy each : kLater) {
    if (has_rows && has(strategies, each)) later.push_back(each);
  }
  Stream rotation(base_seed, 0, "strategy/value");
  if (!usual.empty()) {
    const auto start = static_cast<ptrdiff_t>(rotation.below(usual.size()));
    std::ranges::rotate(usual, usual.begin() + start);
  }
  // Functions whose code is unknown get the same cases as kernels with numbers.
  const bool has_numbers =
      has(placed, Strategy::Thresholds) || has(placed, Strategy::IntThresholds);
  const bool is_filled = !has_numbers && !later.empty();
  for (const Place& place : kCovered) {
    if (place.strategy == Strategy::Thresholds && is_filled) {
      const auto at = static_cast<ptrdiff_t>(*covering_row(place.row));
      usual.insert(usual.begin() + std::min(at, std::ssize(usual)), later.back());
    }
    if (!has(placed, place.strategy)) continue;
    const auto at =
        static_cast<ptrdiff_t>(std::min<uint64_t>(*covering_row(place.row), usual.size()));
    usual.insert(usual.begin() + at, place.strategy);
  }
  usual.insert(usual.end(), later.begin(), later.end());
  for (const Strategy each : kOnlyBetween) {
    if (has(placed, each)) usual.push_back(each);
  }
  return usual;
}

std::optional<Strategy> value_of_row(const std::vector<Strategy>& ordered, uint64_t row) {
  if (row >= kOrderedRows) return std::nullopt;
  // Used in the first rows of the array.
  const size_t covered = (kOrderedRows + kCoveringFirst) / 2;
  size_t next = covered;
  for (uint64_t each = kCoveringFirst + 1; each <= row; each += 2) {
    const auto place = std::ranges::find_if(
        kBetween, [&](const Place& one) { return one.row == each && has(ordered, one.strategy); });
    const bool is_reserved = place != std::end(kBetween);
    if (each == row) {
      if (is_reserved) return place->strategy;
      if (next < ordered.size()) return ordered[next];
      // All have been used; if there are few, they are used again from the end.
      return ordered[ordered.size() - 1 - (next - covered) % ordered.size()];
    }
    if (!is_reserved) ++next;
  }
  return std::nullopt;
}

bool has_integer_inputs(const OpConfig& op) {
  return std::ranges::any_of(op.inputs, is_of_integers);
}

void set_value_parameters(const OpConfig& op, const Constants& constants, uint64_t row,
                          CasePlan& plan) {
  // Floats exceed it too; integers need not go further.
  constexpr int64_t kBesideFloatsMost = 65536;
  std::vector<double>& parameters = plan.value_parameters;
  parameters.clear();
  const Strategy strategy = plan.value_strategy;
  if (strategy == Strategy::IntThresholds) {
    parameters.assign(constants.integers.begin(), constants.integers.end());
  }
  if (strategy == Strategy::Thresholds) parameters = constants.floats;
  if (strategy == Strategy::Thresholds && has_integer_inputs(op)) {
    for (const int64_t number : constants.integers) {
      const bool is_near = number >= -kBesideFloatsMost && number <= kBesideFloatsMost;
      if (is_near) parameters.push_back(static_cast<double>(number));
    }
  }
  if (strategy == Strategy::TileMaxima || strategy == Strategy::RowMix ||
      strategy == Strategy::RowSpecials) {
    parameters = {static_cast<double>(turn_of(strategy, row))};
  }
}

}  // namespace gpuemu
