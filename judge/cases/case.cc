// Derives the plan of a case from (op, base seed, iteration). Every decision draws from a stream of
// its own.
#include "judge/cases/case.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/base/blake2.h"
#include "common/rng/rng.h"
#include "judge/cases/case_tensors.h"
#include "judge/cases/covering.h"
#include "judge/cases/dims.h"
#include "judge/cases/large_sizes.h"
#include "judge/cases/order.h"
#include "judge/cases/strategies.h"
#include "judge/cases/together.h"

namespace gpuemu {
namespace {

std::string_view bytes_of(const uint64_t& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <typename T>
const T& choose(const CasePlan& plan, const std::string& label, const std::vector<T>& items) {
  Stream stream(plan.base_seed, plan.iteration, label);
  return items[stream.below(items.size())];
}

/// What a case chooses from, besides its dtype.
struct Choices {
  std::vector<Strategy> values;            ///< In the order in which they are used.
  std::vector<std::vector<int64_t>> dims;  ///< Corner sizes of each dim.
};

Choices choices_of(const OpConfig& op, uint64_t base_seed, const std::vector<Strategy>& values) {
  Choices choices{in_order(values, base_seed), {}};
  for (const DimSpec& dim : op.dims) choices.dims.push_back(corner_sizes(dim, base_seed));
  return choices;
}

/// Sets sizes (at corners), value strategy, layout and attrs from a row of the covering array.
/// Returns false if there is no such row.
bool choose_covering(const OpConfig& op, const Choices& choices, uint64_t row, CasePlan& plan) {
  std::vector<size_t> counts{choices.values.size(), std::max<size_t>(1, op.layouts.size())};
  for (const AttrSpec& attr : op.attrs) counts.push_back(std::max<size_t>(1, attr.values.size()));
  for (const std::vector<int64_t>& corners : choices.dims) counts.push_back(corners.size());
  const CoveringArray array(counts);
  if (row >= array.rows()) return false;
  size_t factor = 0;
  plan.value_strategy = choices.values[array.choice(row, factor++)];
  const size_t layout = array.choice(row, factor++);
  if (!op.layouts.empty()) plan.layout = op.layouts[layout];
  for (const AttrSpec& attr : op.attrs) {
    const size_t value = array.choice(row, factor++);
    if (!attr.values.empty()) plan.attrs[attr.name] = attr.values[value];
  }
  for (size_t j = 0; j < op.dims.size(); ++j) {
    plan.dims[op.dims[j].name] = choices.dims[j][array.choice(row, factor++)];
  }
  plan.shape_strategy = Strategy::Boundary;
  return true;
}

/// Chooses a value strategy for cases outside the covering array: the one reserved for the row,
/// else the next one that the first rows of the array did not use, later all from the end, and
/// finally a random one.
Strategy value_strategy_of(const CasePlan& plan, const Choices& choices, uint64_t row,
                           bool covered) {
  const size_t count = choices.values.size();
  if (!covered) {
    if (row < 2 * count) return choices.values[row % count];
  } else if (const auto ordered = value_of_row(choices.values, row)) {
    return *ordered;
  } else if (row >= kOrderedRows && (row - kOrderedRows) / 2 < count) {
    return choices.values[count - 1 - (row - kOrderedRows) / 2];
  }
  Stream stream(plan.base_seed, plan.iteration, "strategy/value");
  return choices.values[stream.below(count)];
}

/// Some ops that declare no sum may still sum over the longest dim, so this case uses it.
bool is_longest_turn(uint64_t row) { return row == kCoveringFirst + 3; }

/// Returns the size strategy reserved for a row: every fourth case uses the kernel's own numbers,
/// every sixteenth short sums and, if they can be exact, the longest sums, every thirty-second long
/// grids. For ops that declare no sum, one case uses the longest dim.
std::optional<Strategy> reserved_strategy(const OpConfig& op, uint64_t row,
                                          const Constants& constants) {
  if (row < kCoveringFirst) return std::nullopt;
  if (row % 4 == 1 && fits_constants(op, constants)) return Strategy::Constants;
  if (row % 16 == 11 && op.accumulate) return Strategy::ShortReduce;
  if (is_longest_turn(row) || row % 32 == 15) return Strategy::Waves;
  const bool is_long_turn = row % 32 == 19 || row % 32 == 23;
  if (is_long_turn && op.accumulate && has_exact_sums(op)) return Strategy::LongReduce;
  return std::nullopt;
}

/// Short sums have the tightest bounds if the values are small too, so these strategies alternate.
Strategy exact_values(const CasePlan& plan, const Choices& choices, uint64_t row) {
  constexpr Strategy kTight[] = {Strategy::Unit, Strategy::SignedZero, Strategy::Normal,
                                 Strategy::BitsUniform};
  const Strategy wanted = kTight[row / 16 % std::size(kTight)];
  const bool there = std::ranges::find(choices.values, wanted) != choices.values.end();
  return there ? wanted : plan.value_strategy;
}

/// A missing term of a long sum is below the bound of its rounding errors. It only shows without
/// rounding errors, so use small whole numbers.
Strategy exact_values(const CasePlan& plan, const Choices& choices) {
  const bool there = std::ranges::find(choices.values, Strategy::SmallInt) != choices.values.end();
  return there ? Strategy::SmallInt : plan.value_strategy;
}

/// Returns a size from `least` up to twice that, or the nearest that the dim allows.
int64_t size_from(const DimSpec& dim, int64_t least, const CasePlan& plan) {
  Stream stream(plan.base_seed, plan.iteration, "enlarged/" + dim.name);
  return nearest_size(dim, stream.integer(least, 2 * least - 1));
}

/// Returns values that reveal how a rarely drawn size is handled: not mostly zeros.
Strategy discriminating_values(const CasePlan& plan, const Choices& choices) {
  const bool mostly_zero =
      plan.value_strategy == Strategy::Zeros || plan.value_strategy == Strategy::Impulse;
  const bool has_other =
      std::ranges::find(choices.values, Strategy::Uniform10) != choices.values.end();
  return mostly_zero && has_other ? Strategy::Uniform10 : plan.value_strategy;
}

/// Returns the elements of the largest input; 0 if its sizes cannot be computed.
int64_t largest_input(const OpConfig& op, CasePlan plan) {
  if (!add_tensors(op, plan)) return 0;
  int64_t most = 0;
  for (const CaseTensor& input : plan.inputs) most = std::max(most, element_count(input.shape));
  return most;
}

/// Enlarges sizes for values whose faults few elements reveal: each number of the kernel and its
/// neighbours must be drawn several times, a row far from 0 needs more than its mean, and a few
/// such rows may round well by chance.
void enlarge(const OpConfig& op, const Constants& constants, uint64_t row, CasePlan& plan) {
  constexpr int64_t kFewElements = 128, kShortDim = 4;
  // Half of the elements are numbers of the kernel, which come as three values each.
  constexpr int64_t kElementsOfNumber = 48;
  const bool is_offset = plan.value_strategy == Strategy::Offset;
  const bool by_number =
      plan.value_strategy == Strategy::Thresholds || plan.value_strategy == Strategy::IntThresholds;
  if (op.dims.empty() || (!is_offset && !by_number)) return;
  for (const DimSpec& dim : op.dims) {
    int64_t& size = plan.dims[dim.name];
    if (is_offset && size < kShortDim) size = size_from(dim, 2 * kShortDim, plan);
  }
  set_value_parameters(op, constants, row, plan);
  const int64_t numbers = by_number ? std::ssize(plan.value_parameters) : 0;
  const int64_t least = std::max(kFewElements, kElementsOfNumber * numbers);
  if (largest_input(op, plan) >= least) return;
  const DimSpec& longest = longest_dim(op);
  int64_t& size = plan.dims[longest.name];
  size = std::max(size, size_from(longest, least, plan));
}

/// Returns the value strategies that apply: for example, thresholds need numbers in the kernel's
/// code.
std::vector<Strategy> values_for(const OpConfig& op, DType dtype, const CaseOptions& options) {
  const auto allowed = value_strategies_for(op, dtype, options.strategies);
  std::vector<Strategy> kept = allowed;
  const bool has_numbers = !options.constants.floats.empty() ||
                           (!options.constants.integers.empty() && has_integer_inputs(op));
  if (!has_numbers) std::erase(kept, Strategy::Thresholds);
  if (options.constants.integers.empty()) std::erase(kept, Strategy::IntThresholds);
  return kept.empty() ? allowed : kept;
}

void change_one(const OpConfig& op, const std::vector<Strategy>& values, const Constants& constants,
                Stream& stream, CasePlan& plan) {
  const uint64_t what = stream.below(4);
  if (what < 2 && !op.dims.empty()) {
    const DimSpec& dim = op.dims[stream.below(op.dims.size())];
    plan.dims[dim.name] = other_size(dim, plan.dims[dim.name], constants, stream);
    return;
  }
  if (what == 2 && op.layouts.size() > 1) {
    plan.layout = op.layouts[stream.below(op.layouts.size())];
    return;
  }
  if (what == 2 && !op.attrs.empty()) {
    const AttrSpec& attr = op.attrs[stream.below(op.attrs.size())];
    if (!attr.values.empty()) plan.attrs[attr.name] = attr.values[stream.below(attr.values.size())];
    return;
  }
  plan.value_strategy = values[stream.below(values.size())];
}

/// Returns a separate label for what does not follow from seed and number alone.
std::string label_of(const CasePlan& plan) {
  std::string label =
      fmt::format("{}?{},{}", plan.op, name_of(plan.layout), name_of(plan.value_strategy));
  for (const auto& [name, size] : plan.dims) label += fmt::format(",{}={}", name, size);
  for (const auto& [name, value] : plan.attrs) label += fmt::format(",{}={}", name, value);
  return label;
}

}  // namespace

uint64_t case_seed_of(uint64_t base_seed, uint64_t iteration, const std::string& op) {
  return std::bit_cast<uint64_t>(blake2b_8({bytes_of(base_seed), bytes_of(iteration), op}));
}

Result<CasePlan> plan_case(const OpConfig& op, uint64_t base_seed, uint64_t iteration,
                           const CaseOptions& options) {
  CasePlan plan;
  plan.op = op.name;
  plan.base_seed = base_seed;
  plan.iteration = iteration;
  plan.case_seed = case_seed_of(base_seed, iteration, op.name);
  const std::vector<DType>& dtypes = options.dtypes.empty() ? op.dtypes : options.dtypes;
  if (dtypes.empty()) {
    return error(ErrorCode::InvalidArgument, "op '{}' has no dtypes, name at least one", op.name);
  }
  plan.dtype = choose(plan, "dtype", dtypes);
  for (const AttrSpec& attr : op.attrs) {
    if (!attr.values.empty()) {
      plan.attrs[attr.name] = choose(plan, "attr/" + attr.name, attr.values);
    }
  }
  const std::string first = op.inputs.empty() ? "" : op.inputs.front().name;
  if (!op.layouts.empty()) plan.layout = choose(plan, "layout/" + first, op.layouts);
  // Campaigns give each of the op's n dtypes every n-th iteration; rows count within one dtype.
  const uint64_t number = iteration / std::max<size_t>(1, op.dtypes.size());
  DimRequest request{base_seed, iteration, {}, options.constants, {}};
  request.strategies = shape_strategies_for(op, options.strategies);
  const bool usual = request.strategies == shape_strategies_for(op, {});
  const Choices choices = choices_of(op, base_seed, values_for(op, plan.dtype, options));
  const LargeTurn large = usual ? large_turn(number, options.large.targets.size()) : LargeTurn();
  if (large.is_large) {
    choose_large(op, options.large, large.before, choices.values, plan);
    keep_together(op, plan);
    set_value_parameters(op, options.constants, number, plan);
    GPUEMU_TRY(fit_together(op, plan, options.large.limits));
    return plan;
  }
  // The other cases are numbered as if there were no large ones.
  const uint64_t row = number - large.before;
  const auto covering = usual ? covering_row(row) : std::nullopt;
  if (!covering || !choose_covering(op, choices, *covering, plan)) {
    plan.value_strategy = value_strategy_of(plan, choices, row, usual);
    const auto reserved = usual ? reserved_strategy(op, row, options.constants) : std::nullopt;
    if (reserved) {
      request.strategies = {*reserved};
      request.turn = (row - kCoveringFirst) / 4;
      if (*reserved == Strategy::Constants) {
        plan.value_strategy = discriminating_values(plan, choices);
      }
      if (*reserved == Strategy::ShortReduce) {
        plan.value_strategy = exact_values(plan, choices, row);
      }
      if (*reserved == Strategy::LongReduce) plan.value_strategy = exact_values(plan, choices);
      request.longest = *reserved == Strategy::LongReduce ||
                        (*reserved == Strategy::Waves && is_longest_turn(row));
    }
    DimChoice choice = choose_dims(op, request);
    plan.shape_strategy = choice.strategy;
    plan.dims = std::move(choice.dims);
    if (usual && row < kOrderedRows) enlarge(op, options.constants, row, plan);
  }
  make_go_together(op, plan);
  set_value_parameters(op, options.constants, row, plan);
  GPUEMU_TRY(fit_together(op, plan, {.elements = options.elements_max}));
  return plan;
}

Result<CasePlan> mutated_case(const OpConfig& op, const CasePlan& from, uint64_t base_seed,
                              uint64_t iteration, const CaseOptions& options) {
  constexpr uint64_t kChangesMax = 3;
  CasePlan plan = from;
  plan.base_seed = base_seed;
  plan.iteration = iteration;
  plan.value_scale = 1;
  plan.kernel.clear();
  plan.shape_strategy = Strategy::Mutated;
  const auto values = values_for(op, plan.dtype, options);
  Stream stream(base_seed, iteration, "mutate");
  for (uint64_t left = 1 + stream.below(kChangesMax); left > 0; --left) {
    change_one(op, values, options.constants, stream, plan);
  }
  make_go_together(op, plan);
  set_value_parameters(op, options.constants, iteration, plan);
  GPUEMU_TRY(fit_together(op, plan, {.elements = options.elements_max}));
  plan.case_seed = case_seed_of(base_seed, iteration, label_of(plan));
  return plan;
}

Result<CasePlan> with_dims(const OpConfig& op, const CasePlan& plan,
                           const std::map<std::string, int64_t>& dims) {
  CasePlan changed = plan;
  changed.dims = dims;
  GPUEMU_TRY(add_tensors(op, changed));
  return changed;
}

}  // namespace gpuemu
