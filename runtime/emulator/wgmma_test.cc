// wgmma with both operands in shared memory: every swizzle, both orders of a matrix. Metadata of a
// sparse one; tests/conformance compares its products.
#include <array>
#include <bit>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

constexpr uint32_t kRows = 64, kColumns = 32, kDepth = 16, kBytes = 16384, kB = 8192;

/// A matrix of f16 as its descriptor describes it.
struct Operand {
  uint32_t start = 0, swizzle = 0;  ///< 0: none, 1: 128 bytes, 2: 64, 3: 32.
  bool transposed = false;
  uint32_t leading = 0, stride = 0;

  uint64_t descriptor() const {
    return start >> 4 | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 |
           uint64_t{swizzle} << 62;
  }
  /// Address of element k of row or column `mn`, as PTX defines the canonical layouts.
  uint32_t address(uint32_t mn, uint32_t k) const {
    const uint32_t width = swizzle == 0 ? 16 : 256u >> swizzle;
    const uint32_t line = transposed ? k : mn, byte = 2 * (transposed ? mn : k);
    const bool swap = transposed && swizzle == 0;
    const uint32_t linear = start + line % 8 * width + line / 8 * (swap ? leading : stride) +
                            byte / width * (swap ? stride : leading) + byte % width;
    return linear ^ (linear >> 7 & (width / 16 - 1)) << 4;
  }
};
Operand operand(uint32_t start, uint32_t swizzle, bool transposed) {
  // Distances that leave no two elements at one place, for up to 64 rows of 16.
  if (swizzle == 0) {
    return {start, swizzle, transposed, transposed ? 1024u : 128u, transposed ? 128u : 256u};
  }
  const uint32_t width = 256u >> swizzle;
  return {start, swizzle, transposed, transposed ? 16 * width : 16u, 8 * width};
}

int value_a(uint32_t row, uint32_t k) { return static_cast<int>(row * 5 + k * 3) % 7 - 3; }
int value_b(uint32_t k, uint32_t column) { return static_cast<int>(column * 2 + k * 5) % 9 - 4; }
uint16_t half_of(int value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return value == 0 ? 0
                    : static_cast<uint16_t>((bits >> 16 & 0x8000) |
                                            ((bits & 0x7fffffff) - 0x38000000) >> 13);
}

std::string text_of(const Operand& a, const Operand& b, const std::string& signs) {
  std::string d, store;
  for (uint32_t i = 0; i < kColumns / 2; ++i) {
    d += (i == 0 ? "%d" : ",%d") + std::to_string(i);
    store += "st.global.f32 [%P+" + std::to_string(4 * i) + "], %d" + std::to_string(i) + ";\n";
  }
  return ".version 8.0\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(.param .u64 pd, .param .u64 ps) {\n"
         ".shared .align 1024 .b8 tile[" +
         std::to_string(kBytes) +
         "];\n"
         ".reg .f32 %d<16>; .reg .b64 %P, %i, %a, %b; .reg .b32 %t<4>; .reg .pred %p;\n"
         "mov.u32 %t0, %tid.x; mov.u32 %t1, tile; mov.u32 %t2, %t0; ld.param.u64 %P, [ps];\n"
         "L: mul.wide.u32 %i, %t2, 4; add.u64 %i, %i, %P; ld.global.b32 %t3, [%i];\n"
         "{ .reg .b32 %q; mad.lo.u32 %q, %t2, 4, %t1; st.shared.b32 [%q], %t3; }\n"
         "add.u32 %t2, %t2, 128; setp.lt.u32 %p, %t2, " +
         std::to_string(kBytes / 4) +
         "; @%p bra L;\n"
         "shr.u32 %t1, %t1, 4; cvt.u64.u32 %a, %t1; add.u64 %b, %a, " +
         std::to_string(b.descriptor()) + "; add.u64 %a, %a, " + std::to_string(a.descriptor()) +
         ";\nfence.proxy.async; bar.sync 0; setp.ne.u32 %p, 0, 0;\n"
         "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {" +
         d + "}, %a, %b, %p, " + signs + ", " + (a.transposed ? "1" : "0") + ", " +
         (b.transposed ? "1" : "0") +
         ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
         "ld.param.u64 %P, [pd]; mul.wide.u32 %i, %t0, 64; add.u64 %P, %P, %i;\n" +
         store + "ret; }\n";
}

void expect_product(const Operand& a, const Operand& b, int sign) {
  std::vector<uint16_t> shared(kBytes / 2);
  for (uint32_t k = 0; k < kDepth; ++k) {
    for (uint32_t i = 0; i < kRows; ++i) shared.at(a.address(i, k) / 2) = half_of(value_a(i, k));
    for (uint32_t j = 0; j < kColumns; ++j) shared.at(b.address(j, k) / 2) = half_of(value_b(k, j));
  }
  TestKernel kernel(text_of(a, b, sign < 0 ? "-1, 1" : "1, 1"), 90);
  kernel.config().block = {128, 1, 1};
  const uint64_t out = kernel.buffer(std::vector<float>(kRows * kColumns));
  kernel.arg(out).arg(kernel.buffer(shared)).run();
  const std::vector<float> got = kernel.read<float>(out, kRows * kColumns);
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t i = 0; i < kColumns / 2; ++i) {
      const uint32_t row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2),
                     column = i / 4 * 8 + thread % 4 * 2 + i % 2;
      int sum = 0;
      for (uint32_t k = 0; k < kDepth; ++k) sum += value_a(row, k) * value_b(k, column);
      ASSERT_EQ(got[thread * kColumns / 2 + i], static_cast<float>(sign * sum))
          << "row " << row << " column " << column << " swizzle " << a.swizzle << " " << b.swizzle
          << " transposed " << a.transposed << b.transposed;
    }
  }
}

TEST(Wgmma, ReadsMatricesInEverySwizzleAndOrder) {
  for (uint32_t swizzle = 0; swizzle < 4; ++swizzle) {
    for (const bool transposed : {false, true}) {
      expect_product(operand(0, swizzle, transposed), operand(kB, 1, false), 1);
      expect_product(operand(0, 1, false), operand(kB, swizzle, transposed), 1);
    }
  }
}
TEST(Wgmma, StartsInsideASwizzledRow) {
  Operand a = operand(0, 1, false);
  a.start = 32;  // The next 16 of a row of 64 along K.
  expect_product(a, operand(kB, 1, false), 1);
}
TEST(Wgmma, NegatesAnOperand) { expect_product(operand(0, 1, false), operand(kB, 1, false), -1); }
TEST(Wgmma, RefusesAShapeThatDoesNotExist) {
  TestKernel kernel(
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
      ".reg .f32 %d<4>; .reg .b64 %a; .reg .pred %p; mov.u64 %a, 0;\n"
      "setp.ne.u32 %p, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k8.f32.f16.f16 {%d0,%d1,%d2,%d3}, %a, %a, "
      "%p, 1, 1, 0, 0; ret; }\n",
      90);
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "unsupported_instruction");
}
/// A sparse product with A in registers, of zeros: its metadata are the parameter in every lane of
/// warp 2, and valid elsewhere.
LaunchReport sparse_report(const std::string& selector, uint32_t metadata) {
  TestKernel kernel(
      ".version 8.2\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 pe) {\n"
      ".shared .align 1024 .b8 tile[512];\n"
      ".reg .f32 %d<4>; .reg .b64 %b; .reg .b32 %a, %e, %t; .reg .pred %p;\n"
      "mov.u32 %t, %tid.x; mul.lo.u32 %a, %t, 4; mov.u32 %e, tile; add.u32 %a, %a, %e;\n"
      "mov.b32 %e, 0; st.shared.b32 [%a], %e; mov.b32 %a, 0; shr.u32 %t, %t, 5;\n"
      "setp.eq.u32 %p, %t, 2; mov.b32 %e, 0x44444444; @%p ld.param.u32 %e, [pe];\n"
      "mov.u32 %t, tile; shr.u32 %t, %t, 4; cvt.u64.u32 %b, %t; or.b64 %b, %b, 0x2000080000;\n"
      "fence.proxy.async; bar.sync 0; setp.ne.u32 %p, 0, 0; wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%d0,%d1,%d2,%d3}, "
      "{%a,%a,%a,%a}, %b, %e, " +
          selector + ", %p, 1, 1, 0; ret; }\n",
      90);
  kernel.config().block = {128, 1, 1};
  return kernel.arg(metadata).run(false);
}
TEST(Wgmma, FindsMetadataThatAreNotValidInTheRowsOfTheirWarp) {
  EXPECT_TRUE(sparse_report("1", 0xe4b1e4b1).findings.empty());
  const LaunchReport report = sparse_report("0", 0x44444f44);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "invalid_metadata");
  EXPECT_TRUE(report.findings[0].message.starts_with(
      "needs valid metadata: 0b1111 of row 32, columns 8 to 11 of A, has to have two different "
      "positions"))
      << report.findings[0].message;
}
TEST(Wgmma, NeedsASelectorThatTheShapeHas) {
  const LaunchReport report = sparse_report("2", 0x44444444);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "unsupported_instruction");
  EXPECT_NE(report.findings[0].message.find("selector has to be a constant below 2"),
            std::string::npos)
      << report.findings[0].message;
}
TEST(Wgmma, ReportsADescriptorOutsideSharedMemory) {
  TestKernel kernel(
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
      ".reg .f32 %d<4>; .reg .b64 %a; .reg .pred %p; mov.u64 %a, 0x1000;\n"
      "setp.ne.u32 %p, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0,%d1,%d2,%d3}, %a, %a, "
      "%p, 1, 1, 0, 0; ret; }\n",
      90);
  kernel.config().block = {128, 1, 1};
  const LaunchReport report = kernel.run(false);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(name_of(report.findings[0].kind), "out_of_bounds");
}

}  // namespace
}  // namespace gpuemu::emulator
