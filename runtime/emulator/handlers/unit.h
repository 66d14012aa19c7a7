// Includes for every unit of handlers, placed before the unit opens the namespace of its
// instruction set. Each unit is compiled once per set, which GPUEMU_ISA names (CMakeLists.txt).
#pragma once

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <immintrin.h>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/checks/last_word.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/handlers/handlers.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/numerics/mufu.h"
#include "runtime/emulator/numerics/mufu_tables.h"
