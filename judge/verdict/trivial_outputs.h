// Whether a case proves anything: what would have passed without computing the right answer.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gpuemu {

struct Comparison;

/// Outputs that take no work, and the reference with one line of it wrong.
enum class TrivialOutput : uint8_t {
  Zeros,
  FirstInput,   ///< The elements of the first input, where there are as many.
  RowMean,      ///< The mean of the reference's row in all of its elements.
  OneOverN,     ///< 1 / the length of a row.
  OtherRow,     ///< Each row holds the answer of the row before it.
  WrongRow,     ///< The last row is off by half the largest magnitude of the reference.
  WrongColumn,  ///< The last column is.
};
inline constexpr size_t kTrivialCount = 7;
/// "zeros", "first_input", ... as reports name them.
std::string_view name_of(TrivialOutput trivial);

struct TrivialOutputs {
  uint32_t passing = 0;  ///< Bit per TrivialOutput: it would have passed, invariants included.
  /// The first input is the answer, element for element: no sign of a weak case by itself.
  bool first_input_is_answer = false;

  bool passes(TrivialOutput trivial) const {
    return (passing >> static_cast<uint32_t>(trivial) & 1) != 0;
  }
  void set(TrivialOutput trivial) { passing |= 1U << static_cast<uint32_t>(trivial); }
  /// Adds another output of the case: a trivial kernel has to get through all of them, a wrong line
  /// through one.
  void join(const TrivialOutputs& other);
};

/// Finds those of an output that passes. Stops at the first element of each that fails, so that it
/// costs little where the case proves something. REQUIRES: output and reference of equal shape.
TrivialOutputs find_trivial_outputs(const Comparison& comparison);

}  // namespace gpuemu
