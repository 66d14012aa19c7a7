// The modifiers of PTX instructions: as text in written order, and as a bit set of those that
// modifiers.def lists.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuemu::ptx {

/// One enumerator per row of modifiers.def, in its order.
enum class Modifier : uint8_t {
#define MODIFIER(modifier, text) modifier,
#include "runtime/ptx/isa/modifiers.def"
#undef MODIFIER
};

#define MODIFIER(modifier, text) +1
inline constexpr size_t kModifierCount = 0
#include "runtime/ptx/isa/modifiers.def"
    ;
#undef MODIFIER

/// Takes the text without the dot; returns nothing if it has no row.
std::optional<Modifier> modifier_of(std::string_view text);
/// Returns for example "acq_rel", without the dot.
std::string_view name_of(Modifier modifier);

/// The texts between the dots of an instruction: "global", "nc", "v4" and "f32" for
/// ld.global.nc.v4.f32.
class Modifiers {
 public:
  Modifiers() = default;
  Modifiers(std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) add(text);
  }

  void add(std::string_view text) { insert(texts_.size(), text); }
  /// Inserts before the modifier at `index`, or at the end.
  void insert(size_t index, std::string_view text);
  void reserve(size_t count) { texts_.reserve(count); }

  bool has(Modifier modifier) const {
    const auto at = static_cast<size_t>(modifier);
    return (given_[at / 64] >> at % 64 & 1) != 0;
  }
  const std::string& operator[](size_t index) const { return texts_[index]; }
  const std::string& back() const { return texts_.back(); }
  size_t size() const { return texts_.size(); }
  bool empty() const { return texts_.empty(); }
  auto begin() const { return texts_.begin(); }
  auto end() const { return texts_.end(); }

 private:
  std::vector<std::string> texts_;
  std::array<uint64_t, (kModifierCount + 63) / 64> given_{};  ///< One bit per Modifier.
};

}  // namespace gpuemu::ptx
