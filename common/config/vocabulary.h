// The words of gpuemu.toml that other folders interpret, each an enumeration with one table:
// strategies.def, error_scales.def, memory_layouts.def, invariants.def. Stored results and requests
// use the same words. `name_of` returns the word, `X_from_name` the enumerator of exactly that
// word.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gpuemu {

/// A strategy for drawing the sizes or values of a case.
enum class Strategy : uint8_t {
#define GPUEMU_STRATEGY(value, name, kind, tier, gate, description, when) value,
#include "common/config/strategies.def"
#undef GPUEMU_STRATEGY
};
enum class StrategyKind : uint8_t { Sizes, Values, Marker };
struct StrategyInfo {
  Strategy strategy;
  std::string_view name;
  StrategyKind kind;
  int tier;  ///< 1: ordinary numbers, 2: NaN and infinity, 3: values on which correct kernels may
             ///< fail, 0: markers.
};
/// Returns all rows in the order of the enumeration.
std::span<const StrategyInfo> strategy_table();
std::string_view name_of(Strategy strategy);
std::optional<Strategy> strategy_from_name(std::string_view name);

/// The scale S of the scale-aware bound.
enum class ErrorScale : uint8_t {
#define GPUEMU_ERROR_SCALE(value, name, description) value,
#include "common/config/error_scales.def"
#undef GPUEMU_ERROR_SCALE
};
std::string_view name_of(ErrorScale scale);
std::optional<ErrorScale> error_scale_from_name(std::string_view name);

/// The memory layout of a case's tensors. LayoutKind of the wire has the first three.
enum class MemoryLayout : uint8_t {
#define GPUEMU_MEMORY_LAYOUT(value, name, description, when) value,
#include "common/config/memory_layouts.def"
#undef GPUEMU_MEMORY_LAYOUT
};
std::string_view name_of(MemoryLayout layout);
std::optional<MemoryLayout> memory_layout_from_name(std::string_view name);

/// Selects the process that runs the reference of a case.
enum class ReferenceMode : uint8_t {
  Auto,     ///< A process kept between cases, if the script allows it.
  Process,  ///< A new process for each case.
};
std::string_view name_of(ReferenceMode mode);
std::optional<ReferenceMode> reference_mode_from_name(std::string_view name);

/// A property of the output, or of several runs.
enum class InvariantKind : uint8_t {
#define GPUEMU_INVARIANT(value, name, numbers, texts, parameters, description) value,
#define GPUEMU_RELATION GPUEMU_INVARIANT
#include "common/config/invariants.def"
#undef GPUEMU_RELATION
#undef GPUEMU_INVARIANT
};
struct InvariantInfo {
  InvariantKind kind;
  std::string_view name;
  std::string_view numbers, texts;  ///< Parameters of its table, separated by blanks.
  bool is_relation;  ///< Checked by further runs of the kernel, not by one output alone.
};
/// Returns all rows in the order of the enumeration: invariants, then relations.
std::span<const InvariantInfo> invariant_table();
const InvariantInfo& info_of(InvariantKind kind);
std::string_view name_of(InvariantKind kind);
bool is_relation(InvariantKind kind);
std::optional<InvariantKind> invariant_from_name(std::string_view name);

}  // namespace gpuemu
