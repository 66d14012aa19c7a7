// The names of memory layouts that reports and records print.
#pragma once

#include "common/protocol/records.gen.h"

namespace gpuemu {

/// Returns "contiguous"; name_of() returns "Contiguous".
const char* lower_name_of(LayoutKind layout);

}  // namespace gpuemu
