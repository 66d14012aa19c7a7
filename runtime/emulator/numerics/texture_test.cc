// Tests the arithmetic of texture units against results of an H200 (580.159.04).
#include "runtime/emulator/numerics/texture.h"

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace gpuemu::emulator {
namespace {
using Address = TextureConfig::Address;
using Filter = TextureConfig::Filter;
using Shape = TextureConfig::Shape;
using Texel = TextureConfig::Texel;

TextureConfig format(Texel texel, uint32_t bits) {
  TextureConfig made;
  made.texel = texel;
  made.bits = bits;
  made.normalized_values = texel != Texel::Float;
  return made;
}
const TextureConfig kFloat = format(Texel::Float, 32), kHalf = format(Texel::Float, 16);
const TextureConfig kUnsigned8 = format(Texel::Unsigned, 8);
const TextureConfig kUnsigned16 = format(Texel::Unsigned, 16);
const TextureConfig kSigned16 = format(Texel::Signed, 16);

/// Returns what a texture whose texels have the values 0, 256, 512, ... gives.
float read(const TextureConfig& texture, const TexturePoint& point) {
  const TexelShares shares = texels_at(texture, point);
  std::vector<uint32_t> stored;
  for (uint32_t i = 0; i < shares.count; ++i) {
    const int64_t x = shares.of[i].x;
    stored.push_back(std::bit_cast<uint32_t>(x < 0 ? 0.0f : static_cast<float>(256 * x)));
  }
  return std::bit_cast<float>(shares.are_blended ? blended_channel(texture, shares, stored)
                                                 : channel_value(texture, stored[0]));
}

/// Coordinates at which 21 fraction bits decide. Without this cut, each result is the next one.
constexpr struct {
  uint32_t width;
  Address mode;
  Filter filter;
  float at, expected;
} kNormalized[] = {
    // clang-format off
    {9, Address::Clamp, Filter::Point, 0x1.8e38e4p-1f, 1536.0f},
    {9, Address::Clamp, Filter::Point, 0x1.55555cp-1f, 1280.0f},
    {9, Address::Clamp, Filter::Point, 0x1.c71c7cp-3f, 256.0f},
    {9, Address::Wrap, Filter::Point, 0x1.8e38e8p-1f, 1536.0f},
    {9, Address::Wrap, Filter::Point, 0x1.55555ap-1f, 1280.0f},
    {9, Address::Wrap, Filter::Point, 0x1.c71c76p-3f, 256.0f},
    {100, Address::Border, Filter::Linear, 0x1.868528p-3f, 4753.0f},
    {100, Address::Border, Filter::Linear, 0x1.1d3d7ap-3f, 3437.0f},
    {100, Address::Border, Filter::Linear, 0x1.d5733ap-1f, 23344.0f},
    {4095, Address::Mirror, Filter::Linear, 0x1.e808d6p-1f, 999122.0f},
    {4095, Address::Mirror, Filter::Linear, 0x1.32c8dep-1f, 628013.0f},
    {4095, Address::Mirror, Filter::Linear, 0x1.3e21bep-1f, 651246.0f},
    {640, Address::Clamp, Filter::Linear, 0x1.225cdp-4f, 11486.0f},
    {640, Address::Clamp, Filter::Linear, 0x1.8300dcp-2f, 61792.0f},
    {640, Address::Clamp, Filter::Linear, 0x1.19a59ep-2f, 44935.0f},
    {7, Address::Wrap, Filter::Linear, 0x1.509254p-3f, 166.0f},
    {7, Address::Wrap, Filter::Linear, 0x1.c7492ep-1f, 1465.0f},
    {7, Address::Wrap, Filter::Linear, 0x1.e66db8p-1f, 1308.0f},
    // clang-format on
};

TEST(NormalizedCoordinates, AreCutTo21FractionBits) {
  for (const auto& row : kNormalized) {
    TextureConfig texture;
    texture.shape = Shape::Line;
    texture.width = row.width;
    texture.address_x = row.mode;
    texture.filter = row.filter;
    texture.normalized_coordinates = true;
    EXPECT_EQ(read(texture, {.at = {row.at}}), row.expected) << row.width << " at " << row.at;
  }
}

TEST(NormalizedCoordinates, WithoutAFractionRepeatAsZero) {
  TextureConfig texture;
  texture.shape = Shape::Line;
  texture.width = 9;
  texture.normalized_coordinates = true;
  for (const Address mode : {Address::Wrap, Address::Mirror}) {
    texture.address_x = mode;
    for (const double at : {1e30, -1e30, HUGE_VAL, -HUGE_VAL}) {
      EXPECT_EQ(read(texture, {.at = {at}}), 0);
    }
    EXPECT_EQ(read(texture, {.at = {-2.25}}), mode == Address::Wrap ? 6 * 256 : 2 * 256);
  }
}

constexpr struct {
  std::array<uint32_t, 3> at;  ///< 256ths from the first texel to the second: x, y, z.
  std::array<uint32_t, 8> expected;
} kVolumeShares[] = {
    // clang-format off
    {{193, 17, 210}, {10, 33, 1, 2, 49, 148, 3, 10}},
    {{128, 177, 99}, {24, 24, 54, 55, 15, 15, 34, 35}},
    {{144, 18, 72}, {74, 97, 6, 7, 29, 38, 2, 3}},
    {{154, 88, 200}, {14, 22, 8, 12, 53, 79, 27, 41}},
    {{18, 96, 140}, {68, 5, 40, 3, 81, 6, 49, 4}},
    {{151, 4, 54}, {82, 117, 1, 2, 22, 31, 0, 1}},
    // clang-format on
};

TEST(SharesOfTexels, AreRoundedTo256thsAlongZThenXThenY) {
  for (const auto& row : kVolumeShares) {
    TextureConfig texture;
    texture.shape = Shape::Volume;
    texture.width = texture.height = texture.depth = 2;
    texture.filter = Filter::Linear;
    TexturePoint point;
    for (size_t i = 0; i < 3; ++i) point.at[i] = 0.5 + row.at[i] / 256.0;
    const TexelShares shares = texels_at(texture, point);
    std::array<uint32_t, 8> made{};
    for (uint32_t i = 0; i < shares.count; ++i) {
      const TexelShare& one = shares.of[i];
      made[static_cast<size_t>(one.x + 2 * one.y + 4 * one.slice)] = one.share;
    }
    EXPECT_EQ(made, row.expected);
  }
}

std::vector<uint32_t> stored(const std::vector<float>& values) {
  std::vector<uint32_t> made;
  for (const float value : values) made.push_back(std::bit_cast<uint32_t>(value));
  return made;
}

TEST(Blending, RoundsAsTheFormatDoes) {
  const struct {
    TextureConfig format;
    std::vector<uint32_t> stored, shares;
    uint32_t expected;
  } kRows[] = {
      {kFloat,
       stored({-0x1.8d9fp-3f, -0x1.3d7514p+1f, 0x1.99709cp+1f, 0x1.81d0fcp+10f}),
       {105, 140, 5, 6},
       0x420b2fee},
      {kFloat,
       stored({0x1.7929cp+1f, -0x1.08b5b4p+1f, -0x1.39cf04p+1f, 0x1.cfdc1cp+1f}),
       {96, 108, 25, 27},
       0x3ec027ff},
      {kFloat,
       stored({0x1.719f98p+10f, -0x1.5bfd58p+1f, 0x1.be8f4cp+1f, 0x1.c2e89cp+1f}),
       {5, 10, 76, 165},
       0x42004eb3},
      {kFloat,
       stored({-0x1.4485p-3f, -0x1.8f5d0cp+1f, 0x1.3b8532p+8f, -0x1.7ade04p+1f, -0x1.01b248p+0f,
               -0x1.9e03ccp+1f, -0x1.0570dp+0f, 0x1.250bb8p+1f}),
       {49, 148, 11, 33, 3, 9, 1, 2},
       0x4133af21},
      {kFloat,
       stored({0x1.55a9d4p+1f, -0x1.8c0df8p+1f, 0x1.3fe50cp+1f, -0x1.5d862p-1f, 0x1.c73a5p+0f,
               0x1.cd0618p+0f, 0x1.f79666p+9f, -0x1.d2a2f8p+1f}),
       {18, 8, 1, 1, 148, 65, 10, 5},
       0x42236b77},
      {kFloat,
       stored({-0x1.789f94p+1f, 0x1.bb99ep-2f, -0x1.cd9a4ap+11f, -0x1.c55c0cp+1f, -0x1.68e2bp+1f,
               0x1.45659cp+1f, 0x1.bb02fp+11f, 0x1.b3df74p+1f}),
       {70, 111, 19, 30, 8, 13, 2, 3},
       0xc37756db},
      {kHalf,
       stored({0x1.818p-5f, 0x1.6cp-2f, -0x1.a28p+0f, 0x1.42p-10f}),
       {165, 89, 1, 1},
       0x3e172000},
      {kHalf,
       stored({-0x1.f2cp-2f, -0x1.ap-1f, 0x1.5fp-11f, -0x1.da8p-12f}),
       {36, 119, 24, 77},
       0xbee48000},
      {kHalf,
       stored({0x1.8b4p+0f, 0x1.368p-1f, 0x1.b74p-9f, -0x1.018p-7f}),
       {77, 45, 85, 49},
       0x3f122000},
      {kHalf,
       stored({-0x1.f3p-10f, 0x1.474p-13f, -0x1.f58p-10f, -0x1.3a8p-11f, -0x1.3ap-14f, 0x1.d58p-10f,
               0x1.a8p-10f, 0x1.a18p-7f}),
       {25, 26, 21, 21, 44, 45, 37, 37},
       0x3b032000},
      {kHalf,
       stored({-0x1.774p-12f, -0x1.8d4p-14f, -0x1.318p-7f, -0x1.97p-2f, 0x1.0ecp-8f, 0x1.868p-14f,
               0x1.56p-9f, 0x1.cp-8f}),
       {11, 35, 3, 9, 37, 122, 9, 30},
       0xbc4e0000},
      {kUnsigned16, {36428, 32892, 13744, 60932}, {40, 39, 88, 89}, 0x3f0f038f},
      {kUnsigned16, {15110, 38563, 21884, 12196}, {66, 139, 16, 35}, 0x3ed9bada},
      {kUnsigned8, {113, 225, 176, 124}, {69, 83, 48, 56}, 0x3f242ca4},
      {kUnsigned8, {225, 96, 124, 128}, {153, 2, 99, 2}, 0x3f38e5b9},
      {kSigned16,
       {4476, static_cast<uint32_t>(-12438), static_cast<uint32_t>(-7329), 28655},
       {113, 126, 8, 9},
       0xbdd281a5},
      {kSigned16,
       {27426, 20258, 27288, static_cast<uint32_t>(-29892)},
       {55, 163, 9, 29},
       0x3effb1ff},
      {kSigned16,
       {static_cast<uint32_t>(-12705), 4476, 19950, static_cast<uint32_t>(-7329)},
       {102, 79, 42, 33},
       0xbd292152},
  };
  for (const auto& row : kRows) {
    TexelShares shares;
    shares.are_blended = true;
    for (const uint32_t share : row.shares) {
      shares.of[shares.count] = {0, 0, 0, share, 0, shares.count / 4};
      ++shares.count;
    }
    EXPECT_EQ(blended_channel(row.format, shares, row.stored), row.expected);
  }
}

TEST(Blending, OfAnInfiniteTexelIsInfiniteOnlyWhereItHasAWeight) {
  TextureConfig texture;
  texture.shape = Shape::Line;
  texture.width = 2;
  texture.filter = Filter::Linear;
  EXPECT_EQ(texels_at(texture, {.at = {0.5}}).count, 1u);
  const TexelShares shares = texels_at(texture, {.at = {1.0}});
  ASSERT_EQ(shares.count, 2u);
  const uint32_t value = blended_channel(texture, shares, stored({1, HUGE_VALF}));
  EXPECT_EQ(std::bit_cast<float>(value), HUGE_VALF);
}

TEST(Borders, TakeHalfOfALineBecauseItsOnlyRowIsAtTheEdge) {
  TextureConfig texture;
  texture.shape = Shape::Line;
  texture.width = 4;
  texture.filter = Filter::Linear;
  texture.address_x = texture.address_y = Address::Border;
  EXPECT_EQ(read(texture, {.at = {2.5}}), 256.0f);
  texture.address_y = Address::Clamp;
  EXPECT_EQ(read(texture, {.at = {2.5}}), 512.0f);
  texture.address_y = Address::Border;
  texture.is_layered = true;
  EXPECT_EQ(read(texture, {.at = {2.5}}), 512.0f);
}

TEST(Cubes, TakeZBeforeYBeforeXAndTheRoundedReciprocalOfTheLongestAxis) {
  TextureConfig texture;
  texture.shape = Shape::Cube;
  texture.width = texture.height = 4;
  texture.depth = kCubeFaces;
  texture.filter = Filter::Linear;
  texture.normalized_coordinates = true;
  const auto face = [&](double x, double y, double z) {
    return texels_at(texture, {.at = {x, y, z}}).of[0].slice;
  };
  EXPECT_EQ(face(1, 1, 1), 4);
  EXPECT_EQ(face(1, -1, -0.5), 3);
  EXPECT_EQ(face(-0.0, 0, -0.0), 4);
  EXPECT_EQ(face(-1, 0.5, 0.25), 1);
  // An exact quotient would give 710.
  EXPECT_EQ(read(texture, {.at = {0x1.e9bffep-2, -0.75, 0x1.28f58ap-2}}), 711.0f);
}

TEST(LevelsOfDetail, AreCutTo256thsLikeTheirBiasAndLimits) {
  TextureConfig texture;
  texture.width = texture.height = 64;
  for (uint32_t size = 32; size != 0; size /= 2) {
    TexelGrid& level = texture.smaller.emplace_back();
    level.width = level.height = size;
  }
  texture.normalized_coordinates = true;
  texture.level_max = 6;
  texture.level_filter = Filter::Linear;
  const auto second = [&](double level) {
    const TexelShares shares = texels_at(texture, {.at = {0.3, 0.3}, .level = level});
    const TexelShare& last = shares.of[shares.count - 1];
    return last.level * 256 - (shares.count == 1 ? 0 : 256 - last.share);
  };
  EXPECT_EQ(second(2.4863290786743164), 636u);
  texture.level_bias = 0.37f;
  EXPECT_EQ(second(3.8300771713256836), 1074u);
  EXPECT_EQ(second(-0.10499298572540283), 68u);
  texture.level_bias = 0;
  texture.level_min = 1.3f;
  texture.level_max = 4.6f;
  EXPECT_EQ(second(0), 332u);
  EXPECT_EQ(second(6), 1177u);
  texture.level_filter = Filter::Point;
  EXPECT_EQ(second(2.4999), 2 * 256u);
}

}  // namespace
}  // namespace gpuemu::emulator
