// Tests textures over plain memory on every backend that supports them.
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/device/texture.h"
#include "tests/conformance/fixture.h"

namespace gpuemu {
namespace {

using Address = TextureConfig::Address;
using Filter = TextureConfig::Filter;
using Shape = TextureConfig::Shape;
using Texel = TextureConfig::Texel;

constexpr uint32_t kWidth = 5, kHeight = 3;
constexpr uint64_t kPitch = 64;

/// One thread per pair of coordinates writes the four channels that `fetch` reads to %f0 ... %f3.
std::string kernel_of(const std::string& fetch, const std::string& type) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 pt, .param "
         ".u64 pc, .param .u64 po, .param .u32 n) {\n .reg .b64 %t, %c, %o; .reg .b32 %i, %n, %x, "
         "%y; .reg .pred %p; .reg ." +
         type +
         " %f<4>;\n mov.u32 %i, %tid.x; ld.param.u32 %n, [n]; setp.ge.u32 %p, %i, %n; @%p ret;"
         "\n ld.param.u64 %t, [pt]; ld.param.u64 %c, [pc]; ld.param.u64 %o, [po];\n mad.wide.u32 "
         "%c, %i, 8, %c; ld.global.v2.b32 {%x, %y}, [%c];\n " +
         fetch + "\n mad.wide.u32 %o, %i, 16, %o; st.global.v4." + type +
         " [%o], {%f0, %f1, %f2, %f3}; ret; }\n";
}
const std::string kPlane =
    kernel_of("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, {%x, %y}];", "f32");

struct Point {
  float x, y;
};

class Textures : public Conformance {
 protected:
  /// A plane of `texels`, kWidth to a row.
  template <typename T>
  TextureConfig plane(const std::vector<T>& texels, uint32_t channels = 1) {
    std::vector<std::byte> rows(kPitch * kHeight);
    const size_t row_bytes = kWidth * channels * sizeof(T);
    for (size_t y = 0; y < kHeight; ++y) {
      std::memcpy(&rows[y * kPitch], &texels[y * kWidth * channels], row_bytes);
    }
    TextureConfig config;
    config.address = upload(rows, "texels");
    config.width = kWidth;
    config.height = kHeight;
    config.pitch_bytes = kPitch;
    config.bits = 8 * sizeof(T);
    config.channels = channels;
    return config;
  }
  /// The first channel of texel (x, y) is 10 y + x.
  TextureConfig numbered() {
    std::vector<float> texels;
    for (uint32_t i = 0; i < kWidth * kHeight; ++i) {
      texels.push_back(static_cast<float>(10 * (i / kWidth) + i % kWidth));
    }
    return plane(texels);
  }
  /// Four channels for every pair.
  template <typename Pair, typename Out = float>
  std::vector<Out> read(const std::string& ptx, const TextureConfig& config,
                        const std::vector<Pair>& at) {
    const auto texture = device_->make_texture(config);
    EXPECT_TRUE(texture) << texture.error().message;
    if (!texture) return std::vector<Out>(at.size() * 4);
    const uint64_t out = upload(std::vector<Out>(at.size() * 4), "out");
    LaunchConfig launch;
    launch.entry = "k";
    launch.block = {64, 1, 1};
    launch.args = {bytes_of(*texture), bytes_of(upload(at, "at")), bytes_of(out),
                   bytes_of(static_cast<uint32_t>(at.size()))};
    const auto report = device_->launch(load(ptx), launch);
    EXPECT_TRUE(report) << report.error().message;
    if (report) {
      for (const DeviceFinding& finding : report->findings) {
        ADD_FAILURE() << finding.message;
      }
    }
    EXPECT_TRUE(device_->free_texture(*texture).ok());
    return download<Out>(out, at.size() * 4);
  }
  void expect_points(const TextureConfig& config, const std::vector<Point>& at,
                     const std::vector<float>& expected) {
    const std::vector<float> got = read(kPlane, config, at);
    for (size_t i = 0; i < at.size(); ++i) {
      EXPECT_EQ(got[4 * i], expected[i]) << "at (" << at[i].x << ", " << at[i].y << ")";
    }
  }
};

TEST_P(Textures, AreReadAtTheTexelBelowTheCoordinate) {
  expect_points(numbered(), {{0, 0}, {0.99f, 0}, {1, 0}, {4.5f, 2.5f}, {3.25f, 1.75f}},
                {0, 0, 1, 24, 13});
}

TEST_P(Textures, RepeatTheirEdgeBeyondIt) {
  expect_points(numbered(),
                {{-0.25f, 0}, {-100, -100}, {5, 1}, {1e9f, 1}, {2, 77}, {-3e38f, 3e38f}},
                {0, 0, 14, 14, 22, 20});
}

TEST_P(Textures, AreZeroBeyondABorder) {
  TextureConfig config = numbered();
  config.address_x = config.address_y = Address::Border;
  expect_points(config, {{1, 1}, {-0.25f, 1}, {5, 1}, {4.75f, 2.75f}, {1, 3}, {1, -1}},
                {11, 0, 0, 24, 0, 0});
}

TEST_P(Textures, WrapAndMirrorNormalizedCoordinates) {
  TextureConfig config = numbered();
  config.normalized_coordinates = true;
  config.address_x = Address::Wrap;
  config.address_y = Address::Mirror;
  const auto at = [](int x, int y) {
    return Point{(static_cast<float>(x) + 0.5f) / kWidth, (static_cast<float>(y) + 0.5f) / kHeight};
  };
  expect_points(
      config,
      {at(0, 0), at(4, 2), at(5, 0), at(-1, 1), at(12, 0), at(0, 3), at(0, 5), at(0, -1), at(1, 6)},
      {0, 24, 0, 14, 2, 20, 0, 0, 1});
}

TEST_P(Textures, BlendNeighboursInSharesOf256ths) {
  TextureConfig config =
      plane(std::vector<float>{0, 256, 1024, 256, 0, 512, 512, 512, 512, 512, 0, 0, 0, 0, 0});
  config.filter = Filter::Linear;
  expect_points(config,
                {{0.5f, 0.5f},
                 {1, 0.5f},
                 {0.75f, 0.5f},
                 {1.5f, 0.5f},
                 {1.5f + 3.0f / 256, 0.5f},
                 {0.5f, 1},
                 {0.5f, 1.25f},
                 {-7, 0.5f},
                 {4.75f, 9}},
                {0, 128, 64, 256, 265, 256, 384, 0, 0});
}

TEST_P(Textures, BlendFourNeighboursWithinAShare) {
  TextureConfig config = numbered();
  config.filter = Filter::Linear;
  std::vector<Point> at;
  for (int i = 0; i < 40; ++i) {
    at.push_back({0.6f + 0.0937f * static_cast<float>(i), 0.7f + 0.0411f * static_cast<float>(i)});
  }
  const std::vector<float> got = read(kPlane, config, at);
  // The texels are linear in x and y, and so are interpolated values.
  for (size_t i = 0; i < at.size(); ++i) {
    EXPECT_NEAR(got[4 * i], (at[i].x - 0.5f) + 10 * (at[i].y - 0.5f), 11.0f / 256)
        << "at (" << at[i].x << ", " << at[i].y << ")";
  }
}

TEST_P(Textures, HaveChannels) {
  std::vector<float> texels;
  for (uint32_t i = 0; i < 2 * kWidth * kHeight; ++i) texels.push_back(static_cast<float>(i));
  const std::vector<float> got = read(kPlane, plane(texels, 2), std::vector<Point>{{3, 2}, {0, 1}});
  EXPECT_EQ(got[0], 26.0f);
  EXPECT_EQ(got[1], 27.0f);
  EXPECT_EQ(got[4], 10.0f);
  EXPECT_EQ(got[5], 11.0f);
}

TEST_P(Textures, KeepHalves) {
  const std::vector<uint16_t> halves = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x7bff,
                                        0x0001, 0x03ff, 0x7c00, 0xfc00, 0x3555,
                                        0,      0,      0,      0,      0};
  TextureConfig config = plane(halves);
  expect_points(config, {{2, 0}, {3, 0}, {4, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}},
                {1, -1, 65504, 0x1p-24f, 1023 * 0x1p-24f, INFINITY, -INFINITY, 0x1.554p-2f});
}

TEST_P(Textures, MakeFloatsOfSmallIntegers) {
  TextureConfig config =
      plane(std::vector<uint8_t>{0, 255, 51, 128, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  config.texel = Texel::Unsigned;
  config.normalized_values = true;
  const std::vector<float> got =
      read(kPlane, config, std::vector<Point>{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}});
  const std::vector<float> expected = {0, 1, 51.0f / 255, 128.0f / 255, 1.0f / 255};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[4 * i], expected[i], expected[i] * 0x1p-22f) << i;
  }
  config = plane(std::vector<int16_t>{0, 32767, -32767, -32768, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  config.texel = Texel::Signed;
  config.normalized_values = true;
  expect_points(config, {{0, 0}, {1, 0}, {2, 0}, {3, 0}}, {0, 1, -1, -1});
}

TEST_P(Textures, OfOneRowAreReadByIndex) {
  const std::string fetch = kernel_of("tex.1d.v4.s32.s32 {%f0, %f1, %f2, %f3}, [%t, {%x}];", "b32");
  TextureConfig config;
  config.shape = Shape::Row;
  config.address = upload(std::vector<int8_t>{1, -2, 127, -128, 5, 6, 7, 8}, "texels");
  config.width = 4;
  config.texel = Texel::Signed;
  config.bits = 8;
  config.channels = 2;
  struct Index {
    int32_t x, unused;
  };
  const std::vector<Index> at = {{0, 0}, {1, 0}, {3, 0}, {4, 0}, {-1, 0}};
  const auto got = read<Index, int32_t>(fetch, config, at);
  const std::vector<std::pair<int, int>> expected = {{1, -2}, {127, -128}, {7, 8}, {0, 0}, {0, 0}};
  for (size_t i = 0; i < at.size(); ++i) {
    EXPECT_EQ(got[4 * i], expected[i].first) << i;
    EXPECT_EQ(got[4 * i + 1], expected[i].second) << i;
  }
}

TEST_P(Textures, OfALineAreFiltered) {
  if (!is_emulator()) {
    GTEST_SKIP() << "CUDA filters arrays only; the emulator filters linear memory too";
  }
  const std::string ptx = kernel_of("tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, {%x}];", "f32");
  TextureConfig config;
  config.address = upload(std::vector<float>{0, 10, 20, 30}, "texels");
  config.width = 4;
  config.shape = Shape::Line;
  config.filter = Filter::Linear;
  const std::vector<Point> at = {{0.5f, 0}, {1, 7}, {1.75f, -3}, {9, 0}, {-2, 0}};
  const auto got = read<Point, float>(ptx, config, at);
  const std::vector<float> expected = {0, 5, 12.5f, 30, 0};
  for (size_t i = 0; i < at.size(); ++i) EXPECT_EQ(got[4 * i], expected[i]) << i;
}

TEST_P(Textures, OfIntegersAreReadByIntegerCoordinates) {
  const std::string fetch = kernel_of(
      "tex.2d.v4.u32.s32 {%f0, _, _, _}, [%t, {%x, %y}]; mov.b32 %f1, 0; mov.b32 %f2, 0; "
      "mov.b32 %f3, 0;",
      "b32");
  std::vector<uint32_t> texels;
  for (uint32_t i = 0; i < kWidth * kHeight; ++i) texels.push_back(0xfffffff0u + i);
  TextureConfig config = plane(texels);
  config.texel = Texel::Unsigned;
  struct Index {
    int32_t x, y;
  };
  const auto got = read<Index, uint32_t>(fetch, config, {{0, 0}, {4, 2}, {9, 1}, {-4, -4}, {2, 1}});
  EXPECT_EQ(got[0], 0xfffffff0u);
  EXPECT_EQ(got[4], 0xfffffffeu);
  EXPECT_EQ(got[8], 0u) << "beyond the edge";
  EXPECT_EQ(got[12], 0u) << "before it";
  EXPECT_EQ(got[16], 0xfffffff7u);
}

TEST_P(Textures, ThatNoDriverTakesAreRefused) {
  const TextureConfig good = numbered();
  std::vector<TextureConfig> wrong(8, good);
  wrong[0].address += 32;
  wrong[1].pitch_bytes = 40;
  wrong[2].width = 0;
  wrong[3].channels = 3;
  wrong[4].address_x = Address::Wrap;
  wrong[5].pitch_bytes = 0;
  wrong[6].bits = 8;
  wrong[7].height = 1000;
  for (size_t i = 0; i < wrong.size(); ++i) {
    const auto made = device_->make_texture(wrong[i]);
    ASSERT_FALSE(made) << i;
    EXPECT_EQ(made.error().code, ErrorCode::InvalidArgument) << i;
  }
  EXPECT_EQ(device_->free_texture(12345).error().code, ErrorCode::InvalidArgument);
}

TEST_P(Textures, ThatAreNoneAreFoundByTheEmulator) {
  if (!is_emulator()) GTEST_SKIP() << "hardware gives no reliable answer";
  const uint64_t out = upload(std::vector<float>(4), "out");
  const uint64_t at = upload(std::vector<Point>{{0, 0}}, "at");
  LaunchConfig launch;
  launch.entry = "k";
  launch.args = {bytes_of(uint64_t{77}), bytes_of(at), bytes_of(out), bytes_of(uint32_t{1})};
  const auto report = device_->launch(load(kPlane), launch);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(name_of(report->findings[0].kind), "invalid_texture");
}

INSTANTIATE_TEST_SUITE_P(Emulator, Textures, testing::Values("emulator"));
INSTANTIATE_TEST_SUITE_P(Cuda, Textures, testing::Values("cuda"));

}  // namespace
}  // namespace gpuemu
