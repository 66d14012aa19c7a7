// What the blocks of a launch count while somebody asks for a profile.
#pragma once

#include "runtime/profile/profile.h"

namespace gpuemu::emulator {

struct Counters {
  ProfileCounts counts;
};

}  // namespace gpuemu::emulator
