#include "runtime/emulator/handlers/handlers.h"

namespace gpuemu::emulator {
namespace {

using AddRows = void (*)(Table&);

Table table_of(std::initializer_list<AddRows> units) {
  Table made;
  for (const AddRows add : units) add(made);
  return made;
}

#ifndef GPUEMU_PORTABLE_ONLY
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}
#endif

}  // namespace

// The units as each instruction set has them (unit.h).
#define GPUEMU_UNITS(isa)                                                             \
  namespace isa {                                                                     \
  void add_integers(Table& table);                                                    \
  void add_floats(Table& table);                                                      \
  void add_halves(Table& table);                                                      \
  void add_converts(Table& table);                                                    \
  void add_accesses(Table& table);                                                    \
  const Table& table() {                                                              \
    static const Table kTable =                                                       \
        table_of({add_integers, add_floats, add_halves, add_converts, add_accesses}); \
    return kTable;                                                                    \
  }                                                                                   \
  }
GPUEMU_UNITS(portable)
#ifdef GPUEMU_PORTABLE_ONLY
const Table& handlers() { return portable::table(); }
const char* handlers_name() { return "portable"; }
#else
GPUEMU_UNITS(avx2)
const Table& handlers() { return has_avx2() ? avx2::table() : portable::table(); }
const char* handlers_name() { return has_avx2() ? "AVX2" : "portable"; }
#endif
#undef GPUEMU_UNITS

}  // namespace gpuemu::emulator
