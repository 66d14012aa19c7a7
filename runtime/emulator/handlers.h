// The table from an instruction's canonical key to the code that runs it for 32 lanes. It is built
// twice from the same text: for AVX2 and for any x86-64; `handlers()` picks one at run time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "runtime/emulator/ins.h"

namespace gpuemu::emulator {

/// How an operand lies in the frame.
enum class Slot : uint8_t { None, Pred, Narrow, Wide };

struct Row {
  Handler run = nullptr;
  Handler rounded = nullptr;  ///< Obeys Ins::imm as rounding mode; nullptr: it has no rounding.
  Slot dst = Slot::None;
  std::array<Slot, 4> src = {};
  uint8_t sources = 0;
};

using Table = std::unordered_map<std::string, Row>;

/// Rounding modes as MXCSR has them.
enum class Rounding : uint8_t { Nearest = 0, Down = 1, Up = 2, Zero = 3 };

namespace avx2 {
const Table& table();
}
namespace portable {
const Table& table();
}
const Table& handlers();
/// "AVX2" or "portable".
const char* handlers_name();

/// Flags of load and store instructions (Ins::flags).
inline constexpr uint8_t kSigned = 1;
inline constexpr uint8_t kOrdered = 2;  ///< volatile and its like: threads may meet here.
/// A vector of plain words, as copies of structures use: some of them may be padding.
inline constexpr uint8_t kWholeAccess = 4;

}  // namespace gpuemu::emulator
