// Handlers of f32 and f64.
#include "runtime/emulator/handlers/unit.h"

namespace gpuemu::emulator::GPUEMU_ISA {
#include "runtime/emulator/handlers/float_rows.inc"

void add_floats(Table& table) { register_floats(table); }
}  // namespace gpuemu::emulator::GPUEMU_ISA
