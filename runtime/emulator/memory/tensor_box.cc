#include "runtime/emulator/memory/tensor_box.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuemu::emulator {
namespace {

constexpr uint32_t kChunk = 16;  ///< Bytes that a swizzle keeps together.
/// More than the shared memory of any block; a larger box is laid out only up to here.
constexpr uint32_t kExtentMax = 1u << 20;

/// Returns the bytes of a row that the swizzle permutes; 0 without a swizzle.
uint32_t swizzle_bytes(const TensorMap& map) {
  return map.swizzle == kNoSwizzle ? 0 : kChunk << map.swizzle;
}

/// Adds rows of elements of dimension 0. In shared memory a swizzled row takes as many bytes as the
/// swizzle's width (measured on an H200).
class Rows {
 public:
  Rows(TensorBox& box, const TensorMap& map, int64_t first, uint32_t count)
      : box_(box), first_(first), count_(count), size_(map.size(0)) {
    pitch_ = std::max(count * box.element_bytes, swizzle_bytes(map));
  }

  /// `address` is that of index 0; 0: the whole row is outside the tensor.
  void add(uint64_t address) {
    at_ = box_.extent;
    box_.extent += pitch_;
    const auto limit = [&](int64_t index) {
      return static_cast<uint32_t>(std::clamp<int64_t>(index - first_, 0, count_));
    };
    const uint32_t begin = address == 0 ? count_ : limit(0), end = limit(size_);
    piece(0, begin);
    if (end > begin) {
      const int64_t index = first_ + begin;
      piece(address + static_cast<uint64_t>(index) * box_.element_bytes, end - begin);
      piece(0, count_ - end);
    } else {
      piece(0, count_ - begin);
    }
  }

 private:
  void piece(uint64_t address, uint32_t elements) {
    if (elements == 0) return;
    const uint32_t bytes = elements * box_.element_bytes;
    box_.pieces.push_back({address, at_, bytes});
    box_.bytes += bytes;
    at_ += bytes;
  }

  TensorBox& box_;
  int64_t first_;
  uint32_t count_;
  int64_t size_;
  uint32_t pitch_ = 0, at_ = 0;
};

bool is_inside(const TensorMap& map, uint32_t dimension, int64_t index) {
  return index >= 0 && index < map.size(dimension);
}

/// Returns the address of the row with these indices from dimension 1 on; 0 if it is outside the
/// tensor.
uint64_t row_address(const TensorMap& map, const std::array<int64_t, kTensorRankMax>& index) {
  uint64_t address = map.address;
  for (uint32_t i = 1; i < map.rank(); ++i) {
    if (!is_inside(map, i, index[i])) return 0;
    address += static_cast<uint64_t>(index[i]) * map.strides[i - 1];
  }
  return address;
}

void add_tile(TensorBox& box, const TensorMap& map, const TensorPlace& place) {
  Rows rows(box, map, place.index[0], map.box[0]);
  std::array<uint32_t, kTensorRankMax> at{};  // How far each index is in the box.
  while (true) {
    std::array<int64_t, kTensorRankMax> index{};
    for (uint32_t i = 1; i < map.rank(); ++i) index[i] = int64_t{place.index[i]} + at[i];
    rows.add(row_address(map, index));
    uint32_t next = 1;
    for (; next < map.rank(); ++next) {
      at[next] += map.steps[next];
      if (at[next] < map.box[next]) break;
      at[next] = 0;
    }
    if (next >= map.rank() || box.extent > kExtentMax) return;
  }
}

/// Walks over the pixels, dimension 1 fastest, each from its lower to its upper corner. The last
/// dimension has no corners.
void add_columns(TensorBox& box, const TensorMap& map, const TensorPlace& place) {
  Rows rows(box, map, place.index[0], map.channels);
  const uint32_t last = uint32_t{map.rank_less_1};
  std::array<int64_t, kTensorRankMax> base{};
  for (uint32_t i = 1; i < map.rank(); ++i) base[i] = place.index[i];
  for (uint32_t pixel = 0; pixel < map.pixels && box.extent <= kExtentMax; ++pixel) {
    std::array<int64_t, kTensorRankMax> index = base;
    for (uint32_t i = 1; i < last; ++i) index[i] += place.added[i - 1];
    rows.add(row_address(map, index));
    for (uint32_t i = 1; i < last; ++i) {
      base[i] += map.steps[i];
      const int64_t end = map.size(i) - 1 + map.corners[kTensorRankMax - 2 + i - 1];
      if (base[i] <= end) break;
      base[i] = map.corners[i - 1];
      if (i + 1 == last) base[last] += map.steps[last];
    }
  }
}

/// Combines the chunk's number in a row of 32, 64 or 128 bytes (address bits 4 to 6) with the
/// number of the 128-byte row.
uint32_t swizzled(uint32_t offset, uint8_t swizzle) {
  const uint32_t mask = (1u << swizzle) - 1;
  return offset ^ (((offset >> 7) & mask) << 4);
}

/// Repeats the checks that the driver made when it created the map, because a program may have
/// overwritten it since or changed it with tensormap.replace.
bool is_intact(const TensorMap& map) {
  constexpr uint32_t kBoxMax = 256, kStepMax = 8;
  const bool is_tiled = map.kind == TensorMapKind::Tiled;
  for (uint32_t i = 0; i < map.rank(); ++i) {
    if (map.steps[i] == 0 || map.steps[i] > kStepMax) return false;
    if (is_tiled && (map.box[i] == 0 || map.box[i] > kBoxMax)) return false;
    if (i + 1 < map.rank() && map.strides[i] % kChunk != 0) return false;
  }
  const uint32_t elements = is_tiled ? map.box[0] : map.channels;
  const uint32_t row = elements * kTensorElements[map.type].bytes;
  const bool fits = map.swizzle == kNoSwizzle || row <= swizzle_bytes(map);
  return row != 0 && row % kChunk == 0 && fits && map.address != 0 && map.address % kChunk == 0;
}

}  // namespace

bool is_map(const TensorMap& map) {
  if (map.signature != TensorMap::kSignature || map.rank() > kTensorRankMax) return false;
  const bool is_like_ours =
      map.type < std::size(kTensorElements) && map.interleave == kNoInterleave;
  return !is_like_ours || is_intact(map);
}

const char* reason_against(const TensorMap& map) {
  if (map.signature != TensorMap::kSignature || map.rank() > kTensorRankMax) {
    return "finds no tensor map at this address: one is made by cuTensorMapEncode* and passed as a "
           "__grid_constant__ parameter or copied to the device";
  }
  if (map.type >= std::size(kTensorElements)) return "its elements are packed";
  if (map.type > static_cast<uint8_t>(TensorType::BF16)) {
    return "its elements are rounded to tf32, or their subnormals are flushed, on the way";
  }
  if (map.interleave != kNoInterleave) return "its layout is interleaved";
  if (map.swizzle > kSwizzle128) return "its swizzle is one of sm_100";
  if (map.kind == TensorMapKind::Im2colWide) return "it is of the form im2col::w of sm_100";
  if (!is_intact(map)) {
    return "its address, strides, box or steps are none that the driver would have accepted: parts "
           "of it have been overwritten, or replaced by tensormap.replace";
  }
  return nullptr;
}

TensorBox box_at(const TensorMap& map, const TensorPlace& place) {
  TensorBox box;
  const TensorElement element = kTensorElements[map.type];
  box.element_bytes = element.bytes;
  box.fills_with_nan = element.is_float && map.fill == kFillNan;
  if (map.kind == TensorMapKind::Tiled) {
    add_tile(box, map, place);
  } else {
    add_columns(box, map, place);
  }
  return box;
}

void swizzle(TensorBox& box, const TensorMap& map, uint32_t begin) {
  if (map.swizzle == kNoSwizzle) return;
  std::vector<TensorPiece> split;
  for (const TensorPiece& one : box.pieces) {
    for (uint32_t done = 0; done < one.bytes;) {
      const uint32_t at = begin + one.offset + done;
      const uint32_t bytes = std::min(one.bytes - done, kChunk - at % kChunk);
      split.push_back(
          {one.address == 0 ? 0 : one.address + done, swizzled(at, map.swizzle) - begin, bytes});
      done += bytes;
    }
  }
  box.pieces = std::move(split);
}

}  // namespace gpuemu::emulator
