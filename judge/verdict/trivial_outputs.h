// Measures what evidence a passing case gives: which wrong outputs would have passed too.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gpuemu {

struct Comparison;

/// Outputs that take no work, and the reference with one wrong line.
enum class TrivialOutput : uint8_t {
  Zeros,
  FirstInput,   ///< The elements of the first input, if it has as many.
  RowMean,      ///< The mean of the reference's row, in each element.
  OneOverN,     ///< 1 / the length of a row.
  OtherRow,     ///< Each row holds the answer of the previous row.
  WrongRow,     ///< The last row is wrong by half the largest magnitude of the reference.
  WrongColumn,  ///< The last column is wrong in the same way.
};
inline constexpr size_t kTrivialCount = 7;
/// Returns the name in reports, such as "zeros" or "first_input".
std::string_view name_of(TrivialOutput trivial);

struct TrivialOutputs {
  uint32_t passing = 0;  ///< One bit per TrivialOutput that would have passed, invariants included.
  /// The first input is the answer, element for element, which alone does not make a case weak.
  bool first_input_is_answer = false;

  bool passes(TrivialOutput trivial) const {
    return (passing >> static_cast<uint32_t>(trivial) & 1) != 0;
  }
  void set(TrivialOutput trivial) { passing |= 1U << static_cast<uint32_t>(trivial); }
  /// Adds another output of the case: a trivial kernel must pass for all outputs, a wrong line for
  /// one.
  void join(const TrivialOutputs& other);
};

/// Finds the trivial outputs that would pass. Stops at the first failing element of each, so it is
/// cheap for cases with evidence. Requires output and reference of equal shape.
TrivialOutputs find_trivial_outputs(const Comparison& comparison);

}  // namespace gpuemu
