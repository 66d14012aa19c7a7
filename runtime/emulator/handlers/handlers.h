// The table from an instruction's canonical key to the handler that executes it for 32 lanes. Its
// units are compiled once per host instruction set; `handlers()` selects one at run time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/result.h"
#include "runtime/emulator/code/step.h"
#include "runtime/emulator/numerics/dot_tile.h"

namespace gpuemu::emulator {

/// The kind of a register in the frame.
enum class RegisterClass : uint8_t { None, Pred, Narrow, Wide };

struct Row {
  Handler run = nullptr;
  Handler rounded = nullptr;  ///< Uses RoundingOperands; null if the result is never rounded.
  RegisterClass dst = RegisterClass::None;
  std::array<RegisterClass, 4> src = {};
  uint8_t sources = 0;
};

using Table = std::unordered_map<std::string, Row>;

/// Rounding modes in the encoding of MXCSR.
enum class Rounding : uint8_t { Nearest = 0, Down = 1, Up = 2, Zero = 3 };

/// A host instruction set for which the units were compiled.
struct InstructionSet {
  std::string_view name;  ///< The name used in the environment variable.
  const char* title;
  const char* needs;
  bool (*available)();  ///< Returns whether this processor supports it.
  const Table& (*table)();
  TileFunctions (*tiles)();
};
/// Ordered from the slowest to the fastest.
std::span<const InstructionSet> instruction_sets();

/// Returns the table for the best instruction set of this processor, or for the one that the
/// environment names. Built at the first call. Thread-safe.
const Table& handlers();
/// Returns those of the same instruction set.
const TileFunctions& tile_functions();
/// Returns "AVX-512", "AVX2" or "portable".
const char* handlers_name();
/// Environment variable with the value "portable", "avx2" or "avx512", for tests and comparisons.
inline constexpr const char* kInstructionSetVariable = "GPUEMU_EMULATOR_ISA";
/// InvalidArgument if the environment names an instruction set that does not exist or that the
/// processor lacks.
Status check_instruction_set();

}  // namespace gpuemu::emulator
