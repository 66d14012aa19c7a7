// Finds where two pieces of work access the same bytes of memory.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/device/stream.h"

namespace gpuemu::libcuda {

enum class Touch : uint8_t { Read, Write, Update };
/// Returns "reads", "writes" or "updates".
const char* verb_of(Touch touch);

/// The first byte that both access and at least one writes.
struct Overlap {
  uint64_t address = 0;
  Touch one = Touch::Read, other = Touch::Read;
  uint32_t place_of_one = 0, place_of_other = 0;  ///< Indices into TouchedMemory::places.
};

/// Returns nothing if they do not overlap. Atomic updates by both do not count.
std::optional<Overlap> first_overlap(const TouchedMemory& one, const TouchedMemory& other);

/// Removes the bytes from `begin` to `end`.
void forget_bytes(TouchedMemory& memory, uint64_t begin, uint64_t end);

}  // namespace gpuemu::libcuda
