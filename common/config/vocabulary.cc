#include "common/config/vocabulary.h"

#include <algorithm>
#include <array>

#include "common/base/check.h"
#include "common/base/enum_count.h"

namespace gpuemu {
namespace {

constexpr StrategyInfo kStrategies[] = {
#define GPUEMU_STRATEGY(value, name, kind, tier, gate, description, when) \
  {Strategy::value, name, StrategyKind::kind, tier},
#include "common/config/strategies.def"
#undef GPUEMU_STRATEGY
};

constexpr std::string_view kErrorScales[] = {
#define GPUEMU_ERROR_SCALE(value, name, description) name,
#include "common/config/error_scales.def"
#undef GPUEMU_ERROR_SCALE
};

constexpr std::string_view kLayouts[] = {
#define GPUEMU_MEMORY_LAYOUT(value, name, description, when) name,
#include "common/config/memory_layouts.def"
#undef GPUEMU_MEMORY_LAYOUT
};

constexpr std::string_view kReferenceModes[] = {"auto", "process"};
static_assert(std::size(kReferenceModes) == enum_count<ReferenceMode>());

constexpr InvariantInfo kInvariants[] = {
#define GPUEMU_INVARIANT(value, name, numbers, texts, parameters, description) \
  {InvariantKind::value, name, numbers, texts, false},
#define GPUEMU_RELATION(value, name, numbers, texts, parameters, description) \
  {InvariantKind::value, name, numbers, texts, true},
#include "common/config/invariants.def"
#undef GPUEMU_RELATION
#undef GPUEMU_INVARIANT
};

template <typename Enum>
std::string_view name_among(std::span<const std::string_view> names, Enum value) {
  GPUEMU_CHECK(static_cast<size_t>(value) < names.size());
  return names[static_cast<size_t>(value)];
}

template <typename Enum>
std::optional<Enum> value_among(std::span<const std::string_view> names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::span<const StrategyInfo> strategy_table() { return kStrategies; }

std::string_view name_of(Strategy strategy) {
  GPUEMU_CHECK(static_cast<size_t>(strategy) < std::size(kStrategies));
  return kStrategies[static_cast<size_t>(strategy)].name;
}

std::optional<Strategy> strategy_from_name(std::string_view name) {
  const auto found = std::ranges::find(kStrategies, name, &StrategyInfo::name);
  if (found == std::end(kStrategies)) return std::nullopt;
  return found->strategy;
}

std::string_view name_of(ErrorScale scale) { return name_among(kErrorScales, scale); }
std::optional<ErrorScale> error_scale_from_name(std::string_view name) {
  return value_among<ErrorScale>(kErrorScales, name);
}

std::string_view name_of(MemoryLayout layout) { return name_among(kLayouts, layout); }
std::optional<MemoryLayout> memory_layout_from_name(std::string_view name) {
  return value_among<MemoryLayout>(kLayouts, name);
}

std::string_view name_of(ReferenceMode mode) { return name_among(kReferenceModes, mode); }
std::optional<ReferenceMode> reference_mode_from_name(std::string_view name) {
  return value_among<ReferenceMode>(kReferenceModes, name);
}

std::span<const InvariantInfo> invariant_table() { return kInvariants; }

const InvariantInfo& info_of(InvariantKind kind) {
  GPUEMU_CHECK(static_cast<size_t>(kind) < std::size(kInvariants));
  return kInvariants[static_cast<size_t>(kind)];
}

std::string_view name_of(InvariantKind kind) { return info_of(kind).name; }
bool is_relation(InvariantKind kind) { return info_of(kind).is_relation; }

std::optional<InvariantKind> invariant_from_name(std::string_view name) {
  const auto found = std::ranges::find(kInvariants, name, &InvariantInfo::name);
  if (found == std::end(kInvariants)) return std::nullopt;
  return found->kind;
}

}  // namespace gpuemu
