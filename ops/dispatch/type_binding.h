// Binds the letters in an op's operand types to dtypes in one call, and names the entry that
// follows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/op.h"

namespace gpuemu {

/// Letters of one op; its index of all dtypes fits 16 bits.
inline constexpr size_t kTypeLettersMax = 4;

class TypeBinding {
 public:
  /// REQUIRES: below kTypeLettersMax letters are bound.
  void bind(char letter, DType dtype);
  /// Null when the letter is not bound.
  const DType* find(char letter) const;
  /// A number for this binding, different for each of one op.
  uint32_t index() const;
  std::string text() const;  ///< "T = float32, I = int32"
  size_t size() const { return count_; }
  /// REQUIRES: index < size().
  std::pair<char, DType> at(size_t index) const { return {letters_[index], dtypes_[index]}; }

 private:
  size_t count_ = 0;
  std::array<char, kTypeLettersMax> letters_{};
  std::array<DType, kTypeLettersMax> dtypes_{};
};

/// The letters in order of the operands. InvalidArgument when operands of one letter differ.
Result<TypeBinding> bind_types(const OpCase& c);

/// "gelu_{T}" -> "gelu_float16", "cast<{T:c}>" -> "cast<__half>". InvalidArgument for a pattern
/// that is no such text.
Result<std::string> entry_name(std::string_view pattern, const TypeBinding& types);

}  // namespace gpuemu
