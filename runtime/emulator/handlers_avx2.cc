// The handlers for processors with AVX2, FMA and F16C.
#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

#include <immintrin.h>

#include "runtime/emulator/access.h"
#include "runtime/emulator/handlers.h"
#include "runtime/emulator/mufu.h"
#include "runtime/emulator/warp.h"

namespace gpuemu::emulator::avx2 {
#include "runtime/emulator/handlers.inc"
}  // namespace gpuemu::emulator::avx2
