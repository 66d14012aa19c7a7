// Counts the bytes that a launch's threads requested, by state space.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/profile/profile.h"

namespace gpuemu {

struct SpaceBytes {
  uint64_t global = 0, shared = 0, local = 0;
};

/// Returns the bytes that one thread of an instruction moves ("ld.shared.v4.f32": 16); 0 for those
/// that have no memory traffic of their own: parameters, matrices that a warp loads together,
/// copies whose size is an operand.
uint64_t bytes_of_thread(std::string_view spelling);

/// Assigns generic accesses to the space that they accessed: global or shared, else local.
SpaceBytes bytes_by_space(const Profile& profile);

}  // namespace gpuemu
