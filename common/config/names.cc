#include "common/config/names.h"

#include <algorithm>

#include "common/base/enum_count.h"
#include "common/config/vocabulary.h"

namespace gpuemu {
namespace {

constexpr std::string_view kSchedules[] = {"in_order",  "reverse",   "random",     "priorities",
                                           "far_ahead", "one_block", "split_warps"};

constexpr std::string_view kBuiltins[] = {"activation_bwd",
                                          "adam_step",
                                          "arithmetic",
                                          "attention",
                                          "attention_bwd",
                                          "bias_add",
                                          "cast",
                                          "conv2d",
                                          "copy",
                                          "cross_entropy",
                                          "dropout",
                                          "embedding_bwd",
                                          "fill",
                                          "gather",
                                          "gather_bwd",
                                          "gelu",
                                          "gemm",
                                          "gemm_mma",
                                          "layernorm",
                                          "layernorm_bwd",
                                          "linear_bwd",
                                          "matmul",
                                          "mse",
                                          "pool2d",
                                          "random_fill",
                                          "reduce_max",
                                          "reduce_max_bwd",
                                          "reduce_mean",
                                          "reduce_sum",
                                          "relu",
                                          "rmsnorm",
                                          "rmsnorm_bwd",
                                          "sgd_step",
                                          "sigmoid",
                                          "silu",
                                          "softmax",
                                          "softmax_bwd",
                                          "softmax_online",
                                          "tanh",
                                          "transpose",
                                          "vector_add"};

/// Returns the names of an enumeration in order, without markers.
template <typename Enum>
std::span<const std::string_view> all_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (size_t i = 0; i < enum_count<Enum>(); ++i) names.push_back(name_of(static_cast<Enum>(i)));
    return names;
  }();
  return kNames;
}

}  // namespace

std::span<const std::string_view> schedule_names() { return kSchedules; }

std::span<const std::string_view> strategy_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names{name_of(Strategy::Default)};
    for (const StrategyInfo& row : strategy_table()) {
      if (row.kind != StrategyKind::Marker) names.push_back(row.name);
    }
    return names;
  }();
  return kNames;
}

std::span<const std::string_view> error_scale_names() { return all_names<ErrorScale>(); }
std::span<const std::string_view> layout_names() { return all_names<MemoryLayout>(); }
std::span<const std::string_view> reference_mode_names() { return all_names<ReferenceMode>(); }
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
