// Bytes that a launch's threads asked for, by state space.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/profile/profile.h"

namespace gpuemu {

struct SpaceBytes {
  uint64_t global = 0, shared = 0, local = 0;
};

/// Bytes that one thread of an instruction moves ("ld.shared.v4.f32": 16); 0 for those that move no
/// memory of their own space: parameters, matrices that a warp loads together, copies whose size is
/// an operand.
uint64_t bytes_of_thread(std::string_view spelling);

/// Generic accesses are of the space that they went to; what was neither global nor shared is
/// local.
SpaceBytes bytes_by_space(const Profile& profile);

}  // namespace gpuemu
