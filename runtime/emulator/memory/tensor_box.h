// The part of a tensor that a copy with a tensor map moves, and its layout in shared memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/device/tensor_map.h"

namespace gpuemu::emulator {

/// A range of bytes that is contiguous in both global and shared memory.
struct TensorPiece {
  uint64_t address = 0;  ///< In global memory; 0: outside the tensor.
  uint32_t offset = 0;   ///< In shared memory, from the beginning of the box.
  uint32_t bytes = 0;
};

struct TensorBox {
  std::vector<TensorPiece> pieces;
  uint32_t bytes = 0;   ///< Size of the elements, which an mbarrier counts.
  uint32_t extent = 0;  ///< Bytes that the box takes in shared memory.
  uint8_t element_bytes = 1;
  bool fills_with_nan = false;
};

/// Where a box begins: indices of dimension 0, 1 and so on, and for im2col the offsets added to
/// those from dimension 1 on.
struct TensorPlace {
  std::array<int32_t, kTensorRankMax> index{};
  std::array<uint16_t, kTensorRankMax - 2> added{};
};

/// Returns false for bytes that are not a tensor map, and for a map that a GPU would reject.
bool is_map(const TensorMap& map);
/// Returns why the emulator cannot copy with this map; null if it can.
const char* reason_against(const TensorMap& map);
/// Computes the box. The map must be one that reason_against() accepts.
TensorBox box_at(const TensorMap& map, const TensorPlace& place);
/// Splits and moves the pieces as the map's swizzle requires. `begin` is the box's offset in the
/// block's shared memory.
void swizzle(TensorBox& box, const TensorMap& map, uint32_t begin);

}  // namespace gpuemu::emulator
