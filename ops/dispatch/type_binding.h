// Binds the letters in an op's operand types to the dtypes of a call, and derives the entry's name.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/op.h"

namespace gpuemu {

/// Letters per op; an index of all their dtypes fits 16 bits.
inline constexpr size_t kTypeLettersMax = 4;

class TypeBinding {
 public:
  /// Requires that fewer than kTypeLettersMax letters are bound.
  void bind(char letter, DType dtype);
  /// Returns null if the letter is not bound.
  const DType* find(char letter) const;
  /// Returns a number that is unique among the bindings of one op.
  uint32_t index() const;
  std::string text() const;  ///< "T = float32, I = int32"
  size_t size() const { return count_; }
  /// Requires index < size().
  std::pair<char, DType> at(size_t index) const { return {letters_[index], dtypes_[index]}; }

 private:
  size_t count_ = 0;
  std::array<char, kTypeLettersMax> letters_{};
  std::array<DType, kTypeLettersMax> dtypes_{};
};

/// Binds the letters in the order of the operands. InvalidArgument if operands of one letter
/// differ.
Result<TypeBinding> bind_types(const OpCase& c);

/// Returns "gelu_float16" for "gelu_{T}", "cast<__half>" for "cast<{T:c}>". InvalidArgument for an
/// invalid pattern.
Result<std::string> entry_name(std::string_view pattern, const TypeBinding& types);

}  // namespace gpuemu
