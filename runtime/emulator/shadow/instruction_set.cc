// Selects the instruction set of the shadow arithmetic: the same as that of the handlers.
#include <string_view>

#include "runtime/emulator/handlers/handlers.h"
#include "runtime/emulator/shadow/simd_double_double.h"

namespace gpuemu::emulator {

#define GPUEMU_PAIRS_OF(isa)             \
  namespace isa {                        \
  const PairFunctions& pair_functions(); \
  }
GPUEMU_PAIRS_OF(portable)
#ifndef GPUEMU_PORTABLE_ONLY
GPUEMU_PAIRS_OF(avx2)
GPUEMU_PAIRS_OF(avx512)
#endif
#undef GPUEMU_PAIRS_OF

const PairFunctions& pair_functions() {
#ifndef GPUEMU_PORTABLE_ONLY
  const std::string_view name = handlers_name();
  if (name == "AVX-512") return avx512::pair_functions();
  if (name == "AVX2") return avx2::pair_functions();
#endif
  return portable::pair_functions();
}

PairFunction pair_function(const PairFunctions& all, Meaning meaning) {
  switch (meaning) {
    case Meaning::Add:
      return all.add;
    case Meaning::Sub:
      return all.subtract;
    case Meaning::Mul:
      return all.multiply;
    case Meaning::Fma:
      return all.fuse;
    case Meaning::Div:
      return all.divide;
    case Meaning::Rcp:
      return all.invert;
    case Meaning::Min:
      return all.least;
    case Meaning::Max:
      return all.greatest;
    case Meaning::Neg:
      return all.negate;
    case Meaning::Abs:
      return all.absolute;
    default:
      return nullptr;
  }
}

}  // namespace gpuemu::emulator
