// Compares mma.sp with sums over the positions that the metadata name, as the PTX ISA lays out A,
// B, C and the metadata. Elements are small integers, whose sums every device computes exactly.
#include "tests/conformance/chip_inputs.h"
#include "tests/conformance/fixture.h"
#include "tests/conformance/sparse_inputs.h"

namespace gpuemu {
namespace {

using sparse::drawn_positions;
using sparse::Form;
using sparse::kRows;
using sparse::kWarpLanes;
using sparse::metadata_of;
using sparse::Shape;
using sparse::shape_of;
using sparse::value_of;

constexpr uint32_t kColumns = 8, kTiles = 4;

constexpr Form kForms[] = {
    {16, "f32", "f16", "f16", "f32", 4},   {32, "f32", "f16", "f16", "f32", 2},
    {16, "f16", "f16", "f16", "f16", 4},   {32, "f16", "f16", "f16", "f16", 2},
    {16, "f32", "bf16", "bf16", "f32", 4}, {32, "f32", "bf16", "bf16", "f32", 2},
    {8, "f32", "tf32", "tf32", "f32", 4},  {16, "f32", "tf32", "tf32", "f32", 2},
    {32, "s32", "s8", "s8", "s32", 2},     {32, "s32", "u8", "s8", "s32", 2},
    {64, "s32", "s8", "u8", "s32", 1},     {64, "s32", "u8", "u8", "s32", 1, true},
    {64, "s32", "s4", "s4", "s32", 2},     {64, "s32", "u4", "s4", "s32", 2},
    {128, "s32", "s4", "u4", "s32", 1},    {128, "s32", "u4", "u4", "s32", 1, true},
    {64, "f32", "e4m3", "e4m3", "f32", 1}, {64, "f32", "e4m3", "e5m2", "f32", 1},
    {64, "f32", "e5m2", "e4m3", "f32", 1}, {64, "f32", "e5m2", "e5m2", "f32", 1},
};

std::string instruction_of(const Form& form, bool ordered) {
  return std::string(ordered ? "mma.sp::ordered_metadata" : "mma.sp") + ".sync.aligned.m16n8k" +
         std::to_string(form.k) + ".row.col." + (form.saturates ? "satfinite." : "") + form.d +
         "." + form.a + "." + form.b + "." + form.c;
}

/// The registers of 32 bits that each lane of a warp holds of an operand.
struct Registers {
  std::string type;
  uint32_t count = 0;
  std::vector<uint32_t> words;  ///< Lane after lane.

  uint32_t per_word() const { return 32 / chip::bits_of(type); }
  double element(uint32_t lane, uint32_t index) const {
    const uint32_t bits = chip::bits_of(type), word = words[lane * count + index / per_word()];
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    return value_of(type, word >> index % per_word() * bits & mask);
  }
};

/// Registers that are filled with small integers, for a matrix of `elements`.
Registers drawn(const char* type, uint32_t elements, uint64_t stream) {
  Registers out{type, elements * chip::bits_of(type) / 32 / kWarpLanes, {}};
  const char* kind = chip::is_float(type) ? "int" : "near";
  const auto bits = chip::elements_of(type, elements, kind, stream);
  out.words.assign(size_t{out.count} * kWarpLanes, 0);
  for (uint32_t i = 0; i < elements; ++i) {
    out.words[i / out.per_word()] |= static_cast<uint32_t>(bits[i])
                                     << i % out.per_word() * chip::bits_of(type);
  }
  return out;
}

/// Returns A with its zeros, row after row.
std::vector<double> expanded(const Form& form, const Registers& a,
                             const std::vector<uint32_t>& positions) {
  const Shape shape = shape_of(form);
  std::vector<double> out(size_t{kRows} * form.k);
  const uint32_t per_word = a.per_word();
  for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    for (uint32_t i = 0; i < a.count * per_word; ++i) {
      const uint32_t reg = i / per_word, row = lane / 4 + reg % 2 * 8;
      // A register holds half of the elements of a range of its row.
      const uint32_t range = 2 * per_word, first = lane % 4 * range + reg / 2 * 4 * range;
      const uint32_t within = i % per_word;
      const uint32_t chunk = first / shape.chunk + within / shape.kept;
      const uint32_t both = positions[row * shape.chunks + chunk];
      const uint32_t in_chunk = within % shape.kept;
      const uint32_t at = sparse::place_in_chunk(shape, both, in_chunk);
      out[row * form.k + chunk * shape.chunk + at] = a.element(lane, i);
    }
  }
  return out;
}

/// Returns B, row after row.
std::vector<double> matrix_b(const Form& form, const Registers& b) {
  std::vector<double> out(size_t{form.k} * kColumns);
  for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    for (uint32_t i = 0; i < b.count * b.per_word(); ++i) {
      const uint32_t row =
          i / b.per_word() * 4 * b.per_word() + lane % 4 * b.per_word() + i % b.per_word();
      out[row * kColumns + lane / 4] = b.element(lane, i);
    }
  }
  return out;
}

/// Returns D as the elements of the lanes, in order.
std::vector<double> products(const Form& form, const Registers& a, const Registers& b,
                             const Registers& c, const std::vector<uint32_t>& positions) {
  const auto left = expanded(form, a, positions), right = matrix_b(form, b);
  std::vector<double> out;
  for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      double sum = c.element(lane, i);
      for (uint32_t k = 0; k < form.k; ++k) {
        sum += left[row * form.k + k] * right[k * kColumns + column];
      }
      out.push_back(sum);
    }
  }
  return out;
}

std::string vector_of(const std::string& name, uint32_t count) {
  std::string out = "{";
  for (uint32_t i = 0; i < count; ++i) out += (i == 0 ? "%" : ",%") + name + std::to_string(i);
  return out + "}";
}
std::string moved(const std::string& name, uint32_t count, bool store) {
  std::string out = "ld.param.u64 %P, [p" + name + "]; mad.wide.u32 %P, %t, " +
                    std::to_string(4 * count) + ", %P;\n";
  for (uint32_t i = 0; i < count; ++i) {
    const std::string at = "[%P+" + std::to_string(i * 4) + "]",
                      reg = "%" + name + std::to_string(i);
    out += store ? "st.global.b32 " + at + ", " + reg + ";\n"
                 : "ld.global.b32 " + reg + ", " + at + ";\n";
  }
  return out;
}
std::string declared(const std::string& name, const std::string& type) {
  return ".reg ." + std::string(type == "f32" ? "f32" : "b32") + " %" + name + "<4>; ";
}
std::string text_of(const Form& form, bool ordered, uint32_t selector, const Registers& a,
                    const Registers& b, const Registers& c) {
  return ".version 8.5\n.target sm_" + std::string(chip::bits_of(form.a) == 8 ? "89" : "80") +
         "\n.address_size 64\n.visible .entry k(.param .u64 pd, .param .u64 pa, .param .u64 pb, "
         ".param .u64 pc, .param .u64 pe) {\n.reg .b64 %P; .reg .b32 %t, %e<1>, %a<4>, %b<4>; " +
         declared("c", form.c) + declared("d", form.d) + "mov.u32 %t, %tid.x;\n" +
         moved("a", a.count, false) + moved("b", b.count, false) + moved("c", c.count, false) +
         moved("e", 1, false) + instruction_of(form, ordered) + " " + vector_of("d", c.count) +
         ", " + vector_of("a", a.count) + ", " + vector_of("b", b.count) + ", " +
         vector_of("c", c.count) + ", %e0, " + std::to_string(selector) + ";\n" +
         moved("d", c.count, true) + "ret; }\n";
}

class SparseProducts : public Conformance {
 protected:
  void SetUp() override {
    auto device = open_device(
        {.backend = GetParam(), .sm = 90, .memory_limit_bytes = Conformance::kLimitBytes});
    if (!device && std::string(GetParam()) == "cuda") GTEST_SKIP() << device.error().message;
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
  }

  /// Returns the elements of D of every lane.
  std::vector<double> run(const std::string& text, const Registers& a, const Registers& b,
                          const Registers& c, const std::vector<uint32_t>& metadata) {
    const ModuleId module = load(text);
    Registers d = c;
    const uint64_t out = upload<uint32_t>(d.words, "d");
    LaunchConfig config;
    config.entry = "k";
    config.block = {kWarpLanes, 1, 1};
    config.args = {bytes_of(out), bytes_of(upload<uint32_t>(a.words, "a")),
                   bytes_of(upload<uint32_t>(b.words, "b")),
                   bytes_of(upload<uint32_t>(c.words, "c")),
                   bytes_of(upload<uint32_t>(metadata, "e"))};
    const auto report = device_->launch(module, config);
    EXPECT_TRUE(report) << report.error().message;
    if (!report) return {};
    for (const DeviceFinding& finding : report->findings) ADD_FAILURE() << finding.message;
    d.words = download<uint32_t>(out, d.words.size());
    std::vector<double> elements;
    for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
      for (uint32_t i = 0; i < 4; ++i) elements.push_back(d.element(lane, i));
    }
    EXPECT_TRUE(device_->unload_module(module));
    return elements;
  }
};

INSTANTIATE_TEST_SUITE_P(Emulator, SparseProducts, testing::Values("emulator"));
INSTANTIATE_TEST_SUITE_P(Cuda, SparseProducts, testing::Values("cuda"));

TEST_P(SparseProducts, TakeTheRowsOfBThatTheMetadataName) {
  uint64_t stream = 1;
  for (const Form& form : kForms) {
    for (const bool ordered : {true, false}) {
      for (uint32_t tile = 0; tile < kTiles; ++tile, stream += 8) {
        const uint32_t selector = tile % form.selectors;
        const Registers a = drawn(form.a, kRows * form.k / 2, stream),
                        b = drawn(form.b, form.k * kColumns, stream + 1),
                        c = drawn(form.c, kRows * kColumns, stream + 2);
        const auto positions = drawn_positions(form, ordered, stream + 3);
        EXPECT_EQ(run(text_of(form, ordered, selector, a, b, c), a, b, c,
                      metadata_of(form, positions, selector)),
                  products(form, a, b, c, positions))
            << instruction_of(form, ordered) << ", selector " << selector;
      }
    }
  }
}

}  // namespace
}  // namespace gpuemu
