// Implements the encoding of tensor maps, in the form of runtime/device/tensor_map.h.
#include <bit>
#include <cstring>
#include <span>

#include "bindings/libcuda/process.h"
#include "runtime/device/tensor_map.h"

namespace gpuemu::libcuda {
namespace {

constexpr uint32_t kRankMax = kTensorRankMax;

struct Tensor {
  int type;
  uint32_t rank;
  void* address;
  const uint64_t *sizes, *strides;
  const uint32_t* steps;
};
struct Reading {
  int interleave, swizzle, promotion, fill;
};

bool is_element_type(int type) {
  return type >= 0 && static_cast<size_t>(type) < std::size(kTensorElements);
}

/// Returns true if the map and the tensor meet the header's requirements for all maps.
bool is_tensor(const void* map, const Tensor& tensor, const Reading& how) {
  constexpr uint64_t kMapAlignment = 64, kSizeMax = uint64_t{1} << 32,
                     kStrideEnd = uint64_t{1} << 40;
  constexpr uint32_t kStepMax = 8;
  constexpr int kSwizzleLast = 6, kPromotionLast = 3;
  if (map == nullptr || reinterpret_cast<uint64_t>(map) % kMapAlignment != 0) return false;
  if (!is_element_type(tensor.type) || tensor.rank == 0 || tensor.rank > kRankMax) return false;
  if (how.interleave < kNoInterleave || how.interleave > k32Bytes || how.swizzle < 0 ||
      how.swizzle > kSwizzleLast || how.promotion < 0 || how.promotion > kPromotionLast) {
    return false;
  }
  if (how.interleave != kNoInterleave && tensor.rank < 3) return false;
  const bool is_float = kTensorElements[tensor.type].is_float;
  if (how.fill != 0 && (how.fill != kFillNan || !is_float)) return false;
  const uint64_t alignment = how.interleave == k32Bytes ? 32 : 16;
  const auto address = reinterpret_cast<uint64_t>(tensor.address);
  if (address == 0 || address % alignment != 0) return false;
  if (tensor.sizes == nullptr || tensor.steps == nullptr) return false;
  if (tensor.rank > 1 && tensor.strides == nullptr) return false;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.sizes[i] == 0 || tensor.sizes[i] > kSizeMax) return false;
    if (tensor.steps[i] == 0 || tensor.steps[i] > kStepMax) return false;
  }
  for (uint32_t i = 0; i + 1 < tensor.rank; ++i) {
    if (tensor.strides[i] % alignment != 0 || tensor.strides[i] >= kStrideEnd) return false;
  }
  return true;
}

TensorMap map_of(TensorMapKind kind, const Tensor& tensor, const Reading& how) {
  TensorMap made{};
  made.signature = TensorMap::kSignature;
  made.kind = kind;
  made.address = reinterpret_cast<uint64_t>(tensor.address);
  made.type = static_cast<uint8_t>(tensor.type);
  made.rank_less_1 = static_cast<uint8_t>(tensor.rank - 1);
  made.interleave = static_cast<uint8_t>(how.interleave);
  made.swizzle = static_cast<uint8_t>(how.swizzle);
  made.promotion = static_cast<uint8_t>(how.promotion);
  made.fill = static_cast<uint8_t>(how.fill);
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    made.sizes[i] = static_cast<uint32_t>(tensor.sizes[i]);  // 2^32 is 0.
    made.steps[i] = static_cast<uint8_t>(tensor.steps[i]);
    if (i + 1 < tensor.rank) made.strides[i] = tensor.strides[i];
  }
  return made;
}

/// Returns true if a row of a box can be swizzled in this way and consists of whole pieces of 16
/// bytes.
bool is_row(const Tensor& tensor, const Reading& how, uint32_t elements) {
  constexpr uint32_t kPiece = 16;
  // Indexed by swizzle: 32, 64, 128 bytes, then the forms of 128 bytes.
  constexpr uint32_t kSwizzleBytes[] = {~0u, 32, 64, 128, 128, 128, 128};
  if (how.interleave != kNoInterleave) return true;
  const uint32_t bytes = elements * kTensorElements[tensor.type].bytes;
  return bytes % kPiece == 0 && bytes <= kSwizzleBytes[how.swizzle];
}

int write_map(void* to, const TensorMap& made) {
  std::memcpy(to, &made, sizeof made);
  return CUDA_SUCCESS;
}

struct Columns {
  std::span<const int> lower, upper;
  uint32_t channels, pixels;
};

int encode_columns(void* map, TensorMapKind kind, const Tensor& tensor, const Columns& columns,
                   const Reading& how, int mode) {
  constexpr uint32_t kChannelsMax = 256, kPixelsMax = 1024;
  constexpr int kCornerEnd = 1 << 15;
  const bool fits = is_tensor(map, tensor, how) && tensor.rank >= 3 && columns.channels != 0 &&
                    columns.channels <= kChannelsMax && columns.pixels != 0 &&
                    columns.pixels <= kPixelsMax && is_row(tensor, how, columns.channels);
  if (!fits) return CUDA_ERROR_INVALID_VALUE;
  TensorMap made = map_of(kind, tensor, how);
  made.channels = static_cast<uint16_t>(columns.channels);
  made.pixels = static_cast<uint16_t>(columns.pixels);
  made.mode = static_cast<uint8_t>(mode);
  for (size_t i = 0; i < columns.lower.size(); ++i) {
    const int lower = columns.lower[i], upper = columns.upper[i];
    if (lower < -kCornerEnd || lower >= kCornerEnd || upper < -kCornerEnd || upper >= kCornerEnd) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    made.corners[i] = static_cast<int16_t>(lower);
    made.corners[kRankMax - 2 + i] = static_cast<int16_t>(upper);
  }
  return write_map(map, made);
}

}  // namespace

GPUEMU_DRIVER_API int cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* address,
                                             const uint64_t* sizes, const uint64_t* strides,
                                             const uint32_t* box, const uint32_t* steps,
                                             int interleave, int swizzle, int promotion, int fill) {
  return driver_call([&](Process&) -> int {
    constexpr uint32_t kBoxMax = 256;
    const Tensor tensor{type, rank, address, sizes, strides, steps};
    const Reading how{interleave, swizzle, promotion, fill};
    if (box == nullptr || !is_tensor(map, tensor, how)) return CUDA_ERROR_INVALID_VALUE;
    TensorMap made = map_of(TensorMapKind::Tiled, tensor, how);
    for (uint32_t i = 0; i < rank; ++i) {
      if (box[i] == 0 || box[i] > kBoxMax) return CUDA_ERROR_INVALID_VALUE;
      made.box[i] = static_cast<uint16_t>(box[i]);
    }
    return is_row(tensor, how, box[0]) ? write_map(map, made)
                                       : static_cast<int>(CUDA_ERROR_INVALID_VALUE);
  });
}

GPUEMU_DRIVER_API int cuTensorMapEncodeIm2col(void* map, int type, uint32_t rank, void* address,
                                              const uint64_t* sizes, const uint64_t* strides,
                                              const int* lower, const int* upper, uint32_t channels,
                                              uint32_t pixels, const uint32_t* steps,
                                              int interleave, int swizzle, int promotion,
                                              int fill) {
  return driver_call([&](Process&) -> int {
    if (rank < 3 || rank > kRankMax || lower == nullptr || upper == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return encode_columns(map, TensorMapKind::Im2col, {type, rank, address, sizes, strides, steps},
                          {{lower, rank - 2}, {upper, rank - 2}, channels, pixels},
                          {interleave, swizzle, promotion, fill}, 0);
  });
}

GPUEMU_DRIVER_API int cuTensorMapEncodeIm2colWide(void* map, int type, uint32_t rank, void* address,
                                                  const uint64_t* sizes, const uint64_t* strides,
                                                  int lower, int upper, uint32_t channels,
                                                  uint32_t pixels, const uint32_t* steps,
                                                  int interleave, int mode, int swizzle,
                                                  int promotion, int fill) {
  return driver_call([&](Process&) -> int {
    constexpr int kModeLast = 1;
    if (mode < 0 || mode > kModeLast) return CUDA_ERROR_INVALID_VALUE;
    return encode_columns(
        map, TensorMapKind::Im2colWide, {type, rank, address, sizes, strides, steps},
        {{&lower, 1}, {&upper, 1}, channels, pixels}, {interleave, swizzle, promotion, fill}, mode);
  });
}

GPUEMU_DRIVER_API int cuTensorMapReplaceAddress(void* map, void* address) {
  return driver_call([&](Process&) -> int {
    if (map == nullptr) return CUDA_ERROR_INVALID_VALUE;
    TensorMap known;
    std::memcpy(&known, map, sizeof known);
    if (known.signature != TensorMap::kSignature) return CUDA_ERROR_INVALID_VALUE;
    const uint64_t alignment = known.interleave == k32Bytes ? 32 : 16;
    const auto at = reinterpret_cast<uint64_t>(address);
    if (at == 0 || at % alignment != 0) return CUDA_ERROR_INVALID_VALUE;
    known.address = at;
    return write_map(map, known);
  });
}

}  // namespace gpuemu::libcuda
