// Compares wgmma.mma_async.sp with sums over the positions that the metadata name, as the PTX ISA
// lays out A, D and the metadata. Elements are small integers, whose sums every device computes
// exactly.
#include "tests/conformance/chip_inputs.h"
#include "tests/conformance/fixture.h"
#include "tests/conformance/sparse_inputs.h"

namespace gpuemu {
namespace {

using sparse::Form;

constexpr uint32_t kWarps = 4, kThreads = kWarps * sparse::kWarpLanes, kColumns = 16, kTiles = 4;
constexpr uint32_t kGroupRows = kWarps * sparse::kRows, kChunkBytes = 16, kCoreRows = 8;

constexpr Form kForms[] = {
    {32, "f32", "f16", "f16", "f32", 2},   {32, "f16", "f16", "f16", "f16", 2},
    {32, "f32", "bf16", "bf16", "f32", 2}, {16, "f32", "tf32", "tf32", "f32", 2},
    {64, "s32", "s8", "s8", "s32", 1},     {64, "s32", "s8", "u8", "s32", 1},
    {64, "s32", "u8", "s8", "s32", 1},     {64, "s32", "u8", "u8", "s32", 1, true},
    {64, "f32", "e4m3", "e4m3", "f32", 1}, {64, "f16", "e4m3", "e5m2", "f16", 1},
    {64, "f32", "e5m2", "e4m3", "f32", 1}, {64, "f16", "e5m2", "e5m2", "f16", 1},
};

std::string instruction_of(const Form& form) {
  return "wgmma.mma_async.sp.sync.aligned.m64n" + std::to_string(kColumns) + "k" +
         std::to_string(form.k) + "." + (form.saturates ? "satfinite." : "") + form.d + "." +
         form.a + "." + form.b;
}

/// Raw bits of a matrix, row after row, of which K is along the rows.
struct Rows {
  std::string type;
  uint32_t depth = 0;
  std::vector<uint64_t> bits;

  double at(uint32_t row, uint32_t k) const {
    return sparse::value_of(type, bits[size_t{row} * depth + k]);
  }
};
Rows drawn(const char* type, uint32_t rows, uint32_t depth, uint64_t stream) {
  const char* kind = chip::is_float(type) ? "int" : "near";
  return {type, depth, chip::elements_of(type, size_t{rows} * depth, kind, stream)};
}

void put(std::vector<uint32_t>& words, uint32_t bit, uint64_t value) {
  words[bit / 32] |= static_cast<uint32_t>(value) << bit % 32;
}

/// Returns the words of a matrix in shared memory without swizzling: pieces of 8 rows and 16 bytes,
/// along K first.
std::vector<uint32_t> in_shared(const Rows& from) {
  const uint32_t bits = chip::bits_of(from.type), row_bytes = from.depth * bits / 8;
  std::vector<uint32_t> words(from.bits.size() * bits / 32);
  for (uint32_t i = 0; i < from.bits.size(); ++i) {
    const uint32_t row = i / from.depth, byte = i % from.depth * bits / 8;
    const uint32_t at = row / kCoreRows * kCoreRows * row_bytes +
                        byte / kChunkBytes * kCoreRows * kChunkBytes +
                        row % kCoreRows * kChunkBytes + byte % kChunkBytes;
    put(words, at * 8 + i % from.depth * bits % 8, from.bits[i]);
  }
  return words;
}

/// Returns the four registers of A of every thread, thread after thread.
std::vector<uint32_t> in_registers(const Rows& from) {
  const uint32_t bits = chip::bits_of(from.type), per_word = 32 / bits;
  std::vector<uint32_t> words(size_t{kThreads} * 4);
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    for (uint32_t i = 0; i < 4 * per_word; ++i) {
      const uint32_t reg = i / per_word, lane = thread % sparse::kWarpLanes;
      const uint32_t row = thread / sparse::kWarpLanes * sparse::kRows + lane / 4 + reg % 2 * 8;
      const uint32_t k = (reg / 2 * 4 + lane % 4) * per_word + i % per_word;
      put(words, (thread * 4 + reg) * 32 + i % per_word * bits,
          from.bits[size_t{row} * from.depth + k]);
    }
  }
  return words;
}

/// Where element `i` of D of a thread is.
struct Place {
  uint32_t row, column;
};
Place place_of(uint32_t thread, uint32_t i) {
  const uint32_t lane = thread % sparse::kWarpLanes;
  return {thread / sparse::kWarpLanes * sparse::kRows + lane / 4 + i / 2 % 2 * 8,
          i / 4 * 8 + lane % 4 * 2 + i % 2};
}
constexpr uint32_t kPerThread = kColumns / 2;

/// Returns D as the elements of the threads, in order. `positions` are those of each warp.
std::vector<double> products(const Form& form, const Rows& a, const Rows& b,
                             const std::vector<std::vector<uint32_t>>& positions) {
  const sparse::Shape shape = sparse::shape_of(form);
  std::vector<double> out;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    for (uint32_t i = 0; i < kPerThread; ++i) {
      const auto [row, column] = place_of(thread, i);
      const auto& of_warp = positions[thread / sparse::kWarpLanes];
      double sum = 0;
      for (uint32_t k = 0; k < a.depth; ++k) {
        const uint32_t chunk = k / shape.kept;
        const uint32_t both = of_warp[row % sparse::kRows * shape.chunks + chunk];
        const uint32_t taken =
            chunk * shape.chunk + sparse::place_in_chunk(shape, both, k % shape.kept);
        sum += a.at(row, k) * b.at(column, taken);
      }
      out.push_back(sum);
    }
  }
  return out;
}

std::string list_of(const std::string& name, uint32_t count) {
  std::string out = "{";
  for (uint32_t i = 0; i < count; ++i) out += (i == 0 ? "%" : ",%") + name + std::to_string(i);
  return out + "}";
}
/// The part of a matrix descriptor above the address: 128 bytes between neighbours along K.
std::string strides(uint32_t row_bytes) {
  const uint64_t along_rows = uint64_t{kCoreRows} * row_bytes >> 4;
  return std::to_string(along_rows << 32 | uint64_t{kCoreRows * kChunkBytes >> 4} << 16);
}
std::string text_of(const Form& form, bool a_in_registers, uint32_t selector) {
  const std::string type = form.a;
  const uint32_t bits = chip::bits_of(type), a_bytes = form.k / 2 * bits / 8,
                 b_bytes = form.k * bits / 8;
  const uint32_t a_words = kGroupRows * a_bytes / 4, words = a_words + kColumns * b_bytes / 4;
  const uint32_t registers = kPerThread * chip::bits_of(form.d) / 32;
  std::string load_a, store;
  for (uint32_t i = 0; i < 4; ++i) {
    load_a += "ld.global.b32 %a" + std::to_string(i) + ", [%P+" + std::to_string(4 * i) + "];\n";
  }
  for (uint32_t i = 0; i < registers; ++i) {
    store += "st.global.b32 [%P+" + std::to_string(4 * i) + "], %d" + std::to_string(i) + ";\n";
  }
  std::string immediates = std::string(form.d) == "s32" ? "" : ", 1, 1";
  if (bits == 16) immediates += a_in_registers ? ", 0" : ", 0, 0";
  return ".version 8.4\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(.param .u64 pd, .param .u64 pa, .param .u64 ps, .param .u64 pe) {\n"
         ".shared .align 1024 .b8 tile[" +
         std::to_string(4 * words) +
         "];\n.reg .b64 %P, %i, %x, %y; .reg .b32 %t<4>, %e, %a<4>; .reg .pred %p;\n.reg ." +
         (std::string(form.d) == "f32" ? "f32" : "b32") +
         " %d<8>;\nmov.u32 %t0, %tid.x; mov.u32 %t1, tile; mov.u32 %t2, %t0;\n"
         "ld.param.u64 %P, [ps];\n"
         "L: mul.wide.u32 %i, %t2, 4; add.u64 %i, %i, %P; ld.global.b32 %t3, [%i];\n"
         "{ .reg .b32 %q; mad.lo.u32 %q, %t2, 4, %t1; st.shared.b32 [%q], %t3; }\n"
         "add.u32 %t2, %t2, 128; setp.lt.u32 %p, %t2, " +
         std::to_string(words) +
         "; @%p bra L;\n"
         "ld.param.u64 %P, [pe]; mad.wide.u32 %P, %t0, 4, %P; ld.global.b32 %e, [%P];\n"
         "ld.param.u64 %P, [pa]; mad.wide.u32 %P, %t0, 16, %P;\n" +
         load_a +
         "shr.u32 %t1, %t1, 4; cvt.u64.u32 %x, %t1;\n"
         "add.u64 %y, %x, " +
         std::to_string(a_words * 4 / kChunkBytes) + "; or.b64 %y, %y, " + strides(b_bytes) +
         "; or.b64 %x, %x, " + strides(a_bytes) +
         ";\nfence.proxy.async; bar.sync 0; setp.ne.u32 %p, 0, 0;\n"
         "wgmma.fence.sync.aligned;\n" +
         instruction_of(form) + " " + list_of("d", registers) + ", " +
         (a_in_registers ? list_of("a", 4) : "%x") + ", %y, %e, " + std::to_string(selector) +
         ", %p" + immediates +
         ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
         "ld.param.u64 %P, [pd]; mad.wide.u32 %P, %t0, " +
         std::to_string(4 * registers) + ", %P;\n" + store + "ret; }\n";
}

class SparseGroups : public Conformance {
 protected:
  void SetUp() override {
    auto device = open_device(
        {.backend = GetParam(), .sm = 90, .memory_limit_bytes = Conformance::kLimitBytes});
    if (!device && std::string(GetParam()) == "cuda") GTEST_SKIP() << device.error().message;
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
    if (device_->properties().sm != 90) GTEST_SKIP() << "wgmma exists on sm_90 alone";
  }

  /// Returns the elements of D of every thread.
  std::vector<double> run(const Form& form, const std::string& text, const std::vector<uint32_t>& a,
                          const std::vector<uint32_t>& shared,
                          const std::vector<uint32_t>& metadata) {
    const ModuleId module = load(text);
    const uint32_t bits = chip::bits_of(form.d);
    const size_t words = size_t{kThreads} * kPerThread * bits / 32;
    const uint64_t out = upload<uint32_t>(std::vector<uint32_t>(words), "d");
    LaunchConfig config;
    config.entry = "k";
    config.block = {kThreads, 1, 1};
    config.args = {bytes_of(out), bytes_of(upload<uint32_t>(a, "a")),
                   bytes_of(upload<uint32_t>(shared, "shared")),
                   bytes_of(upload<uint32_t>(metadata, "e"))};
    const auto report = device_->launch(module, config);
    EXPECT_TRUE(report) << report.error().message;
    if (!report) return {};
    for (const DeviceFinding& finding : report->findings) ADD_FAILURE() << finding.message;
    std::vector<double> elements;
    for (const uint32_t word : download<uint32_t>(out, words)) {
      for (uint32_t bit = 0; bit < 32; bit += bits) {
        const uint64_t mask = (uint64_t{1} << bits) - 1;
        elements.push_back(sparse::value_of(form.d, word >> bit & mask));
      }
    }
    EXPECT_TRUE(device_->unload_module(module));
    return elements;
  }
};

INSTANTIATE_TEST_SUITE_P(Emulator, SparseGroups, testing::Values("emulator"));
INSTANTIATE_TEST_SUITE_P(Cuda, SparseGroups, testing::Values("cuda"));

TEST_P(SparseGroups, TakeTheRowsOfBThatTheMetadataName) {
  uint64_t stream = 1;
  for (const Form& form : kForms) {
    for (uint32_t tile = 0; tile < kTiles; ++tile, stream += 8) {
      const uint32_t selector = tile / 2 % form.selectors;
      const bool a_in_registers = tile % 2 == 0;
      const Rows a = drawn(form.a, kGroupRows, form.k / 2, stream),
                 b = drawn(form.b, kColumns, form.k, stream + 1);
      std::vector<std::vector<uint32_t>> positions;
      std::vector<uint32_t> metadata, shared = in_shared(a);
      for (uint32_t warp = 0; warp < kWarps; ++warp) {
        positions.push_back(sparse::drawn_positions(form, true, stream + 2 + warp));
        const auto of_warp = sparse::metadata_of(form, positions.back(), selector);
        metadata.insert(metadata.end(), of_warp.begin(), of_warp.end());
      }
      const auto of_b = in_shared(b);
      shared.insert(shared.end(), of_b.begin(), of_b.end());
      EXPECT_EQ(
          run(form, text_of(form, a_in_registers, selector), in_registers(a), shared, metadata),
          products(form, a, b, positions))
          << instruction_of(form) << ", selector " << selector << ", A in "
          << (a_in_registers ? "registers" : "shared memory");
    }
  }
}

}  // namespace
}  // namespace gpuemu
