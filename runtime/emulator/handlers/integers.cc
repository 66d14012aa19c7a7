// Handlers of integers, bits and moves.
#include "runtime/emulator/handlers/unit.h"

namespace gpuemu::emulator::GPUEMU_ISA {
#include "runtime/emulator/handlers/integer_rows.inc"

void add_integers(Table& table) { register_integers(table); }
}  // namespace gpuemu::emulator::GPUEMU_ISA
