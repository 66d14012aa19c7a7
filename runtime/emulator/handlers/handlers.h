// The table from an instruction's canonical key to the code that runs it for 32 lanes. Its
// units are compiled once per instruction set; `handlers()` picks one at run time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/result.h"
#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

/// The kind of a register in the frame.
enum class RegisterClass : uint8_t { None, Pred, Narrow, Wide };

struct Row {
  Handler run = nullptr;
  Handler rounded = nullptr;  ///< Obeys RoundingOperands; nullptr: it does not round.
  RegisterClass dst = RegisterClass::None;
  std::array<RegisterClass, 4> src = {};
  uint8_t sources = 0;
};

using Table = std::unordered_map<std::string, Row>;

/// Rounding modes as MXCSR has them.
enum class Rounding : uint8_t { Nearest = 0, Down = 1, Up = 2, Zero = 3 };

/// The instruction set of the host that the units were compiled for.
struct InstructionSet {
  std::string_view name;  ///< As the environment has it.
  const char* title;
  const char* needs;
  bool (*available)();  ///< On this processor.
  const Table& (*table)();
};
/// Ordered from the slowest to the fastest.
std::span<const InstructionSet> instruction_sets();

/// The table for the best instruction set of this processor, or for the one that the environment
/// names; built at the first call. Thread-safe.
const Table& handlers();
/// "AVX-512", "AVX2" or "portable".
const char* handlers_name();
/// "portable", "avx2" or "avx512": for tests and comparisons.
inline constexpr const char* kInstructionSetVariable = "GPUEMU_EMULATOR_ISA";
/// InvalidArgument when the environment names a set that does not exist or that the processor
/// lacks.
Status check_instruction_set();

}  // namespace gpuemu::emulator
