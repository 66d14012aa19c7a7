// Tests textures that CUDA makes of arrays alone and the emulator of plain memory: lines, volumes,
// layers and cubes.
#include <cmath>
#include <cstdint>

#include "runtime/device/texture.h"
#include "tests/conformance/fixture.h"

namespace gpuemu {
namespace {

using Address = TextureConfig::Address;
using Filter = TextureConfig::Filter;
using Shape = TextureConfig::Shape;

struct Point {
  uint32_t layer;
  float x, y, z;
};

/// One thread per point writes the four channels that `fetch` reads to %f0 ... %f3. `fetch` uses
/// the object %t, the layer %l and the coordinates %x, %y and %z.
std::string kernel_of(const std::string& fetch) {
  return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pt, .param .u64 pc, .param .u64 po, .param .u32 n) {
  .reg .b64 %t, %c, %o; .reg .b32 %i, %n, %l, %x, %y, %z, %f<4>; .reg .pred %p, %q;
  mov.u32 %i, %tid.x; ld.param.u32 %n, [n]; setp.ge.u32 %p, %i, %n; @%p ret;
  ld.param.u64 %t, [pt]; ld.param.u64 %c, [pc]; ld.param.u64 %o, [po];
  mad.wide.u32 %c, %i, 16, %c; ld.global.v4.b32 {%l, %x, %y, %z}, [%c];
  )" + fetch +
         "\n mad.wide.u32 %o, %i, 16, %o; st.global.v4.b32 [%o], {%f0, %f1, %f2, %f3}; ret; }\n";
}
std::string fetch(const std::string& form, const std::string& at, const std::string& behind = "") {
  return kernel_of(form + " {%f0, %f1, %f2, %f3}, [%t, {" + at + "}]" + behind + ";");
}

class TextureShapes : public Conformance {
 protected:
  /// Texels of one float channel: texel (x, y, slice) is x + 10 y + 100 slice.
  TextureConfig numbered(Shape shape, uint32_t width, uint32_t height, uint32_t depth) {
    constexpr uint64_t kPitch = 64;
    std::vector<float> texels(kPitch / sizeof(float) * height * depth);
    for (uint32_t z = 0; z < depth; ++z) {
      for (uint32_t y = 0; y < height; ++y) {
        for (uint32_t x = 0; x < width; ++x) {
          texels[(size_t{z} * height + y) * kPitch / sizeof(float) + x] =
              static_cast<float>(x + 10 * y + 100 * z);
        }
      }
    }
    TextureConfig config;
    config.address = upload(texels, "texels");
    config.shape = shape;
    config.width = width;
    config.height = height;
    config.depth = depth;
    config.pitch_bytes = kPitch;
    config.slice_bytes = kPitch * height;
    return config;
  }
  LaunchReport launch(const std::string& ptx, uint64_t texture, const std::vector<Point>& at,
                      uint64_t out) {
    LaunchConfig launch;
    launch.entry = "k";
    launch.block = {64, 1, 1};
    launch.args = {bytes_of(texture), bytes_of(upload(at, "at")), bytes_of(out),
                   bytes_of(static_cast<uint32_t>(at.size()))};
    const auto report = device_->launch(load(ptx), launch);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : LaunchReport();
  }
  /// Returns the four channels of every point.
  std::vector<float> read(const std::string& ptx, const TextureConfig& config,
                          const std::vector<Point>& at) {
    const auto texture = device_->make_texture(config);
    EXPECT_TRUE(texture) << texture.error().message;
    if (!texture) return std::vector<float>(at.size() * 4);
    const uint64_t out = upload(std::vector<float>(at.size() * 4), "out");
    for (const DeviceFinding& finding : launch(ptx, *texture, at, out).findings) {
      ADD_FAILURE() << finding.message;
    }
    EXPECT_TRUE(device_->free_texture(*texture).ok());
    return download<float>(out, at.size() * 4);
  }
  void expect_points(const std::string& ptx, const TextureConfig& config,
                     const std::vector<Point>& at, const std::vector<float>& expected,
                     float within = 0) {
    const std::vector<float> got = read(ptx, config, at);
    ASSERT_EQ(at.size(), expected.size());
    for (size_t i = 0; i < at.size(); ++i) {
      EXPECT_NEAR(got[4 * i], expected[i], within) << "layer " << at[i].layer << " (" << at[i].x
                                                   << ", " << at[i].y << ", " << at[i].z << ")";
    }
  }
};

const std::string kVolume = fetch("tex.3d.v4.f32.f32", "%x, %y, %z, %z");

TEST_P(TextureShapes, AVolumeIsReadAtTheTexelBelowTheCoordinate) {
  const TextureConfig config = numbered(Shape::Volume, 5, 4, 3);
  expect_points(kVolume, config,
                {{0, 0, 0, 0},
                 {0, 4.99f, 3.5f, 2.25f},
                 {0, 1, 2, 1},
                 {0, -8, 99, 1.5f},
                 {0, 2, 1, -1},
                 {0, 2, 1, 3}},
                {0, 234, 121, 130, 12, 212});
}

TEST_P(TextureShapes, AVolumeHasAnAddressModeForEachDimension) {
  TextureConfig config = numbered(Shape::Volume, 4, 4, 2);
  config.normalized_coordinates = true;
  config.address_x = Address::Wrap;
  config.address_y = Address::Mirror;
  config.address_z = Address::Border;
  const auto at = [](int x, int y, int z) {
    return Point{0, (static_cast<float>(x) + 0.5f) / 4, (static_cast<float>(y) + 0.5f) / 4,
                 (static_cast<float>(z) + 0.5f) / 2};
  };
  expect_points(kVolume, config,
                {at(5, 0, 0), at(-1, 0, 1), at(0, 4, 0), at(0, -2, 1), at(1, 1, 2), at(1, 1, -1),
                 at(3, 3, 1)},
                {1, 103, 30, 110, 0, 0, 133});
}

TEST_P(TextureShapes, AVolumeBlendsEightNeighboursInSharesOf256ths) {
  TextureConfig config = numbered(Shape::Volume, 5, 4, 3);
  config.filter = Filter::Linear;
  // The texels are linear in each coordinate, and so are values between them.
  const auto between = [](float x, float y, float z) {
    return x - 0.5f + 10 * (y - 0.5f) + 100 * (z - 0.5f);
  };
  std::vector<Point> at;
  std::vector<float> expected;
  for (int i = 0; i < 40; ++i) {
    const float x = 0.5f + static_cast<float>(i * 23 % 1024) / 256;
    const float y = 0.5f + static_cast<float>(i * 41 % 768) / 256;
    const float z = 0.5f + static_cast<float>(i * 97 % 512) / 256;
    at.push_back({0, x, y, z});
    expected.push_back(between(x, y, z));
  }
  // Weights are rounded to 256ths, which moves up to one between two rows.
  expect_points(kVolume, config, at, expected, 11.0f / 256);
  // A coordinate is rounded to the nearest 256th.
  expect_points(kVolume, config, {{0, 0.5f, 0.5f, 1 + 0.4f / 256}, {0, 0.5f, 0.5f, 1 + 0.6f / 256}},
                {50, 50 + 100.0f / 256});
}

TEST_P(TextureShapes, ABorderIsBlendedAsZero) {
  TextureConfig config = numbered(Shape::Volume, 4, 4, 2);
  config.filter = Filter::Linear;
  config.address_x = config.address_y = config.address_z = Address::Border;
  expect_points(kVolume, config,
                {{0, 2.5f, 1.5f, 2}, {0, 4, 1.5f, 1.5f}, {0, 4, 4, 2}, {0, 2.5f, 1.5f, -1}},
                {112.0f / 2, 113.0f / 2, 133.0f / 8, 0});
}

TEST_P(TextureShapes, LayersOfPlanesAreChosenByNumberAndNotFiltered) {
  TextureConfig config = numbered(Shape::Plane, 5, 4, 3);
  config.is_layered = true;
  config.filter = Filter::Linear;
  expect_points(fetch("tex.a2d.v4.f32.f32", "%l, %x, %y, %y"), config,
                {{0, 1.5f, 1.5f, 0},
                 {1, 2, 1.5f, 0},
                 {2, 0.5f, 3.25f, 0},
                 {3, 0.5f, 0.5f, 0},
                 {~0u, 0.5f, 0.5f, 0}},
                {11, 111.5f, 227.5f, 200, 200});
}

TEST_P(TextureShapes, LayersOfLinesAreChosenByNumber) {
  TextureConfig config = numbered(Shape::Line, 5, 1, 4);
  config.is_layered = true;
  expect_points(fetch("tex.a1d.v4.f32.f32", "%l, %x"), config,
                {{0, 4.5f, 0, 0}, {3, 0, 0, 0}, {2, 1.99f, 0, 0}, {9, 1, 0, 0}},
                {4, 300, 201, 301});
}

TEST_P(TextureShapes, LevelsAndGradientsOfATextureWithOneLevelChangeNothing) {
  const TextureConfig config = numbered(Shape::Volume, 5, 4, 3);
  const std::vector<Point> at = {{0, 3, 2, 1}, {0, 1, 1, 2}};
  const std::vector<float> expected = {123, 211};
  expect_points(fetch("tex.level.3d.v4.f32.f32", "%x, %y, %z, %z", ", %z"), config, at, expected);
  expect_points(
      fetch("tex.grad.3d.v4.f32.f32", "%x, %y, %z, %z", ", {%x, %x, %x, %x}, {%y, %y, %y, %y}"),
      config, at, expected);
}

TEST_P(TextureShapes, EveryTexelIsResident) {
  const TextureConfig config = numbered(Shape::Volume, 5, 4, 3);
  expect_points(kernel_of("tex.3d.v4.f32.f32 {%f0, _, _, _}|%q, [%t, {%x, %y, %z, %z}]; "
                          "selp.b32 %f1, 1, 0, %q; mov.b32 %f2, 0; mov.b32 %f3, 0; "
                          "@!%q mov.b32 %f0, 0;"),
                config, {{0, 3, 2, 1}}, {123});
}

/// A texel of a face is its number times 100 + x + 10 y; y grows with t, x with s.
TEST_P(TextureShapes, ADirectionSelectsTheFaceOfACubeAndThePlaceOnIt) {
  const TextureConfig config = numbered(Shape::Cube, 4, 4, 6);
  // The programming guide's table: s and t of +x are -z/m and -y/m, and so on.
  const std::vector<Point> at = {{0, 1, 0.9f, 0.9f},   {0, 1, -0.9f, 0.9f},  {0, 2, 1.8f, -1.8f},
                                 {0, -1, 0.9f, 0.9f},  {0, -1, 0.9f, -0.9f}, {0, 0.9f, 1, 0.9f},
                                 {0, -0.9f, 1, -0.9f}, {0, 0.9f, -1, 0.9f},  {0, -0.9f, -1, 0.9f},
                                 {0, 0.9f, 0.9f, 1},   {0, -0.9f, -0.9f, 1}, {0, 0.9f, 0.9f, -1},
                                 {0, -0.9f, 0.9f, -1}, {0, -0.1f, 0.4f, -1}, {0, 8, 1, -3}};
  const std::vector<float> expected = {0,   30,  3,   103, 100, 233, 200, 303,
                                       300, 403, 430, 500, 503, 512, 12};
  expect_points(fetch("tex.cube.v4.f32.f32", "%x, %y, %z, %z"), config, at, expected);
  TextureConfig layered = numbered(Shape::Cube, 4, 4, 18);
  layered.is_layered = true;
  std::vector<Point> second = at;
  std::vector<float> of_second = expected;
  for (size_t i = 0; i < at.size(); ++i) {
    second[i].layer = i % 2 == 0 ? 1 : 77;
    of_second[i] += i % 2 == 0 ? 600.0f : 1200.0f;
  }
  expect_points(fetch("tex.acube.v4.f32.f32", "%l, %x, %y, %z"), layered, second, of_second);
}

TEST_P(TextureShapes, AFaceIsFilteredUpToItsEdge) {
  TextureConfig config = numbered(Shape::Cube, 4, 4, 6);
  config.filter = Filter::Linear;
  config.normalized_coordinates = true;
  // The middle of +x is between four texels; at its edge two texels of +x are blended.
  expect_points(fetch("tex.cube.v4.f32.f32", "%x, %y, %z, %z"), config,
                {{0, 1, 0, 0}, {0, 1, 0, -0.999f}, {0, -4, 0, 0}}, {16.5f, 18, 116.5f});
}

/// The order is that of the ISA: from the lower left texel on, counter-clockwise.
TEST_P(TextureShapes, AGatherTakesTheTexelsThatAFilterWouldBlend) {
  const std::string gather = fetch("tld4.r.2d.v4.f32.f32", "%x, %y");
  TextureConfig config = numbered(Shape::Plane, 5, 4, 1);
  const std::vector<Point> at = {{0, 2, 2, 0}, {0, 3.75f, 1.25f, 0}, {0, 0, 0, 0}, {0, 9, 2, 0}};
  EXPECT_EQ(read(gather, config, at),
            (std::vector<float>{21, 22, 12, 11, 13, 14, 4, 3, 0, 0, 0, 0, 24, 24, 14, 14}));
  config.address_x = config.address_y = Address::Border;
  EXPECT_EQ(read(gather, config, {{0, 0, 0, 0}}), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(read(gather, config, {{0, 5, 4, 0}}), (std::vector<float>{0, 0, 0, 34}));
  // A channel that the texture lacks is zero.
  EXPECT_EQ(read(fetch("tld4.a.2d.v4.f32.f32", "%x, %y"), config, {{0, 2, 2, 0}}),
            (std::vector<float>{0, 0, 0, 0}));
  TextureConfig layers = numbered(Shape::Plane, 5, 4, 3);
  layers.is_layered = true;
  EXPECT_EQ(read(fetch("tld4.r.a2d.v4.f32.f32", "%l, %x, %y, %y"), layers, {{2, 2, 2, 0}}),
            (std::vector<float>{221, 222, 212, 211}));
}

/// The levels 1 and 2 of this plane hold 100 and 200 with x added.
TEST_P(TextureShapes, LevelsAreChosenAndBlended) {
  TextureConfig config = numbered(Shape::Plane, 8, 4, 1);
  for (uint32_t i = 1; i < 3; ++i) {
    std::vector<float> texels(64);
    for (uint32_t x = 0; x < 64; ++x) texels[x] = static_cast<float>(100 * i + x % 16);
    TexelGrid level;
    level.address = upload(texels, "level");
    level.width = 8 >> i;
    level.height = 4 >> i;
    level.pitch_bytes = 64;
    config.smaller.push_back(level);
  }
  config.normalized_coordinates = true;
  config.level_max = 2;
  const std::string lod = fetch("tex.level.2d.v4.f32.f32", "%x, %y", ", %z");
  const std::vector<Point> at = {{0, 0, 0, 0}, {0, 0, 0, 1},     {0, 0.6f, 0, 1}, {0, 0.99f, 0, 2},
                                 {0, 0, 0, 9}, {0, 0, 0, 0.49f}, {0, 0, 0, 0.5f}, {0, 0, 0, -3}};
  expect_points(lod, config, at, {0, 100, 102, 201, 200, 0, 100, 0});
  config.level_filter = Filter::Linear;
  expect_points(lod, config, {{0, 0, 0, 0.25f}, {0, 0, 0, 1.5f}, {0, 0.99f, 0, 1}}, {25, 150, 103});
  config.level_bias = 0.5f;
  config.level_max = 1.25f;
  expect_points(lod, config, {{0, 0, 0, 0.25f}, {0, 0, 0, 1.5f}}, {75, 125});
  config.level_bias = 0;
  // Steps of two texels choose level 1.
  expect_points(fetch("tex.grad.2d.v4.f32.f32", "%x, %y", ", {%z, %z}, {%z, %z}"), config,
                {{0, 0, 0, 0.5f / std::sqrt(5.0f)}}, {100});
}

TEST_P(TextureShapes, AnInstructionOfAnotherGeometryIsFound) {
  TextureConfig config = numbered(Shape::Plane, 4, 4, 2);
  config.is_layered = true;
  const auto texture = device_->make_texture(config);
  ASSERT_TRUE(texture) << texture.error().message;
  const uint64_t out = upload(std::vector<float>(4), "out");
  const LaunchReport report = launch(kVolume, *texture, {{0, 0, 0, 0}}, out);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "invalid_texture");
  EXPECT_NE(report.findings[0].message.find("geometry .a2d by a .3d instruction"),
            std::string::npos)
      << report.findings[0].message;
}

TEST_P(TextureShapes, ThatNoDriverTakesAreRefused) {
  const TextureConfig volume = numbered(Shape::Volume, 4, 4, 6);
  std::vector<TextureConfig> wrong(6, volume);
  wrong[0].slice_bytes = 4 * 64 - 32;
  wrong[1].depth = 0;
  wrong[2].is_layered = true;
  wrong[3].shape = Shape::Cube;
  wrong[3].height = 3;
  wrong[4].shape = Shape::Cube;
  wrong[4].depth = 5;
  wrong[5].depth = 7;
  for (size_t i = 0; i < wrong.size(); ++i) {
    const auto made = device_->make_texture(wrong[i]);
    ASSERT_FALSE(made) << i;
    EXPECT_EQ(made.error().code, ErrorCode::InvalidArgument) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Emulator, TextureShapes, testing::Values("emulator"));

}  // namespace
}  // namespace gpuemu
