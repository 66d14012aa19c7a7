// Handlers of f16, bf16 and their pairs.
#include "runtime/emulator/handlers/unit.h"

namespace gpuemu::emulator::GPUEMU_ISA {
#include "runtime/emulator/handlers/halves.inc"

void add_halves(Table& table) { register_halves(table); }
}  // namespace gpuemu::emulator::GPUEMU_ISA
