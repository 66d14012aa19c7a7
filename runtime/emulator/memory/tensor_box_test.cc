#include "runtime/emulator/memory/tensor_box.h"

#include <gtest/gtest.h>

namespace gpuemu::emulator {
namespace {

constexpr uint64_t kBase = 4096;

/// A tensor of 10 x 6 floats in rows of 48 bytes, from which boxes of 8 x 2 are taken.
TensorMap rows_of_floats() {
  TensorMap map{};
  map.signature = TensorMap::kSignature;
  map.kind = TensorMapKind::Tiled;
  map.type = static_cast<uint8_t>(TensorType::F32);
  map.rank_less_1 = 1;
  map.address = kBase;
  map.strides[0] = 48;
  map.sizes[0] = 10;
  map.sizes[1] = 6;
  map.box[0] = 8;
  map.box[1] = 2;
  for (uint8_t& step : map.steps) step = 1;
  return map;
}

void expect_piece(const TensorPiece& piece, uint64_t address, uint32_t offset, uint32_t bytes) {
  EXPECT_EQ(piece.address, address);
  EXPECT_EQ(piece.offset, offset);
  EXPECT_EQ(piece.bytes, bytes);
}

TEST(TensorBox, HasARowForEachIndexOfTheOtherDimensions) {
  const TensorBox box = box_at(rows_of_floats(), {{2, 3}, {}});
  EXPECT_EQ(box.bytes, 64u);
  ASSERT_EQ(box.pieces.size(), 2u);
  expect_piece(box.pieces[0], kBase + 3 * 48 + 8, 0, 32);
  expect_piece(box.pieces[1], kBase + 4 * 48 + 8, 32, 32);
}

TEST(TensorBox, IsFilledWhereItLiesOutside) {
  const TensorBox right = box_at(rows_of_floats(), {{5, 5}, {}});
  ASSERT_EQ(right.pieces.size(), 3u);
  expect_piece(right.pieces[0], kBase + 5 * 48 + 20, 0, 20);
  expect_piece(right.pieces[1], 0, 20, 12);
  expect_piece(right.pieces[2], 0, 32, 32);
  const TensorBox left = box_at(rows_of_floats(), {{-3, -1}, {}});
  ASSERT_EQ(left.pieces.size(), 3u);
  expect_piece(left.pieces[0], 0, 0, 32);
  expect_piece(left.pieces[1], 0, 32, 12);
  expect_piece(left.pieces[2], kBase, 44, 20);
  const TensorBox beyond = box_at(rows_of_floats(), {{10, 0}, {}});
  ASSERT_EQ(beyond.pieces.size(), 2u);
  expect_piece(beyond.pieces[0], 0, 0, 32);
  const TensorBox far = box_at(rows_of_floats(), {{INT32_MIN, INT32_MAX}, {}});
  EXPECT_EQ(far.bytes, 64u);
  for (const TensorPiece& one : far.pieces) EXPECT_EQ(one.address, 0u);
}

TEST(TensorBox, TakesEverySecondRowWhereTheMapSaysSo) {
  TensorMap map = rows_of_floats();
  map.box[1] = 3;
  map.steps[1] = 2;
  const TensorBox box = box_at(map, {{0, 1}, {}});
  ASSERT_EQ(box.pieces.size(), 2u);
  expect_piece(box.pieces[1], kBase + 3 * 48, 32, 32);
}

TEST(TensorBox, SwizzlesPiecesOf16Bytes) {
  TensorMap map = rows_of_floats();
  map.swizzle = kSwizzle128;
  map.strides[0] = 128;
  map.sizes[0] = 32;
  map.box[0] = 32;
  TensorBox box = box_at(map, {{0, 0}, {}});
  swizzle(box, map, 1024);
  ASSERT_EQ(box.pieces.size(), 16u);
  expect_piece(box.pieces[1], kBase + 16, 16, 16);
  expect_piece(box.pieces[8], kBase + 128, 128 + 16, 16);
  expect_piece(box.pieces[9], kBase + 144, 128, 16);
}

TEST(TensorBox, GivesSwizzledRowsThatAreShorterAllBytesOfTheSwizzle) {
  TensorMap map = rows_of_floats();
  map.swizzle = kSwizzle128;
  TensorBox box = box_at(map, {{0, 0}, {}});
  swizzle(box, map, 0);
  EXPECT_EQ(box.bytes, 64u);
  EXPECT_EQ(box.extent, 256u);
  ASSERT_EQ(box.pieces.size(), 4u);
  expect_piece(box.pieces[2], kBase + 48, 128 + 16, 16);
}

TEST(TensorBox, EndsWhereNoBlockHasSoMuchSharedMemory) {
  TensorMap map = rows_of_floats();
  map.rank_less_1 = 4;
  for (uint16_t& box : map.box) box = 256;
  const TensorBox box = box_at(map, {});
  EXPECT_GT(box.extent, 1u << 20);
  EXPECT_LT(box.extent, 1u << 21);
}

TEST(TensorBox, NeedsAMapThatIsIntactAndChangesNoElements) {
  EXPECT_EQ(reason_against(rows_of_floats()), nullptr);
  TensorMap map = rows_of_floats();
  map.steps[1] = 0;
  EXPECT_NE(std::string(reason_against(map)).find("overwritten"), std::string::npos);
  EXPECT_FALSE(is_map(map));
  map = rows_of_floats();
  map.box[0] = 7;
  EXPECT_NE(std::string(reason_against(map)).find("overwritten"), std::string::npos);
  EXPECT_FALSE(is_map(map));
  map = rows_of_floats();
  map.type = static_cast<uint8_t>(TensorType::Tf32);
  EXPECT_NE(reason_against(map), nullptr);
}

/// Images of 4 x 3 pixels with 16 channels of a byte.
TEST(TensorBox, OfColumnsWalksOverPixelsAndImages) {
  TensorMap map{};
  map.signature = TensorMap::kSignature;
  map.kind = TensorMapKind::Im2col;
  map.rank_less_1 = 3;
  map.address = kBase;
  map.strides[0] = 16;
  map.strides[1] = 64;
  map.strides[2] = 192;
  map.sizes[0] = 16;
  map.sizes[1] = 4;
  map.sizes[2] = 3;
  map.sizes[3] = 2;
  map.channels = 16;
  map.pixels = 6;
  // A window of 3 x 3 with a border of one pixel.
  map.corners[0] = map.corners[1] = -1;
  map.corners[3] = map.corners[4] = -1;
  for (uint8_t& step : map.steps) step = 1;
  const TensorBox box = box_at(map, {{0, 1, 1, 0}, {1, 1}});
  ASSERT_EQ(box.pieces.size(), 6u);
  expect_piece(box.pieces[0], kBase + 2 * 64 + 2 * 16, 0, 16);
  expect_piece(box.pieces[1], kBase + 2 * 64 + 3 * 16, 16, 16);
  expect_piece(box.pieces[2], kBase + 192, 32, 16);  // The next image's first pixel.
  expect_piece(box.pieces[3], kBase + 192 + 16, 48, 16);
  const TensorBox corner = box_at(map, {{0, -1, -1, 0}, {0, 0}});
  expect_piece(corner.pieces[0], 0, 0, 16);
  EXPECT_STREQ(reason_against(map), nullptr);
  map.signature = 0;
  EXPECT_NE(reason_against(map), nullptr);
}

}  // namespace
}  // namespace gpuemu::emulator
