// The content of a CUtensorMap, laid out in its 128 bytes. The layout is our own: CUtensorMap is
// opaque to programs and NVIDIA does not publish its layout. The driver API writes it and the
// emulator reads it. tensormap.replace stores its values unconverted in these fields.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuemu {

inline constexpr uint32_t kTensorRankMax = 5;
enum class TensorMapKind : uint8_t { Tiled, Im2col, Im2colWide };
/// The values of CUtensorMapInterleave and CUtensorMapSwizzle. Swizzles beyond kSwizzle128 are for
/// sm_100.
inline constexpr uint8_t kNoInterleave = 0, k16Bytes = 1, k32Bytes = 2;
inline constexpr uint8_t kNoSwizzle = 0, kSwizzle128 = 3;
/// CUtensorMapFloatOOBfill: elements outside the tensor read as NaN instead of zero.
inline constexpr uint8_t kFillNan = 1;

/// The values of CUtensorMapDataType.
enum class TensorType : uint8_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  Tf32,
  Tf32Ftz,
  Packed4,
  Packed4Align16,
  Packed6
};
/// An element's size in bytes, and whether it is a float. Packed types hold 16 elements of 4 or 6
/// bits.
struct TensorElement {
  uint8_t bytes;
  bool is_float;
};
inline constexpr TensorElement kTensorElements[] = {
    {1, false}, {2, false}, {4, false}, {4, false}, {8, false}, {8, false}, {2, true},
    {4, true},  {8, true},  {2, true},  {4, true},  {4, true},  {4, true}};

struct TensorMap {
  /// Distinguishes a map from other bytes.
  static constexpr uint32_t kSignature = 0x50414d54;

  uint64_t address;
  uint64_t strides[kTensorRankMax - 1];  ///< Bytes between consecutive indices of dimension 1, 2
                                         ///< and so on.
  uint32_t sizes[kTensorRankMax];        ///< 0 means 2^32; see size().
  int16_t corners[2 * (kTensorRankMax - 2)];  ///< Im2col: first the lower corner, then the upper
                                              ///< one.
  uint16_t channels, pixels;                  ///< Im2col only.
  uint16_t box[kTensorRankMax];
  uint8_t steps[kTensorRankMax];
  TensorMapKind kind;
  uint8_t type, rank_less_1, interleave, swizzle, promotion, fill, mode;
  uint8_t unused[25];
  uint32_t signature;

  uint32_t rank() const { return rank_less_1 + 1u; }
  int64_t size(uint32_t dimension) const {
    return sizes[dimension] == 0 ? int64_t{1} << 32 : int64_t{sizes[dimension]};
  }
};
static_assert(sizeof(TensorMap) == 128);

}  // namespace gpuemu
