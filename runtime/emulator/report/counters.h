// Counters that each block of a profiled launch updates.
#pragma once

#include "runtime/profile/profile.h"

namespace gpuemu::emulator {

struct Counters {
  ProfileCounts counts;
};

}  // namespace gpuemu::emulator
