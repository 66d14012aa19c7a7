// One row per strategy; there is no second list.
#include "judge/cases/strategies.h"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "common/config/nearest.h"

namespace gpuemu {
namespace {

enum class Gate : uint8_t {
  Always,
  Reduction,     ///< Ops with `accumulate`.
  Integers,      ///< Cases of an integer dtype.
  Floats,        ///< Cases of a floating-point dtype.
  Both,          ///< Any dtype.
  RangedFloats,  ///< Floats when every input declares its domain: else a correct kernel overflows.
  NanPolicy,     ///< Floats when the op says what NaN and infinity must give.
  PlusInf,       ///< The same, and the domain of some input has positive numbers.
  MinusInf,      ///< The same, and the domain of some input has negative numbers.
  ByName,        ///< When somebody asks for it, values in floats only. The generator gives some of
                 ///< the sizes rows of their own.
};

struct Row {
  std::string_view name, kind, tier, description;
  Gate gate;
};

constexpr Row kRows[] = {
    {"regular", "shape", "1", "powers of two and multiples of 32", Gate::Always},
    {"boundary", "shape", "1", "1, 2, 3, powers of two and their neighbours, primes, both ends",
     Gate::Always},
    {"tile_cross", "shape", "1", "t-1, t, t+1, 2t, 2t+1, 3t+1 for tiles of 16 to 256",
     Gate::Always},
    {"degenerate", "shape", "1", "every dim at its least; one dim 0 where its range allows",
     Gate::Always},
    {"distinct", "shape", "1", "every dim another prime", Gate::Always},
    {"long_reduce", "shape", "1", "long sums, the other dims at their least", Gate::Reduction},
    {"short_reduce", "shape", "1", "sums of 2 to 8 terms, many of them: where bounds are tightest",
     Gate::Reduction},
    {"waves", "shape", "1",
     "one dim at its largest, the others small: more blocks than run at once", Gate::ByName},
    {"constants", "shape", "1", "c-1, c, c+1, 2c, 2c+1 for numbers c that the kernel compares with",
     Gate::ByName},
    {"random", "shape", "1", "any size of the range, small ones more often", Gate::Always},
    {"bits_uniform", "value", "1", "magnitudes log-uniform from 2^-12 to 2^5, either sign",
     Gate::Floats},
    {"normal", "value", "1", "normal, mean 0 and variance 1", Gate::Floats},
    {"uniform10", "value", "1", "uniform over the declared range, else -10 to 10", Gate::Both},
    {"unit", "value", "1", "uniform from 0 to 1, where bounds are tight", Gate::Floats},
    {"small_int", "value", "1", "integers -3 to 3, so that sums are exact", Gate::Both},
    {"offset", "value", "1",
     "uniform within 1 of 1000 (16-bit types: 100), or at the end of a declared range without it",
     Gate::Floats},
    {"tiny", "value", "1", "up to four times the smallest normal number", Gate::Floats},
    {"subnormal", "value", "1", "up to 100 times the smallest subnormal number", Gate::Floats},
    {"all_neg", "value", "1", "uniform from -10 to -5", Gate::Floats},
    {"all_pos", "value", "1", "uniform from 5 to 10", Gate::Floats},
    {"impulse", "value", "1", "zero but for two elements", Gate::Both},
    {"ascend", "value", "1", "a rising ramp along the last axis", Gate::Both},
    {"descend", "value", "1", "a falling ramp along the last axis", Gate::Both},
    {"constant", "value", "1", "one value everywhere", Gate::Both},
    {"zeros", "value", "1", "zero everywhere", Gate::Both},
    {"large", "value", "1", "magnitudes up to min(1e15, sqrt(max)/2), within the declared range",
     Gate::RangedFloats},
    {"duplicates", "value", "1", "four different values", Gate::Both},
    {"signed_zero", "value", "1", "zeros of either sign, and both ends of the usual range",
     Gate::Floats},
    {"sorted_ties", "value", "1", "sorted along the last axis, in runs of equal values",
     Gate::Both},
    {"int_extremes", "value", "1", "least, largest, -1, 0 and 1", Gate::Integers},
    {"int_wide", "value", "1", "magnitudes log-uniform over the whole type, either sign",
     Gate::Integers},
    {"tile_maxima", "value", "1",
     "by rows a rising or falling ramp with noise, or one large element, over 1000 (16-bit types: "
     "200), so that exp overflows between the elements of a row",
     Gate::Floats},
    {"exact_ties", "value", "1",
     "whole numbers and a half, 127 the largest, times powers of two: what quantisers round",
     Gate::Floats},
    {"row_mix", "value", "1",
     "by rows numbers near an epsilon, ties, numbers below zero, maxima of tiles, one value, zeros",
     Gate::Floats},
    {"thresholds", "value", "1",
     "uniform10 and, half of it, the numbers in the kernel's code and their neighbours",
     Gate::Floats},
    {"int_thresholds", "value", "1",
     "uniform and, half of it, the numbers that the kernel compares with and their neighbours",
     Gate::Integers},
    {"row_specials", "value", "2",
     "uniform10, by rows with one NaN or infinity at an even or at an odd place, or a row of "
     "infinities",
     Gate::NanPolicy},
    {"one_nan", "value", "2", "uniform10 with one NaN", Gate::NanPolicy},
    {"one_inf", "value", "2", "uniform10 with one +infinity, or by case a row of it",
     Gate::PlusInf},
    {"one_ninf", "value", "2", "uniform10 with one -infinity, or by case a row of it",
     Gate::MinusInf},
    {"special", "value", "2",
     "uniform10 with every eighth element a zero, a one or, by case, a smallest number, one of the "
     "infinities or NaN",
     Gate::NanPolicy},
    {"near_max", "value", "3", "the three largest powers of two and their mantissas", Gate::ByName},
    {"mixed_adversarial", "value", "3", "normal, half of it zeros, least and largest numbers",
     Gate::ByName},
};

/// Whether the domain of some input has numbers of this sign.
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
  }
  return false;
}

/// Whether NaN and infinity have a meaning in some output. As an integer they have none: what a
/// reference's conversion makes of them differs by machine and says nothing about the kernel.
bool gives_floats(const OpConfig& op, DType dtype) {
  return op.outputs.empty() || std::ranges::any_of(op.outputs, [dtype](const TensorSpec& output) {
           if (output.dtype.empty() || output.dtype == "{dtype}") return is_float(dtype);
           const auto fixed = dtype_from_alias(output.dtype);
           return !fixed || is_float(*fixed);
         });
}

/// Whether cases draw from the row though nobody asked for it.
bool comes_unasked(Gate gate, const OpConfig& op, DType dtype) {
  const bool plants = gate == Gate::NanPolicy || gate == Gate::PlusInf || gate == Gate::MinusInf;
  return gate != Gate::ByName && (!plants || gives_floats(op, dtype));
}

/// A kind's names that were asked for; empty when the kind was not, or by "default".
Result<std::vector<std::string>> named(std::string_view kind,
                                       const std::vector<std::string>& chosen) {
  std::vector<std::string> names;
  for (const std::string& name : chosen) {
    if (name == "default") return std::vector<std::string>();
    const Row* row = std::ranges::find(kRows, name, &Row::name);
    if (row == std::end(kRows)) {
      std::vector<std::string> known;
      for (const Row& each : kRows) known.emplace_back(each.name);
      return error(
          ErrorCode::InvalidArgument,
          "unknown strategy '{}'{}; docs/reference/strategies.md lists all {}, and 'default'", name,
          did_you_mean(name, known), known.size());
    }
    if (row->kind == kind) names.push_back(name);
  }
  return names;
}

Result<std::vector<std::string>> allowed(std::string_view kind, const OpConfig& op, DType dtype,
                                         const std::vector<std::string>& chosen) {
  std::vector<std::string> asked = GPUEMU_TRY(named(kind, chosen));
  std::vector<std::string> names;
  std::vector<std::string> defaults;
  for (const Row& row : kRows) {
    if (row.kind != kind || !open(row.gate, op, dtype)) continue;
    if (comes_unasked(row.gate, op, dtype)) defaults.emplace_back(row.name);
    if (std::ranges::find(asked, row.name) != asked.end()) names.emplace_back(row.name);
  }
  // `large` without a domain is no gate, yet somebody may ask for it by name.
  if (is_float(dtype) && names.empty() && std::ranges::find(asked, "large") != asked.end()) {
    names.emplace_back("large");
  }
  // Asked for nothing that fits this op and dtype (int_extremes of a float): the usual ones.
  return names.empty() ? defaults : names;
}

}  // namespace

Result<std::vector<std::string>> shape_strategies_for(const OpConfig& op,
                                                      const std::vector<std::string>& chosen) {
  return allowed("shape", op, DType::Float32, chosen);
}

Result<std::vector<std::string>> value_strategies_for(const OpConfig& op, DType dtype,
                                                      const std::vector<std::string>& chosen) {
  return allowed("value", op, dtype, chosen);
}

bool has_exact_sums(const OpConfig& op) {
  if (op.exact) return *op.exact;
  return op.error_scale == "matmul" || op.error_scale == "dot" || op.error_scale == "sum";
}

Status check_strategies(const std::vector<std::string>& chosen) {
  auto known = named("", chosen);
  return known ? ok_status() : Status(known.error());
}

std::vector<StrategyInfo> list_strategies() {
  std::vector<StrategyInfo> all;
  for (const Row& row : kRows) {
    all.push_back({std::string(row.name), std::string(row.kind), std::string(row.tier),
                   std::string(row.description)});
  }
  return all;
}

}  // namespace gpuemu
