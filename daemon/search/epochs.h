// The epochs of a search: its case numbers in pieces. The cases of an epoch follow the corpus as it
// was before the epoch before them, so that an epoch runs while the one before it is unfinished.
#pragma once

#include <cstdint>

namespace gpuemu {

/// Epochs have 32, 32, 64, 64, 128, 128, 256, 256, 512, 512 and then 1024 cases each.
uint64_t epoch_of(uint64_t number);
/// The first number of an epoch.
uint64_t epoch_begin(uint64_t epoch);

/// Epochs before this have no corpus to follow: all of their cases are generated.
inline constexpr uint64_t kFirstFollowingEpoch = 2;

}  // namespace gpuemu
