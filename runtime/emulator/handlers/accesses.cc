// Handlers of loads and stores.
#include "runtime/emulator/handlers/unit.h"

namespace gpuemu::emulator::GPUEMU_ISA {
#include "runtime/emulator/handlers/rows.inc"

void add_accesses(Table& table) { register_all_accesses(table); }
}  // namespace gpuemu::emulator::GPUEMU_ISA
