// The handlers for any x86-64 processor.
#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

#include <immintrin.h>

#include "runtime/emulator/access.h"
#include "runtime/emulator/handlers.h"
#include "runtime/emulator/mufu.h"
#include "runtime/emulator/warp.h"

namespace gpuemu::emulator::portable {
#include "runtime/emulator/handlers.inc"
}  // namespace gpuemu::emulator::portable
