// Includes for every unit of handlers, before it opens the namespace of its instruction set. A unit
// is compiled once per set: GPUEMU_ISA names it (CMakeLists.txt).
#pragma once

#include <bit>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <immintrin.h>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/handlers/handlers.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/numerics/mufu.h"
#include "runtime/emulator/numerics/mufu_tables.h"
