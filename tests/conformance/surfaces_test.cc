// Tests surface objects, which CUDA makes of arrays alone and the emulator of plain memory.
#include <cstdint>

#include "runtime/device/texture.h"
#include "tests/conformance/fixture.h"

namespace gpuemu {
namespace {

using Shape = TextureConfig::Shape;
constexpr uint32_t kPitch = 64;

struct Point {
  int32_t x, y, slice;
  uint32_t value;
};

/// One thread per point executes `body` with the object %t, the coordinates %x, %y and %l and the
/// value %v; what it leaves in %v and %w is written out.
std::string kernel_of(const std::string& body) {
  return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pt, .param .u64 pc, .param .u64 po, .param .u32 n) {
  .reg .b64 %t, %c, %o, %d; .reg .b32 %i, %n, %l, %x, %y, %v, %w; .reg .b16 %h, %g; .reg .pred %p;
  mov.u32 %i, %tid.x; ld.param.u32 %n, [n]; setp.ge.u32 %p, %i, %n; @%p ret;
  ld.param.u64 %t, [pt]; ld.param.u64 %c, [pc]; ld.param.u64 %o, [po];
  mad.wide.u32 %c, %i, 16, %c; ld.global.v4.b32 {%x, %y, %l, %v}, [%c]; mov.b32 %w, 0;
  )" + body +
         "\n mad.wide.u32 %o, %i, 8, %o; st.global.v2.b32 [%o], {%v, %w}; ret; }\n";
}

class Surfaces : public Conformance {
 protected:
  /// Texels of one unsigned channel; texel (x, y, slice) is x + 10 y + 100 slice.
  TextureConfig numbered(Shape shape, uint32_t width, uint32_t height, uint32_t depth) {
    std::vector<uint32_t> texels(size_t{kPitch} / 4 * height * depth);
    for (uint32_t z = 0; z < depth; ++z) {
      for (uint32_t y = 0; y < height; ++y) {
        for (uint32_t x = 0; x < width; ++x) {
          texels[(size_t{z} * height + y) * kPitch / 4 + x] = x + 10 * y + 100 * z;
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
    config.slice_bytes = uint64_t{kPitch} * height;
    config.texel = TextureConfig::Texel::Unsigned;
    config.is_surface = true;
    return config;
  }
  struct Outcome {
    std::vector<uint32_t> read;  ///< %v and %w of every point.
    std::vector<DeviceFinding> findings;
  };
  Outcome run(const std::string& body, const TextureConfig& config, const std::vector<Point>& at) {
    const auto surface = device_->make_texture(config);
    EXPECT_TRUE(surface) << surface.error().message;
    if (!surface) return {std::vector<uint32_t>(at.size() * 2), {}};
    const uint64_t out = upload(std::vector<uint32_t>(at.size() * 2), "out");
    LaunchConfig launch;
    launch.entry = "k";
    launch.block = {64, 1, 1};
    launch.args = {bytes_of(*surface), bytes_of(upload(at, "at")), bytes_of(out),
                   bytes_of(static_cast<uint32_t>(at.size()))};
    const auto report = device_->launch(load(kernel_of(body)), launch);
    EXPECT_TRUE(report) << report.error().message;
    EXPECT_TRUE(device_->free_texture(*surface).ok());
    return {download<uint32_t>(out, at.size() * 2),
            report ? report->findings : std::vector<DeviceFinding>()};
  }
  /// Returns the first word that every point reads; there must be no finding.
  std::vector<uint32_t> values(const std::string& body, const TextureConfig& config,
                               const std::vector<Point>& at) {
    const Outcome made = run(body, config, at);
    for (const DeviceFinding& finding : made.findings) ADD_FAILURE() << finding.message;
    std::vector<uint32_t> first;
    for (size_t i = 0; i < at.size(); ++i) first.push_back(made.read[2 * i]);
    return first;
  }
  std::vector<uint32_t> memory_of(const TextureConfig& config) {
    return download<uint32_t>(config.address, size_t{kPitch} / 4 * config.height * config.depth);
  }
};

using Words = std::vector<uint32_t>;

TEST_P(Surfaces, AreReadByByteRowAndSlice) {
  EXPECT_EQ(values("suld.b.1d.b32.trap {%v}, [%t, {%x}];", numbered(Shape::Line, 5, 1, 1),
                   {{0, 0, 0, 0}, {16, 0, 0, 0}}),
            (Words{0, 4}));
  EXPECT_EQ(values("suld.b.2d.b32.trap {%v}, [%t, {%x, %y}];", numbered(Shape::Plane, 5, 3, 1),
                   {{4, 2, 0, 0}, {16, 1, 0, 0}}),
            (Words{21, 14}));
  EXPECT_EQ(values("suld.b.3d.b32.trap {%v}, [%t, {%x, %y, %l, %l}];",
                   numbered(Shape::Volume, 5, 3, 2), {{4, 2, 1, 0}, {0, 0, 0, 0}}),
            (Words{121, 0}));
  TextureConfig layers = numbered(Shape::Plane, 5, 3, 4);
  layers.is_layered = true;
  EXPECT_EQ(values("suld.b.a2d.b32.trap {%v}, [%t, {%l, %x, %y, %y}];", layers,
                   {{4, 2, 3, 0}, {12, 0, 1, 0}}),
            (Words{321, 103}));
  TextureConfig lines = numbered(Shape::Line, 5, 1, 4);
  lines.is_layered = true;
  EXPECT_EQ(values("suld.b.a1d.b32.trap {%v}, [%t, {%l, %x}];", lines, {{4, 0, 3, 0}}),
            (Words{301}));
}

TEST_P(Surfaces, HaveTheFacesOfCubesAsLayers) {
  EXPECT_EQ(values("suld.b.a2d.b32.trap {%v}, [%t, {%l, %x, %y, %y}];",
                   numbered(Shape::Cube, 4, 4, 6), {{4, 3, 5, 0}}),
            (Words{531}));
}

TEST_P(Surfaces, AreWrittenInElementsOfEverySize) {
  const TextureConfig config = numbered(Shape::Plane, 8, 2, 1);
  values("sust.b.2d.b32.trap [%t, {%x, %y}], {%v};", config, {{4, 1, 0, 0xabcdef01}});
  values("cvt.u16.u32 %h, %v; sust.b.2d.b8.trap [%t, {%x, %y}], {%h};", config,
         {{9, 0, 0, 0x1234}});
  values("cvt.u16.u32 %h, %v; mov.b16 %g, 7; sust.b.2d.v2.b16.trap [%t, {%x, %y}], {%h, %g};",
         config, {{12, 0, 0, 0x8001}});
  values("mov.b64 %d, {%v, %v}; sust.b.2d.b64.trap [%t, {%x, %y}], {%d};", config, {{16, 0, 0, 3}});
  values("sust.b.2d.v4.b32.trap [%t, {%x, %y}], {%v, %x, %y, %v};", config, {{16, 1, 0, 5}});
  const Words got = memory_of(config);
  EXPECT_EQ(got[16 + 1], 0xabcdef01u);
  EXPECT_EQ(got[2], 0x00003402u);
  EXPECT_EQ(got[3], 0x00078001u);
  EXPECT_EQ((Words(got.begin() + 4, got.begin() + 8)), (Words{3, 3, 6, 7}));
  EXPECT_EQ((Words(got.begin() + 20, got.begin() + 24)), (Words{5, 16, 1, 5}));
}

TEST_P(Surfaces, ReadBytesAndPairsWithoutSigns) {
  const TextureConfig config = numbered(Shape::Plane, 8, 2, 1);
  values("sust.b.2d.b32.trap [%t, {%x, %y}], {%v};", config, {{0, 0, 0, 0xfffe80ff}});
  EXPECT_EQ(values("suld.b.2d.b8.trap {%h}, [%t, {%x, %y}]; cvt.u32.u16 %v, %h;", config,
                   {{1, 0, 0, 0}, {2, 0, 0, 0}}),
            (Words{0x80, 0xfe}));
  EXPECT_EQ(values("suld.b.2d.v2.b16.trap {%h, %g}, [%t, {%x, %y}]; mov.b32 %v, {%g, %h};", config,
                   {{0, 0, 0, 0}}),
            (Words{0x80fffffe}));
}

TEST_P(Surfaces, ReadZeroAndKeepNothingOutsideWhereTheInstructionSaysZero) {
  const TextureConfig config = numbered(Shape::Plane, 5, 3, 1);
  const std::vector<Point> at = {
      {-4, 0, 0, 9}, {20, 0, 0, 9}, {0, 3, 0, 9}, {0, -1, 0, 9}, {16, 2, 0, 9}};
  EXPECT_EQ(values("suld.b.2d.b32.zero {%v}, [%t, {%x, %y}];", config, at),
            (Words{0, 0, 0, 0, 24}));
  const Words before = memory_of(config);
  values("sust.b.2d.b32.zero [%t, {%x, %y}], {%v};", config, at);
  Words expected = before;
  expected[2 * kPitch / 4 + 4] = 9;
  EXPECT_EQ(memory_of(config), expected);
}

TEST_P(Surfaces, AccessTheNearestElementWhereTheInstructionClamps) {
  const TextureConfig config = numbered(Shape::Plane, 6, 3, 1);
  EXPECT_EQ(values("suld.b.2d.b32.clamp {%v}, [%t, {%x, %y}];", config,
                   {{-4, 0, 0, 0}, {24, 1, 0, 0}, {4, 7, 0, 0}, {400, -3, 0, 0}}),
            (Words{0, 15, 21, 5}));
  // The nearest location of eight bytes, not of four.
  EXPECT_EQ(values("suld.b.2d.v2.b32.clamp {%v, %w}, [%t, {%x, %y}];", config, {{24, 1, 0, 0}}),
            (Words{14}));
  values("sust.b.2d.b32.clamp [%t, {%x, %y}], {%v};", config, {{4000, 4000, 0, 77}});
  EXPECT_EQ(memory_of(config)[2 * kPitch / 4 + 5], 77u);
  TextureConfig layers = numbered(Shape::Plane, 6, 3, 4);
  layers.is_layered = true;
  // A layer is unsigned.
  EXPECT_EQ(values("suld.b.a2d.b32.clamp {%v}, [%t, {%l, %x, %y, %y}];", layers,
                   {{0, 0, -1, 0}, {4, 1, 9, 0}, {4, 1, 2, 0}}),
            (Words{300, 311, 211}));
}

TEST_P(Surfaces, FindAnAccessOutsideWhereTheInstructionTraps) {
  const TextureConfig config = numbered(Shape::Plane, 5, 3, 1);
  const Words before = memory_of(config);
  const Outcome stored = run("sust.b.2d.b32.trap [%t, {%x, %y}], {%v};", config,
                             {{0, 0, 0, 0}, {20, 1, 0, 9}, {0, 3, 0, 9}});
  ASSERT_EQ(stored.findings.size(), 1u);
  EXPECT_EQ(name_of(stored.findings[0].kind), "out_of_bounds");
  EXPECT_EQ(stored.findings[0].count, 2u);
  EXPECT_EQ(stored.findings[0].thread.x, 1u);
  const std::string expected =
      "writes 4 bytes at byte 20, row 1, slice 0 of a surface of 20 bytes x 3 x 1; x counts bytes";
  EXPECT_TRUE(stored.findings[0].message.starts_with(expected)) << stored.findings[0].message;
  EXPECT_EQ(memory_of(config), before);
  const Outcome loaded = run("suld.b.2d.b32.trap {%v}, [%t, {%x, %y}];", config, {{-1, 0, 0, 5}});
  ASSERT_EQ(loaded.findings.size(), 1u);
  EXPECT_EQ(loaded.read[0], 0u);
}

TEST_P(Surfaces, FindAnElementThatIsNotAligned) {
  const Outcome made = run("suld.b.2d.b32.trap {%v}, [%t, {%x, %y}];",
                           numbered(Shape::Plane, 5, 3, 1), {{2, 0, 0, 0}});
  ASSERT_EQ(made.findings.size(), 1u);
  EXPECT_EQ(name_of(made.findings[0].kind), "misaligned");
}

TEST_P(Surfaces, AreUpdatedByAllThreads) {
  const TextureConfig config = numbered(Shape::Plane, 5, 3, 1);
  std::vector<Point> at(40, {4, 1, 0, 3});
  values("sured.b.add.2d.u32.trap [%t, {%x, %y}], %v;", config, at);
  EXPECT_EQ(memory_of(config)[kPitch / 4 + 1], 11 + 120u);
  at[7].value = 1000;
  values("sured.b.max.2d.s32.trap [%t, {%x, %y}], %v;", config, at);
  EXPECT_EQ(memory_of(config)[kPitch / 4 + 1], 1000u);
}

TEST_P(Surfaces, FindTwoThreadsThatWriteOnePlace) {
  const Outcome made = run("sust.b.2d.b32.trap [%t, {%x, %y}], {%v};",
                           numbered(Shape::Plane, 5, 3, 1), {{4, 1, 0, 1}, {4, 1, 0, 2}});
  ASSERT_EQ(made.findings.size(), 1u);
  EXPECT_EQ(name_of(made.findings[0].kind), "race_warp");
  // Equal values are no race.
  values("sust.b.2d.b32.trap [%t, {%x, %y}], {%v};", numbered(Shape::Plane, 5, 3, 1),
         {{4, 1, 0, 2}, {4, 1, 0, 2}});
}

/// The texture cache does not see stores of the same launch (CUDA programming guide, read/write
/// coherency).
TEST_P(Surfaces, FindAReadOfWhatTheLaunchWrote) {
  const Outcome made =
      run("sust.b.2d.b32.trap [%t, {%x, %y}], {%v}; suld.b.2d.b32.trap {%v}, [%t, {%x, %y}];",
          numbered(Shape::Plane, 5, 3, 1), {{4, 1, 0, 1}});
  ASSERT_EQ(made.findings.size(), 1u);
  EXPECT_EQ(name_of(made.findings[0].kind), "race_global");
  // Reading first is right.
  values("suld.b.2d.b32.trap {%w}, [%t, {%x, %y}]; sust.b.2d.b32.trap [%t, {%x, %y}], {%v};",
         numbered(Shape::Plane, 5, 3, 1), {{4, 1, 0, 1}});
}

TEST_P(Surfaces, FindAnInstructionOfAnotherGeometryAndAnObjectThatIsNone) {
  TextureConfig config = numbered(Shape::Plane, 5, 3, 1);
  const auto message = [&](const std::string& body) {
    const Outcome made = run(body, config, {{0, 0, 0, 0}});
    return made.findings.empty() ? std::string() : made.findings[0].message;
  };
  EXPECT_NE(message("suld.b.3d.b32.trap {%v}, [%t, {%x, %y, %l, %l}];")
                .find("reads a surface of the geometry .2d by a .3d instruction"),
            std::string::npos);
  EXPECT_NE(message("mov.b64 %d, 5; sust.b.2d.b32.trap [%d, {%x, %y}], {%v};")
                .find("writes 0x5, which is not a surface object"),
            std::string::npos);
  config.is_surface = false;
  EXPECT_NE(message("sust.b.2d.b32.trap [%t, {%x, %y}], {%v};").find("which is a texture object"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Emulator, Surfaces, testing::Values("emulator"));

}  // namespace
}  // namespace gpuemu
