// Selects the strategies of common/config/strategies.def that a case draws from.
#include "judge/cases/strategies.h"

#include <algorithm>

#include <fmt/core.h>

#include "common/config/names.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

enum class Gate : uint8_t {
  Always,
  Reduction,     ///< Ops with `accumulate`.
  Integers,      ///< Cases with an integer dtype.
  Floats,        ///< Cases with a floating-point dtype.
  Both,          ///< Any dtype.
  RangedFloats,  ///< Floats, if every input declares its domain; otherwise a correct kernel would
                 ///< overflow.
  NanPolicy,     ///< Floats, if the op declares a nan_policy.
  PlusInf,       ///< NanPolicy, and the domain of some input has positive numbers.
  MinusInf,      ///< NanPolicy, and the domain of some input has negative numbers.
  ByName,  ///< Only on request; values only for floats. The generator reserves rows for some of the
           ///< sizes.
  Never,   ///< Markers.
};

struct StrategyRow {
  Strategy strategy;
  StrategyKind kind;
  Gate gate;
};

constexpr StrategyRow kRows[] = {
#define GPUEMU_STRATEGY(value, name, kind, tier, gate, description, when) \
  {Strategy::value, StrategyKind::kind, Gate::gate},
#include "common/config/strategies.def"
#undef GPUEMU_STRATEGY
};

/// Returns whether the domain of some input has numbers of this sign.
bool any_input_holds(const OpConfig& op, bool positive) {
  return std::ranges::any_of(op.inputs, [positive](const TensorSpec& input) {
    return !input.range || (positive ? input.range->second > 0 : input.range->first < 0);
  });
}

bool open(Gate gate, const OpConfig& op, DType dtype) {
  switch (gate) {
    case Gate::Always:
    case Gate::Both:
      return true;
    case Gate::Reduction:
      return op.accumulate.has_value();
    case Gate::Integers:
      return !is_float(dtype);
    case Gate::Floats:
      return is_float(dtype);
    case Gate::RangedFloats:
      return is_float(dtype) && std::ranges::all_of(op.inputs, [](const TensorSpec& input) {
               return input.range.has_value();
             });
    case Gate::NanPolicy:
      return is_float(dtype) && op.has_nan_policy;
    case Gate::PlusInf:
      return is_float(dtype) && op.has_nan_policy && any_input_holds(op, true);
    case Gate::MinusInf:
      return is_float(dtype) && op.has_nan_policy && any_input_holds(op, false);
    case Gate::ByName:
      return is_float(dtype);
    case Gate::Never:
      break;
  }
  return false;
}

/// Returns whether NaN and infinity are meaningful in some output. Their conversion to an integer
/// differs between machines and says nothing about the kernel.
bool gives_floats(const OpConfig& op, DType dtype) {
  return op.outputs.empty() || std::ranges::any_of(op.outputs, [dtype](const TensorSpec& output) {
           if (output.dtype.empty() || output.dtype == "{dtype}") return is_float(dtype);
           const auto fixed = dtype_from_alias(output.dtype);
           return !fixed || is_float(*fixed);
         });
}

/// Returns whether cases use the row by default.
bool comes_unasked(Gate gate, const OpConfig& op, DType dtype) {
  const bool plants = gate == Gate::NanPolicy || gate == Gate::PlusInf || gate == Gate::MinusInf;
  return gate != Gate::ByName && (!plants || gives_floats(op, dtype));
}

std::vector<Strategy> allowed(StrategyKind kind, const OpConfig& op, DType dtype,
                              const std::vector<Strategy>& chosen) {
  const auto is_asked = [&](Strategy strategy) { return std::ranges::count(chosen, strategy) > 0; };
  const bool by_default = is_asked(Strategy::Default);
  std::vector<Strategy> named, defaults;
  for (const StrategyRow& row : kRows) {
    if (row.kind != kind || !open(row.gate, op, dtype)) continue;
    if (comes_unasked(row.gate, op, dtype)) defaults.push_back(row.strategy);
    if (!by_default && is_asked(row.strategy)) named.push_back(row.strategy);
  }
  // `large` without a domain passes no gate, but can be requested by name.
  const bool wants_large =
      kind == StrategyKind::Values && !by_default && is_asked(Strategy::Large) && is_float(dtype);
  if (named.empty() && wants_large) named.push_back(Strategy::Large);
  // If nothing requested fits this op and dtype (int_extremes of a float), use the defaults.
  return named.empty() ? defaults : named;
}

}  // namespace

std::vector<Strategy> shape_strategies_for(const OpConfig& op,
                                           const std::vector<Strategy>& chosen) {
  return allowed(StrategyKind::Sizes, op, DType::Float32, chosen);
}

std::vector<Strategy> value_strategies_for(const OpConfig& op, DType dtype,
                                           const std::vector<Strategy>& chosen) {
  return allowed(StrategyKind::Values, op, dtype, chosen);
}

bool has_exact_sums(const OpConfig& op) {
  if (op.exact) return *op.exact;
  return op.error_scale == ErrorScale::Matmul || op.error_scale == ErrorScale::Dot ||
         op.error_scale == ErrorScale::Sum;
}

Result<std::vector<Strategy>> parse_strategies(const std::vector<std::string>& names) {
  const std::vector<std::string> known = texts_of(strategy_names());
  std::vector<Strategy> strategies;
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) {
      return error(
          ErrorCode::InvalidArgument,
          "unknown strategy '{}'{}; docs/reference/strategies.md lists all {}, and 'default'", name,
          did_you_mean(name, known), known.size() - 1);
    }
    strategies.push_back(*strategy_from_name(name));
  }
  return strategies;
}

}  // namespace gpuemu
