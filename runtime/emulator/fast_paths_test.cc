// Tests that shortcuts of the emulator do not change results: values computed once per warp, memory
// accesses of whole rows, functions of many lanes at once.
#include <cstdlib>
#include <numeric>
#include <random>

#include "runtime/emulator/numerics/mufu.h"
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

/// y[block, thread] = threads per block * 3 + thread + 100 * block, of which only the last term
/// changes from block to block. One thread in three takes a second way through `%r9`.
constexpr const char* kInvariant = R"(
.visible .entry k(.param .u64 y, .param .u32 three) {
  .reg .pred %p; .reg .b32 %r<12>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [y];
  ld.param.u32 %r1, [three];
  mov.u32 %r2, %ntid.x;
  mul.lo.u32 %r3, %r2, %r1;
  mov.u32 %r4, %tid.x;
  add.u32 %r5, %r3, %r4;
  mov.u32 %r6, %ctaid.x;
  mad.lo.u32 %r7, %r6, 100, %r5;
  rem.u32 %r8, %r4, 3;
  setp.ne.u32 %p, %r8, 0;
  mov.u32 %r9, 7;
  @%p bra NEXT;
  mov.u32 %r9, 8;
NEXT:
  mad.lo.u32 %r10, %r6, %r2, %r4;
  mul.wide.u32 %rd2, %r10, 8;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r7;
  st.global.u32 [%rd3+4], %r9;
  ret;
})";

TEST(FastPaths, ValuesOfEveryBlockAreThoseOfItsOwn) {
  TestKernel kernel(with_header(kInvariant));
  constexpr uint32_t kBlocks = 5, kThreads = 72;
  const uint64_t y = kernel.buffer(std::vector<uint32_t>(kBlocks * kThreads * 2));
  kernel.config().grid = {kBlocks, 1, 1};
  kernel.config().block = {kThreads, 1, 1};
  const LaunchReport report = kernel.arg(y).arg(uint32_t{3}).run();
  const auto got = kernel.read<uint32_t>(y, kBlocks * kThreads * 2);
  for (uint32_t i = 0; i < kBlocks * kThreads; ++i) {
    const uint32_t thread = i % kThreads, block = i / kThreads;
    ASSERT_EQ(got[2 * i], kThreads * 3 + thread + 100 * block) << i;
    ASSERT_EQ(got[2 * i + 1], thread % 3 == 0 ? 8 : 7) << i;
  }
  // 17 instructions for all, and either the jump or what it leaves out.
  EXPECT_EQ(report.thread_instructions, uint64_t{kBlocks} * kThreads * 18);
}

/// What depends on the block alone is computed once for all of its warps, whether they share a
/// frame of registers one after the other or wait for each other with one each.
TEST(FastPaths, ValuesOfABlockAreThoseOfAllItsWarps) {
  for (const std::string barrier : {"", "bar.sync 0;"}) {
    TestKernel kernel(with_header(R"(
.visible .entry k(.param .u64 y) {
  .reg .b32 %r<12>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ctaid.y;
  mad.lo.u32 %r3, %r2, 1000, %r1;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %nctaid.x;
  mad.lo.u32 %r6, %r2, %r5, %r1;
  mul.lo.u32 %r7, %r6, %r4;
  )" + barrier + R"(
  mov.u32 %r8, %tid.x;
  add.u32 %r9, %r7, %r8;
  mul.wide.u32 %rd2, %r9, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
})"));
    constexpr uint32_t kAcross = 3, kDown = 4, kThreads = 160, kAll = kAcross * kDown * kThreads;
    const uint64_t y = kernel.buffer(std::vector<uint32_t>(kAll));
    kernel.config().grid = {kAcross, kDown, 1};
    kernel.config().block = {kThreads, 1, 1};
    kernel.arg(y).run();
    const auto got = kernel.read<uint32_t>(y, kAll);
    for (uint32_t i = 0; i < kAll; ++i) {
      const uint32_t block = i / kThreads;
      ASSERT_EQ(got[i], block / kAcross * 1000 + block % kAcross) << i;
    }
  }
}

TEST(FastPaths, ASecondLaunchHasItsOwnParameters) {
  TestKernel kernel(with_header(kInvariant));
  const uint64_t y = kernel.buffer(std::vector<uint32_t>(128));
  kernel.config().block = {64, 1, 1};
  kernel.arg(y).arg(uint32_t{3}).run();
  kernel.config().args.pop_back();
  kernel.config().block = {32, 1, 1};
  kernel.arg(uint32_t{5}).run();
  EXPECT_EQ(kernel.read<uint32_t>(y, 2)[0], 32u * 5);
}

/// Each of 32 threads copies an element of `type` from the byte offset that `at` computes in %r2
/// from its number %r1, through shared memory or directly.
std::string copy_kernel(const std::string& at, const std::string& vector, const std::string& type,
                        bool shared) {
  const std::string registers = vector.empty()    ? "%v0"
                                : vector == ".v2" ? "{%v0, %v1}"
                                                  : "{%v0, %v1, %v2, %v3}";
  const uint32_t bytes = static_cast<uint32_t>(std::stoul(type.substr(1))) / 8 *
                         (vector.empty() ? 1 : static_cast<uint32_t>(vector[2] - '0'));
  const std::string load = shared ? "ld.shared" : "ld.global", base = shared ? "%r2" : "%rd3";
  return with_header(
      ".visible .entry k(.param .u64 x, .param .u64 y) {\n"
      " .shared .align 16 .b8 tile[1024];\n .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b" +
      type.substr(1) +
      " %v<4>; .reg .b64 %w<8>;\n ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];\n"
      " mov.u32 %r1, %tid.x;\n"
      // The whole of x into shared memory: 32 bytes each.
      " mul.lo.u32 %r5, %r1, 32; cvt.u64.u32 %w4, %r5; add.u64 %w5, %rd1, %w4;\n"
      " ld.global.v2.u64 {%w0, %w1}, [%w5]; ld.global.v2.u64 {%w2, %w3}, [%w5+16];\n"
      " st.shared.v2.u64 [%r5], {%w0, %w1}; st.shared.v2.u64 [%r5+16], {%w2, %w3}; bar.sync 0;\n " +
      at + "\n cvt.u64.u32 %rd4, %r2; add.u64 %rd3, %rd1, %rd4;\n " + load + vector + "." + type +
      " " + registers + ", [" + base + "];\n mul.lo.u32 %r6, %r1, " + std::to_string(bytes) +
      "; cvt.u64.u32 %rd5, %r6; add.u64 %rd6, %rd2, %rd5;\n st.global" + vector + ".b" +
      type.substr(1) + " [%rd6], " + registers + ";\n ret;\n}\n");
}

TEST(FastPaths, LanesSideBySideTogetherAndApartReadTheirOwn) {
  std::vector<uint8_t> x(1024);
  std::iota(x.begin(), x.end(), uint8_t{3});
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(x[i] * 7 + i / 256);
  for (const bool shared : {false, true}) {
    for (const std::string type : {"u8", "u16", "u32", "u64"}) {
      for (const std::string vector : {"", ".v2", ".v4"}) {
        const auto width = static_cast<uint32_t>(std::stoul(type.substr(1))) / 8;
        const uint32_t bytes =
            width * (vector.empty() ? 1 : static_cast<uint32_t>(vector[2] - '0'));
        if (bytes > 16) continue;
        struct Pattern {
          std::string text;
          uint32_t (*index)(uint32_t thread);
        };
        const Pattern patterns[] = {
            {"mov.u32 %r7, %r1;", [](uint32_t t) { return t; }},
            {"mov.u32 %r7, 5;", [](uint32_t) { return uint32_t{5}; }},
            {"shr.u32 %r7, %r1, 4;", [](uint32_t t) { return t >> 4; }},
            {"and.b32 %r7, %r1, 15;", [](uint32_t t) { return t & 15; }},
            {"xor.b32 %r7, %r1, 31;", [](uint32_t t) { return t ^ 31; }},
            {"shl.b32 %r7, %r1, 1; and.b32 %r7, %r7, 31;", [](uint32_t t) { return t * 2 & 31; }}};
        for (const Pattern& pattern : patterns) {
          const std::string at =
              pattern.text + " mul.lo.u32 %r2, %r7, " + std::to_string(bytes) + ";";
          TestKernel kernel(copy_kernel(at, vector, type, shared));
          const uint64_t from = kernel.buffer(x), to = kernel.buffer(std::vector<uint8_t>(512));
          kernel.arg(from).arg(to).run();
          const auto got = kernel.read<uint8_t>(to, 512);
          for (uint32_t i = 0; i < 32 * bytes; ++i) {
            ASSERT_EQ(got[i], x[pattern.index(i / bytes) * bytes + i % bytes])
                << pattern.text << " " << vector << type << (shared ? " shared" : " global")
                << " byte " << i;
          }
        }
      }
    }
  }
}

TEST(FastPaths, ARowThatLeavesItsTensorIsReportedForTheLanesOutside) {
  const std::string at = "mov.u32 %r7, %r1; mul.lo.u32 %r2, %r7, 4; add.u32 %r2, %r2, 920;";
  for (const bool shared : {false, true}) {
    TestKernel kernel(copy_kernel(at, "", "u32", shared));
    const uint64_t x = kernel.buffer(std::vector<uint32_t>(256, 9)),
                   y = kernel.buffer(std::vector<uint32_t>(32));
    const LaunchReport report = kernel.arg(x).arg(y).run(false);
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(name_of(report.findings[0].kind), "out_of_bounds");
    EXPECT_EQ(report.findings[0].count, 6u);
    EXPECT_EQ(report.findings[0].thread.x, 26u);
    EXPECT_EQ(report.findings[0].byte_offset, 1024);
    EXPECT_EQ(kernel.read<uint32_t>(y, 32)[25], 9u);
  }
}

/// Block b reads or writes 32 elements of `type` from element 16 * b on, forwards or backwards:
/// rows, and what is none. Neighbours have 16 of them in common.
TEST(FastPaths, RowsOfTwoBlocksThatOverlapAreARaceOfTheLanesThatMeet) {
  // Blocks that run at exactly the same time may miss each other in a word.
  constexpr uint32_t kOneThread = 1;
  for (const std::string type : {"u8", "u16", "u32", "u64"}) {
    for (const std::string order : {"", "xor.b32 %r3, %r3, 31;", "xor.b32 %r3, %r3, 16;"}) {
      for (const bool reads : {false, true}) {
        const std::string width = std::to_string(std::stoul(type.substr(1)) / 8);
        // Block 0 writes; block 1 writes other values or reads.
        TestKernel kernel(
            with_header(".visible .entry k(.param .u64 y) {\n .reg .pred %p; .reg .b32 %r<8>; .reg "
                        ".b64 %rd<8>;"
                        " .reg ." +
                        type +
                        " %v;\n ld.param.u64 %rd1, [y];\n mov.u32 %r1, %ctaid.x;\n"
                        " mov.u32 %r3, %tid.x;\n " +
                        order +
                        "\n mad.lo.u32 %r4, %r1, 16, %r3;\n"
                        " mul.wide.u32 %rd2, %r4, " +
                        width +
                        ";\n add.u64 %rd3, %rd1, %rd2;\n"
                        " setp.ne.u32 %p, %r1, 0;\n @%p bra SECOND;\n cvt." +
                        type +
                        ".u32 %v, 7;\n"
                        " st.global." +
                        type + " [%rd3], %v;\n ret;\nSECOND:\n cvt." + type + ".u32 %v, 9;\n " +
                        (reads ? "ld.global." + type + " %v, [%rd3];"
                               : "st.global." + type + " [%rd3], %v;") +
                        "\n ret;\n}\n"),
            80, kOneThread);
        const uint64_t y = kernel.buffer(std::vector<uint64_t>(64), "y");
        kernel.config().grid = {2, 1, 1};
        kernel.config().sanitize = {DeviceCheck::Memory, DeviceCheck::Race};
        const LaunchReport report = kernel.arg(y).run(false);
        ASSERT_EQ(report.findings.size(), 1u) << type << order << reads;
        EXPECT_EQ(name_of(report.findings[0].kind), "race_global");
        EXPECT_EQ(report.findings[0].count, 16u) << type << order << reads;
      }
    }
  }
}

TEST(FastPaths, RowsOfALaterLaunchOrBehindABarrierAreNoRace) {
  TestKernel kernel(with_header(R"(
.visible .entry k(.param .u64 y) {
  .reg .b32 %r<8>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, %tid.x;
  xor.b32 %r2, %r1, 32;
  mul.wide.u32 %rd2, %r1, 4;
  mul.wide.u32 %rd3, %r2, 4;
  add.u64 %rd4, %rd1, %rd2;
  add.u64 %rd5, %rd1, %rd3;
  st.global.u32 [%rd4], %r1;
  bar.sync 0;
  ld.global.u32 %r3, [%rd5];
  bar.sync 0;
  add.u32 %r4, %r3, 1;
  st.global.u32 [%rd4], %r4;
  ret;
})"));
  const uint64_t y = kernel.buffer(std::vector<uint32_t>(64));
  kernel.config().block = {64, 1, 1};
  kernel.config().sanitize = {DeviceCheck::Memory, DeviceCheck::Race};
  kernel.arg(y).run();
  kernel.run();
  const auto got = kernel.read<uint32_t>(y, 64);
  for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(got[i], (i ^ 32) + 1) << i;
}

TEST(FastPaths, ARowOfWhichALaneWasNeverWrittenIsReported) {
  TestKernel kernel(with_header(R"(
.visible .entry k(.param .u64 y) {
  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<4>;
  .shared .align 4 .b8 tile[128];
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p, %r1, 9;
  shl.b32 %r2, %r1, 2;
  @%p st.shared.u32 [%r2], %r1;
  bar.sync 0;
  ld.shared.u32 %r3, [%r2];
  cvt.u64.u32 %rd2, %r2;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
})"));
  const uint64_t y = kernel.buffer(std::vector<uint32_t>(32));
  const LaunchReport report = kernel.arg(y).run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "uninitialized");
  EXPECT_EQ(report.findings[0].thread.x, 9u);
  EXPECT_EQ(report.findings[0].count, 1u);
}

TEST(FastPaths, ApproximationsOfEightLanesAreTheModels) {
  std::mt19937 random(20);
  std::vector<uint32_t> x = {0,          1,          0x007fffff, 0x00800000, 0x7f7fffff, 0x7f800000,
                             0x7f800001, 0x7fffffff, 0x7e800000, 0x7e800001, 0x7f000000, 0x7effffff,
                             0x42fc0000, 0xc2fc0000, 0xc2fc0001, 0xc3150000, 0xc3160000, 0x3f800000,
                             0x34000000, 0x33800000, 0x43000000, 0x42ffffff};
  for (size_t i = 0, n = x.size(); i < n; ++i) x.push_back(x[i] ^ 0x80000000u);
  while (x.size() < 20011) x.push_back(static_cast<uint32_t>(random()));
  const std::pair<const char*, uint32_t (*)(uint32_t)> functions[] = {
      {"rcp.approx.ftz.f32", mufu::rcp_ftz},
      {"rcp.approx.f32", mufu::rcp},
      {"ex2.approx.ftz.f32", mufu::ex2_ftz},
      {"ex2.approx.f32", mufu::ex2}};
  const auto tiny = [](uint32_t v) { return (v & 0x7f800000u) == 0; };
  for (const auto& [name, model] : functions) {
    const bool ftz = std::string(name).find("ftz") != std::string::npos;
    const auto got = evaluate<uint32_t, uint32_t>(std::string(name) + " %d, %a;", x);
    for (size_t i = 0; i < x.size(); ++i) {
      uint32_t want = model(ftz && tiny(x[i]) ? x[i] & 0x80000000u : x[i]);
      if (ftz && tiny(want)) want &= 0x80000000u;
      ASSERT_EQ(got[i], want) << name << " of " << std::hex << x[i];
    }
  }
}

/// Lanes with a common divisor divide by multiplying; a single lane must compute the same as C++.
TEST(FastPaths, OneDivisorForAllLanesGivesTheQuotientsOfEach) {
  std::mt19937 random(21);
  const uint32_t divisors[] = {1,          2,          3,          5,          7,
                               10,         16,         641,        1025,       65535,
                               65536,      0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001,
                               0xfffffff9, 0xfffffffe, 0xffffffff, 0,          12345679};
  const uint32_t edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
  std::vector<uint32_t> a, b;
  for (const uint32_t divisor : divisors) {
    for (uint32_t lane = 0; lane < 64; ++lane) {
      const uint32_t near = divisor * (static_cast<uint32_t>(random()) % 9) + lane % 3 - 1;
      a.push_back(lane < 8    ? edges[lane]
                  : lane < 40 ? near
                              : static_cast<uint32_t>(random()) >> lane % 32);
      b.push_back(divisor);
    }
  }
  b.back() = 3;  // One lane of the last warp has a different divisor.
  const auto div_u = evaluate<uint32_t, uint32_t>("div.u32 %d, %a, %b;", a, b),
             rem_u = evaluate<uint32_t, uint32_t>("rem.u32 %d, %a, %b;", a, b),
             div_s = evaluate<uint32_t, uint32_t>("div.s32 %d, %a, %b;", a, b),
             rem_s = evaluate<uint32_t, uint32_t>("rem.s32 %d, %a, %b;", a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t n = static_cast<int32_t>(a[i]), d = static_cast<int32_t>(b[i]);
    ASSERT_EQ(div_u[i], b[i] == 0 ? ~uint32_t{0} : a[i] / b[i]) << a[i] << " / " << b[i];
    ASSERT_EQ(rem_u[i], b[i] == 0 ? a[i] : a[i] % b[i]) << a[i] << " % " << b[i];
    ASSERT_EQ(div_s[i], d == 0 ? ~uint32_t{0} : static_cast<uint32_t>(n / d)) << n << " / " << d;
    ASSERT_EQ(rem_s[i], d == 0 ? a[i] : static_cast<uint32_t>(n % d)) << n << " % " << d;
  }
}

/// ctest runs this file's program once with each of these.
TEST(InstructionSet, IsTheOneThatTheEnvironmentNames) {
  const char* variable = std::getenv("GPUEMU_EMULATOR_ISA");
  const std::string wanted = variable == nullptr ? "" : variable;
  const auto device = make_emulator({.threads = 1});
  const auto module = device->load_module(with_header(".visible .entry k() { ret; }"), "k.ptx");
  if (wanted == "mmx") {
    ASSERT_FALSE(module.ok());
    EXPECT_NE(module.error().message.find("GPUEMU_EMULATOR_ISA: 'mmx' is none of portable"),
              std::string::npos)
        << module.error().message;
    return;
  }
  ASSERT_TRUE(module.ok()) << module.error().message;
  const bool portable = device->properties().name.find("(portable)") != std::string::npos;
  EXPECT_TRUE(wanted != "portable" || portable) << device->properties().name;
}

}  // namespace
}  // namespace gpuemu::emulator
