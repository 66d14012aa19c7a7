#include "judge/cases/rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "common/numeric/element.h"
#include "common/numeric/infinity.h"
#include "common/rng/fill.h"

namespace gpuemu {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

enum class Form : uint8_t {
  Offset,   ///< Far from 0 and close together.
  NearEps,  ///< So small that an epsilon added to their squares matters.
  Ties,     ///< Halves of odd numbers, times powers of two: ties of rounding.
  Negative,
  Rising,  ///< From one end of the range to the other: every tile has a new maximum.
  Spike,   ///< One large element among low ones.
  RisingBelowZero,
  Falling,
  RowByRow,  ///< Rising from row to row, for ops along the axis before the last.
  Constant,
  Zeros,
};

constexpr std::array kStairs = {Form::Rising, Form::Spike, Form::RisingBelowZero, Form::Falling};
constexpr std::array kAfterFirst = {Form::NearEps, Form::Ties,     Form::Negative, Form::Rising,
                                    Form::Offset,  Form::Constant, Form::Zeros,    Form::Spike};

/// Magnitudes near an epsilon: their squares are around 1e-5 to 1e-12.
constexpr std::array kNearEps = {0x1p-6,  0x1p-7,  0x1p-8,  0x1p-9,
                                 0x1p-10, 0x1p-11, 0x1p-13, 0x1p-20};
constexpr double kNoPlace = -1;
constexpr int32_t kColumnsAtOnce = 1 << 16;

/// Parameters shared by all rows of a tensor.
struct Table {
  Domain domain;
  double lo, hi;              ///< The usual interval.
  double reach_lo, reach_hi;  ///< So wide that exp overflows between its ends.
  double count;               ///< Elements per row.
  uint64_t rows;              ///< Rows per index of the axes before the last two.
  bool is_wide;               ///< The type has more than 16 bits.
  bool is_scale;              ///< Other inputs may be divided by it.
  double shift;               ///< A power of two that makes ties small enough for the domain.
};

struct Row {
  Form form;
  double draw;    ///< From 0 to 1.
  double power;   ///< Power of two for a row of ties.
  double place;   ///< Position of the one different element.
  double second;  ///< Position of the -128 that ties contain besides 127, or kNoPlace.
  double number;  ///< Index along its axis.
};

/// Returns a power of two by which 128 fits the domain; 0 if there is none.
double shift_of(const Domain& domain) {
  const bool both = domain.lo < 0 && domain.hi > 0;
  const double most =
      both ? std::min(-domain.lo, domain.hi) : std::max(std::abs(domain.lo), std::abs(domain.hi));
  double shift = 1;
  while (shift > 0 && 128 * shift > most) shift *= 0.5;
  return shift;
}

Table table_of(const ValueRecipe& recipe, const Domain& domain, size_t count) {
  const bool wide = recipe.dtype == DType::Float32 || recipe.dtype == DType::Float64;
  double most = wide ? 500 : 100;
  // As with `large`: kernels must handle a declared domain. Without one, other rows would be judged
  // by bounds that follow from the largest input.
  if (domain.declared && recipe.strategy == Strategy::TileMaxima) {
    most = std::max(most, std::min(1e5, std::sqrt(float_limits(recipe.dtype).max) / 2));
  }
  const auto [lo, hi] = usual_interval(recipe, domain);
  const bool reaches = domain.lo <= most && domain.hi >= -most;
  return {.domain = domain,
          .lo = lo,
          .hi = hi,
          .reach_lo = reaches ? std::max(domain.lo, -most) : lo,
          .reach_hi = reaches ? std::min(domain.hi, most) : hi,
          .count = recipe.shape.empty() ? 1 : static_cast<double>(recipe.shape.back()),
          .rows = recipe.shape.size() < 2
                      ? 1
                      : static_cast<uint64_t>(recipe.shape[recipe.shape.size() - 2]),
          .is_wide = wide,
          .is_scale = domain.lo > 0 || count == 1,
          .shift = shift_of(domain)};
}

double turn_of(const ValueRecipe& recipe) {
  return recipe.parameters.empty() ? static_cast<double>(recipe.iteration)
                                   : recipe.parameters.front();
}

Form form_of(Strategy strategy, uint64_t turn, size_t row, bool alone) {
  if (strategy == Strategy::ExactTies) return Form::Ties;
  if (strategy == Strategy::TileMaxima && turn % 2 == 1 && !alone) return Form::RowByRow;
  if (strategy == Strategy::TileMaxima) return kStairs[(row + turn) % kStairs.size()];
  if (row >= 4) return kAfterFirst[row % kAfterFirst.size()];
  const Form first = kAfterFirst[(row + turn) % 4];
  return first == Form::Rising ? kStairs[turn / 4 % kStairs.size()] : first;
}

/// All rows of `exact_ties` are alike, because a scale may depend on the whole tensor.
Row row_of(const ValueRecipe& recipe, const Table& table, size_t number, double draw) {
  const auto turn = static_cast<uint64_t>(turn_of(recipe));
  Row row{.form = form_of(recipe.strategy, turn, number, table.rows == 1),
          .draw = draw,
          .power = table.shift,
          .place = std::floor(draw * table.count),
          .second = kNoPlace,
          .number = static_cast<double>(number % table.rows)};
  if (row.form != Form::Ties || recipe.strategy == Strategy::ExactTies) return row;
  const double eighth = draw * 8;
  row.place = std::floor((eighth - std::floor(eighth)) * table.count);
  row.power = std::ldexp(table.shift, -static_cast<int>(std::max(0.0, std::floor(eighth) - 4)));
  if (number % 2 == 1 && table.count > 1) row.second = std::fmod(row.place + 1, table.count);
  return row;
}

// What follows is inlined into a function for each set of vectors.
#define GPUEMU_INLINE [[gnu::always_inline]] inline

GPUEMU_INLINE double ordinary(const Table& table, double draw) {
  const double part = draw * (table.hi - table.lo);
  return table.lo + part;
}

GPUEMU_INLINE double offset(const Table& table, double draw) {
  const double centre = table.is_wide ? 1000 : 100;
  if (table.domain.lo > centre - 1 || table.domain.hi < centre + 1) return ordinary(table, draw);
  return centre - 1 + 2 * draw;
}

GPUEMU_INLINE double near_eps(const Table& table, const Row& row, double draw) {
  const double most = kNearEps[static_cast<size_t>(row.draw * 8)];
  if (table.domain.lo > most || table.domain.hi < -most) return ordinary(table, draw);
  if (table.domain.lo >= 0) return draw * most;
  if (table.domain.hi <= 0) return -(draw * most);
  return (2 * draw - 1) * most;
}

GPUEMU_INLINE double negative(const Table& table, double draw) {
  const double least = std::max(-10.0, table.domain.lo);
  if (table.domain.lo >= 0 || table.domain.hi < least / 2) return ordinary(table, draw);
  return least * (1 - draw * 0.5);
}

/// Returns one of four powers of two, at most 1 if the domain allows it.
double power_in(const Table& table, double draw) {
  const double most = std::min(table.domain.hi, std::max(1.0, 8 * table.domain.lo));
  if (most <= 0) return ordinary(table, draw);
  const int top = std::ilogb(most);
  if (std::ldexp(1.0, top) < table.domain.lo) return ordinary(table, draw);
  const double low = std::ldexp(1.0, top - static_cast<int>(draw * 4));
  return low >= table.domain.lo ? low : std::ldexp(1.0, top);
}

/// Returns a whole number and a half, small in half of the draws, at one of four scales.
GPUEMU_INLINE double tie(const Table& table, const Row& row, double column, double draw) {
  if (table.is_scale) return power_in(table, draw);
  if (row.power == 0) return ordinary(table, draw);
  double value = 127;
  if (column != row.place) {
    const double wide = draw * 254;
    double whole = std::floor(wide) - 127;
    const int kind = static_cast<int>((wide - std::floor(wide)) * 8);
    if (kind >= 4) whole = static_cast<double>((static_cast<int>(whole) + 128) % 8 - 4);
    value = (whole + 0.5) / static_cast<double>(1 << (kind % 4));
  }
  if (column == row.second) value = -128;
  value *= row.power;
  if (table.domain.lo >= 0) value = std::abs(value);
  if (table.domain.hi <= 0) value = -std::abs(value);
  return value;
}

/// Avoids the interval where exp is subnormal but not yet 0, and the usual formulas of sigmoids
/// lose it; with values farther out they are accurate. Ties stay below the largest of their row.
GPUEMU_INLINE double outside_gap(double value, Form form) {
  constexpr double kGapLow = -115, kGapHigh = -87, kStep = 30;
  return value > kGapLow && value < kGapHigh ? value + (form == Form::Ties ? kStep : -kStep)
                                             : value;
}

template <Form kForm>
GPUEMU_INLINE double element(const Table& table, const Row& row, double column, double draw) {
  const double width = table.reach_hi - table.reach_lo;
  const double part = (column + draw) / table.count;
  switch (kForm) {
    case Form::Offset:
      return offset(table, draw);
    case Form::NearEps:
      return near_eps(table, row, draw);
    case Form::Ties:
      return tie(table, row, column, draw);
    case Form::Negative:
      return negative(table, draw);
    case Form::Rising:
      return table.reach_lo + part * width;
    case Form::Spike:
      return column == row.place ? table.reach_hi : table.reach_lo + draw * (width / 64);
    case Form::RisingBelowZero: {
      const bool is_below = table.reach_lo < 0 && table.reach_hi > 0;
      return table.reach_lo + part * (is_below ? -table.reach_lo : width);
    }
    case Form::Falling:
      return table.reach_hi - part * width;
    case Form::RowByRow:
      return table.reach_lo + (row.number + draw) / static_cast<double>(table.rows) * width;
    case Form::Constant:
      return ordinary(table, row.draw);
    case Form::Zeros:
      return 0;
  }
  return 0;
}

template <Form kForm>
GPUEMU_INLINE void fill_row_any(const Table& table, const Row& row, std::span<double> values) {
  // Copies: what the loop writes could be one of their numbers.
  const Table of_table = table;
  const Row of_row = row;
  for (size_t first = 0; first < values.size(); first += kColumnsAtOnce) {
    const auto some =
        values.subspan(first, std::min<size_t>(kColumnsAtOnce, values.size() - first));
    const auto before = static_cast<double>(first);
    // Vector units convert 32-bit integers.
    for (int32_t i = 0; i < static_cast<int32_t>(some.size()); ++i) {
      double& value = some[static_cast<size_t>(i)];
      const double column = before + static_cast<double>(i);
      value = outside_gap(element<kForm>(of_table, of_row, column, value), kForm);
    }
  }
}

#if defined(__x86_64__)
template <Form kForm>
[[gnu::target("avx2")]] void fill_row_avx2(const Table& table, const Row& row,
                                           std::span<double> values) {
  fill_row_any<kForm>(table, row, values);
}
#endif

/// Replaces draws by the elements of a row of this form.
template <Form kForm>
void fill_row(const Table& table, const Row& row, std::span<double> values) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return fill_row_avx2<kForm>(table, row, values);
#endif
  fill_row_any<kForm>(table, row, values);
}

#undef GPUEMU_INLINE

/// Replaces draws by the elements of a row.
void fill_row(const Table& table, const Row& row, std::span<double> values) {
  switch (row.form) {
    case Form::Offset:
      return fill_row<Form::Offset>(table, row, values);
    case Form::NearEps:
      return fill_row<Form::NearEps>(table, row, values);
    case Form::Ties:
      return fill_row<Form::Ties>(table, row, values);
    case Form::Negative:
      return fill_row<Form::Negative>(table, row, values);
    case Form::Rising:
      return fill_row<Form::Rising>(table, row, values);
    case Form::Spike:
      return fill_row<Form::Spike>(table, row, values);
    case Form::RisingBelowZero:
      return fill_row<Form::RisingBelowZero>(table, row, values);
    case Form::Falling:
      return fill_row<Form::Falling>(table, row, values);
    case Form::RowByRow:
      return fill_row<Form::RowByRow>(table, row, values);
    case Form::Constant:
      return fill_row<Form::Constant>(table, row, values);
    case Form::Zeros:
      return fill_row<Form::Zeros>(table, row, values);
  }
}

bool has_patterns(Strategy strategy) {
  return strategy == Strategy::TileMaxima || strategy == Strategy::ExactTies ||
         strategy == Strategy::RowMix;
}

std::vector<double> row_draws(const ValueRecipe& recipe, size_t rows) {
  std::vector<double> draws(rows);
  fill_doubles(derive_state(recipe.base_seed, recipe.iteration, "rows/" + recipe.input),
               Distribution::uniform(0, 1), draws);
  return draws;
}

size_t length_of(const ValueRecipe& recipe) {
  return recipe.shape.empty() ? 1 : static_cast<size_t>(recipe.shape.back());
}

/// The special value that `row_specials` plants in one row.
struct Special {
  double value;
  bool odd;    ///< At an odd position: the upper half of a packed pair.
  bool whole;  ///< Fills the row; if the tensor has one row, a quarter of it.
};

constexpr std::array kSpecials = {
    Special{kNaN, true, false},        Special{kNaN, false, false},
    Special{-kInfinity, false, true},  Special{kInfinity, true, false},
    Special{-kInfinity, false, false}, Special{0, false, false},
    Special{kInfinity, false, false},  Special{-kInfinity, true, false}};
/// Limit of planted rows, so that results that depend on several rows still contain numbers.
constexpr size_t kSpecialRowsMax = 16;

void plant_in_row(const Special& special, double draw, bool alone, std::span<double> row) {
  const size_t count = row.size();
  if (special.whole) {
    const size_t length = alone ? (count + 3) / 4 : count;
    const auto first = static_cast<size_t>(draw * static_cast<double>(count - length + 1));
    std::ranges::fill(row.subspan(first, length), special.value);
    return;
  }
  const size_t pairs = special.odd ? count / 2 : (count + 1) / 2;
  const auto pair = static_cast<size_t>(draw * static_cast<double>(pairs));
  row[pairs == 0 ? 0 : 2 * pair + (special.odd ? 1 : 0)] = special.value;
}

}  // namespace

bool fill_rows(const ValueRecipe& recipe, const Domain& domain, std::span<double> values) {
  if (!has_patterns(recipe.strategy) || !is_float(recipe.dtype)) return false;
  const Table table = table_of(recipe, domain, values.size());
  const size_t length = length_of(recipe);
  const std::vector<double> draws = row_draws(recipe, values.size() / length);
  fill_doubles(derive_state(recipe.base_seed, recipe.iteration, "input/" + recipe.input),
               Distribution::uniform(0, 1), values);
  for (size_t number = 0; number < draws.size(); ++number) {
    const Row row = row_of(recipe, table, number, draws[number]);
    fill_row(table, row, values.subspan(number * length, length));
  }
  return true;
}

bool plant_in_rows(const ValueRecipe& recipe, const Domain& domain, std::span<double> values) {
  if (recipe.strategy != Strategy::RowSpecials) return false;
  if (!is_float(recipe.dtype)) return true;
  const size_t length = length_of(recipe);
  const size_t rows = values.size() / length;
  const std::vector<double> draws = row_draws(recipe, rows);
  const size_t step = std::max<size_t>(1, rows / kSpecialRowsMax);
  const auto turn = static_cast<uint64_t>(turn_of(recipe));
  for (size_t i = 0; i < kSpecialRowsMax && i * step < rows; ++i) {
    const Special& special = kSpecials[(rows == 1 ? turn : turn * 2 + i) % kSpecials.size()];
    if (special.value == 0 || is_excluded(special.value, domain)) continue;
    plant_in_row(special, draws[i * step], rows == 1, values.subspan(i * step * length, length));
  }
  return true;
}

}  // namespace gpuemu
