#include "common/config/names.h"

#include <algorithm>

namespace gpuemu {
namespace {

constexpr InvariantName kInvariants[] = {
    {"non_negative", "", ""},
    {"shape_preserved", "", ""},
    {"no_nan", "", ""},
    {"no_inf", "", ""},
    {"finite", "", ""},
    {"range", "lo hi ulps", ""},
    {"sums_to_one", "axis tolerance", ""},
    {"sums_to", "axis value tolerance", ""},
    {"norm", "axis p value tolerance", ""},
    {"mean_var", "axis mean var tolerance", ""},
    {"monotonic", "axis strict", "direction"},
    {"sorted", "axis", "direction"},
    {"zero_preserving", "", "input"},
    {"count_preserved", "", "input"},
    {"symmetric", "", ""},
    {"convex_hull", "axis ulps", "input"},
    {"sign", "", "input kind"},
    {"subset_of_input", "", "input"},
    {"conserve", "axis tolerance", "input"},
    {"unbiased", "ulps", ""},
    {"written_once", "", ""},
};

constexpr InvariantName kRelations[] = {
    {"reads_inputs", "", ""},
    {"scale_equivariant", "degree factor exact", "input"},
    {"shift_invariant", "axis c exact", "input dim"},
    {"permutation_equivariant", "axis exact", "dim"},
    {"permutation_invariant", "axis exact", "dim"},
    {"row_independent", "axis", "dim"},
    {"pad_invariant", "axis fill exact", "dim input"},
    {"additive", "axis exact", "dim"},
    {"linear", "exact", "input"},
    {"idempotent", "exact", "input"},
    {"odd", "", "input"},
    {"even", "", "input"},
    {"transpose_dual", "exact", ""},
    {"causal", "axis", "dim"},
    {"in_place_equal", "", "input output"},
    {"config_invariant", "exact", "grid block shared"},
    {"inverse_of", "tolerance exact", "op"},
    {"concat", "axis exact", "dim"},
    {"deterministic", "runs tolerance", "schedules"},
    {"huge", "exact", "dim"},
};

constexpr std::string_view kSchedules[] = {"in_order",  "reverse",   "random",     "priorities",
                                           "far_ahead", "one_block", "split_warps"};

constexpr std::string_view kStrategies[] = {
    "default",
    "regular",
    "boundary",
    "tile_cross",
    "degenerate",
    "distinct",
    "long_reduce",
    "short_reduce",
    "waves",
    "constants",
    "random",
    "bits_uniform",
    "normal",
    "uniform10",
    "unit",
    "small_int",
    "offset",
    "tiny",
    "subnormal",
    "all_neg",
    "all_pos",
    "impulse",
    "ascend",
    "descend",
    "constant",
    "zeros",
    "large",
    "duplicates",
    "signed_zero",
    "sorted_ties",
    "int_extremes",
    "tile_maxima",
    "exact_ties",
    "row_mix",
    "thresholds",
    "int_thresholds",
    "row_specials",
    "one_nan",
    "one_inf",
    "one_ninf",
    "special",
    "near_max",
    "mixed_adversarial",
    "int_wide",
};

constexpr std::string_view kErrorScales[] = {
    "auto",   "dot",     "elementwise", "exp",     "gelu", "l2norm",  "layernorm", "matmul", "norm",
    "output", "rmsnorm", "shadow",      "sigmoid", "silu", "softmax", "sum",       "tanh",
};

constexpr std::string_view kLayouts[] = {"contiguous", "strided", "transposed", "broadcast",
                                         "reversed"};

constexpr std::string_view kBuiltins[] = {
    "adam_step",     "arithmetic", "attention",     "bias_add",   "cast",           "copy",
    "cross_entropy", "dropout",    "embedding_bwd", "gather",     "gelu",           "gemm",
    "gemm_mma",      "layernorm",  "layernorm_bwd", "linear_bwd", "matmul",         "mse",
    "random_fill",   "reduce_max", "reduce_mean",   "reduce_sum", "relu",           "rmsnorm",
    "sgd_step",      "sigmoid",    "silu",          "softmax",    "softmax_online", "tanh",
    "transpose",     "vector_add"};

}  // namespace

std::span<const InvariantName> invariant_names() { return kInvariants; }
std::span<const InvariantName> relation_names() { return kRelations; }
bool is_relation(std::string_view name) {
  return std::ranges::find(kRelations, name, &InvariantName::name) != std::end(kRelations);
}
std::span<const std::string_view> schedule_names() { return kSchedules; }
std::span<const std::string_view> strategy_names() { return kStrategies; }
std::span<const std::string_view> error_scale_names() { return kErrorScales; }
std::span<const std::string_view> layout_names() { return kLayouts; }
std::span<const std::string_view> builtin_kernel_names() { return kBuiltins; }

bool is_architecture(std::string_view name) {
  if (!name.starts_with("sm_")) return false;
  name.remove_prefix(3);
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const std::string_view rest = name.substr(digits);
  return (digits == 2 || digits == 3) && name.front() != '0' &&
         (rest.empty() || rest == "a" || rest == "f");
}

std::vector<std::string> split_words(std::string_view separated_by_blanks) {
  std::vector<std::string> words;
  while (!separated_by_blanks.empty()) {
    const size_t end = std::min(separated_by_blanks.find(' '), separated_by_blanks.size());
    if (end > 0) words.emplace_back(separated_by_blanks.substr(0, end));
    separated_by_blanks.remove_prefix(std::min(end + 1, separated_by_blanks.size()));
  }
  return words;
}

std::vector<std::string> texts_of(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

}  // namespace gpuemu
