// The names that gpuemu.toml may use: those of the enumerations of vocabulary.h, as lists, and
// those of built-in kernels and thread orders. The folders of the latter are above this one or
// beside it, so their tests compare their tables with these lists.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuemu {

/// The words of auto_select.
inline constexpr std::string_view kFirstSupported = "first_supported",
                                  kBestPerformance = "best_performance";

/// Words for `schedules` of the relation deterministic: thread orders.
std::span<const std::string_view> schedule_names();
/// Words for [validation].strategies, including "default".
std::span<const std::string_view> strategy_names();
/// Words for `error_scale`, including "auto".
std::span<const std::string_view> error_scale_names();
std::span<const std::string_view> layout_names();
std::span<const std::string_view> reference_mode_names();
/// Names after "builtin:".
std::span<const std::string_view> builtin_kernel_names();

/// Returns whether it is an architecture, such as "sm_80" or "sm_90a", for [runtime].arch,
/// artifact_checks and requests.
bool is_architecture(std::string_view name);

std::vector<std::string> split_words(std::string_view separated_by_blanks);
std::vector<std::string> texts_of(std::span<const std::string_view> names);

}  // namespace gpuemu
