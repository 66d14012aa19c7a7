// The part of a tensor that a copy by a tensor map moves, and where it lies in shared memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/device/tensor_map.h"

namespace gpuemu::emulator {

/// Bytes that lie together at both ends.
struct TensorPiece {
  uint64_t address = 0;  ///< Global; 0: outside of the tensor.
  uint32_t offset = 0;   ///< In shared memory, from the beginning of the box.
  uint32_t bytes = 0;
};

struct TensorBox {
  std::vector<TensorPiece> pieces;
  uint32_t bytes = 0;   ///< The elements' bytes: what an mbarrier counts.
  uint32_t extent = 0;  ///< What the box takes in shared memory.
  uint8_t element_bytes = 1;
  bool fills_with_nan = false;
};

/// Where a box begins: indices of dimension 0, 1 ..., and for im2col what is added to those from
/// dimension 1 on.
struct TensorPlace {
  std::array<int32_t, kTensorRankMax> index{};
  std::array<uint16_t, kTensorRankMax - 2> added{};
};

/// False for other bytes, and for a map that a GPU would not take either.
bool is_map(const TensorMap& map);
/// Why the emulator cannot copy by this map; null where it can.
const char* reason_against(const TensorMap& map);
/// The map must be one that reason_against() allows.
TensorBox box_at(const TensorMap& map, const TensorPlace& place);
/// Splits the pieces as the map's swizzle moves them. `begin` is the box's offset in the block's
/// shared memory.
void swizzle(TensorBox& box, const TensorMap& map, uint32_t begin);

}  // namespace gpuemu::emulator
