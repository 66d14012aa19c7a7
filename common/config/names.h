// Names that gpuemu.toml may hold: those of the enumerations of vocabulary.h as lists, and those of
// built-in kernels and orders of threads, whose folders stand above this one or beside it, so that
// their tests compare their tables with these.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuemu {

/// Words for `schedules` of the relation deterministic: orders in which a device runs threads.
std::span<const std::string_view> schedule_names();
/// Words for [validation].strategies, including "default".
std::span<const std::string_view> strategy_names();
/// Words for `error_scale`, including "auto".
std::span<const std::string_view> error_scale_names();
std::span<const std::string_view> layout_names();
std::span<const std::string_view> reference_mode_names();
/// Behind "builtin:".
std::span<const std::string_view> builtin_kernel_names();

/// "sm_80", "sm_90a": what [runtime].arch, the tables of artifact_checks and requests may name.
bool is_architecture(std::string_view name);

std::vector<std::string> split_words(std::string_view separated_by_blanks);
std::vector<std::string> texts_of(std::span<const std::string_view> names);

}  // namespace gpuemu
