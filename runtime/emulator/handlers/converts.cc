// Handlers of conversions.
#include "runtime/emulator/handlers/unit.h"

namespace gpuemu::emulator::GPUEMU_ISA {
#include "runtime/emulator/handlers/converts.inc"

void add_converts(Table& table) { register_converts(table); }
}  // namespace gpuemu::emulator::GPUEMU_ISA
