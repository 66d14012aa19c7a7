#include "runtime/ptx/isa/modifier.h"

#include <algorithm>
#include <array>

namespace gpuemu::ptx {
namespace {

constexpr auto kModifierTexts = std::to_array<std::string_view>({
#define MODIFIER(modifier, text) text,
#include "runtime/ptx/isa/modifiers.def"
#undef MODIFIER
});
static_assert(std::ranges::is_sorted(kModifierTexts));

}  // namespace

std::optional<Modifier> modifier_of(std::string_view text) {
  const auto found = std::ranges::lower_bound(kModifierTexts, text);
  if (found == kModifierTexts.end() || *found != text) return std::nullopt;
  return static_cast<Modifier>(found - kModifierTexts.begin());
}

std::string_view name_of(Modifier modifier) {
  return kModifierTexts[static_cast<size_t>(modifier)];
}

void Modifiers::insert(size_t index, std::string_view text) {
  texts_.emplace(texts_.begin() + static_cast<std::ptrdiff_t>(index), text);
  if (const auto known = modifier_of(text)) {
    const auto at = static_cast<size_t>(*known);
    given_[at / 64] |= uint64_t{1} << at % 64;
  }
}

}  // namespace gpuemu::ptx
