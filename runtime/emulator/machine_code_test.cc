// Tests that machine code behaves like the handlers, bit for bit and finding by finding: random
// programs, accesses of every shape, and faults within straight-line code.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#include <unistd.h>

#include "runtime/emulator/decode/decode.h"
#include "runtime/emulator/jit/compile.h"
#include "runtime/emulator/jit/emitter.h"
#include "runtime/emulator/random_programs.h"
#include "runtime/ptx/parse.h"

namespace gpuemu::emulator {
namespace {

/// Bits of all kinds of numbers: infinities, NaNs with payloads, subnormals and small integers too.
std::vector<uint64_t> inputs(uint32_t seed, size_t count) {
  static constexpr uint32_t kSpecial[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                          0x7fc00001, 0xffa00000, 0x00000001, 0x807fffff,
                                          0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff,
                                          0xffffffff, 31,         0x7fffffff};
  std::mt19937_64 random(seed);
  const auto word = [&] {
    const uint64_t r = random();
    const auto bits = static_cast<uint32_t>(r >> 32);
    if (r % 4 == 0) return kSpecial[bits % std::size(kSpecial)];
    return r % 4 == 1 ? bits % 100 : r % 4 == 2 ? 0x3f000000 + bits % 0x1000000 : bits;
  };
  std::vector<uint64_t> values(count);
  for (uint64_t& value : values) {
    const uint64_t high = word();
    value = high << 32 | word();
  }
  return values;
}

/// Skips where nothing is compiled: both sides would be the handlers and agree.
class MachineCodeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!runs_compiled_code()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  }
};

struct Outcome {
  std::vector<uint64_t> out, place;
  std::vector<std::string> findings;
  uint64_t instructions = 0;
};

constexpr size_t kOutWords = kThreads * (2 * kWords + 3 * kLongs + kPredicates), kPlaceWords = 512;

Outcome run(const std::string& ptx, MachineCode code, const DeviceChecks& sanitize, uint32_t seed) {
  TestKernel kernel(ptx, 80, 1, code);
  const uint64_t out = kernel.buffer(std::vector<uint64_t>(kOutWords), "out");
  const uint64_t in = kernel.buffer(inputs(seed, kOutWords), "in");
  const uint64_t place = kernel.buffer(inputs(seed + 1, kPlaceWords), "place");
  kernel.config().block = {kThreads, 1, 1};
  kernel.config().sanitize = sanitize;
  const LaunchReport report = kernel.arg(out).arg(in).arg(place).run(false);
  Outcome outcome{kernel.read<uint64_t>(out, kOutWords),
                  kernel.read<uint64_t>(place, kPlaceWords),
                  {},
                  report.thread_instructions};
  for (const DeviceFinding& finding : report.findings) {
    // Without addresses, which are those of the host, as is what lies beside a tensor.
    const std::string where = name_of(finding.kind) == "out_of_bounds" && finding.tensor != "place"
                                  ? "elsewhere"
                                  : fmt::format("{}+{}", finding.tensor, finding.byte_offset);
    outcome.findings.push_back(fmt::format("{} x{} {} line {}", name_of(finding.kind),
                                           finding.count, where, finding.ptx_line));
  }
  return outcome;
}

void expect_same(const std::string& ptx, const DeviceChecks& sanitize, uint32_t seed) {
  const Outcome by_handlers = run(ptx, MachineCode::Never, sanitize, seed);
  const Outcome compiled = run(ptx, MachineCode::Always, sanitize, seed);
  EXPECT_EQ(compiled.findings, by_handlers.findings) << "seed " << seed << "\n" << ptx;
  EXPECT_EQ(compiled.instructions, by_handlers.instructions);
  EXPECT_EQ(compiled.place, by_handlers.place) << "seed " << seed << "\n" << ptx;
  for (size_t i = 0; i < by_handlers.out.size(); ++i) {
    ASSERT_EQ(compiled.out[i], by_handlers.out[i])
        << "register " << i / kThreads << " of thread " << i % kThreads << ", seed " << seed << "\n"
        << ptx;
  }
}

TEST_F(MachineCodeTest, RandomProgramsGiveTheSameBits) {
  constexpr uint32_t kPrograms = 300;
  for (uint32_t seed = 0; seed < kPrograms && !HasFailure(); ++seed) {
    expect_same(RandomPrograms(seed).write(20 + seed % 120), {DeviceCheck::Memory}, seed);
  }
}

TEST_F(MachineCodeTest, RandomProgramsThatAreWatchedGiveTheSameFindings) {
  constexpr uint32_t kPrograms = 60;
  for (uint32_t seed = 0; seed < kPrograms && !HasFailure(); ++seed) {
    const std::string ptx = RandomPrograms(1000 + seed).write(80);
    expect_same(ptx, {DeviceCheck::Memory, DeviceCheck::Init, DeviceCheck::Race, DeviceCheck::Sync},
                seed);
    expect_same(ptx, {DeviceCheck::Memory, DeviceCheck::Init}, seed);
    expect_same(ptx, {DeviceCheck::Memory, DeviceCheck::RaceShared}, seed);
    expect_same(ptx, {DeviceCheck::Memory, DeviceCheck::Init, DeviceCheck::RaceShared}, seed);
    expect_same(ptx, {DeviceCheck::Memory, DeviceCheck::Nonfinite}, seed);
  }
}

/// Makes one access three times, a step further each time: at first it is inside and aligned, so
/// that machine code does it, then it leaves its tensor or is not aligned. Before and behind it is
/// work that only registers hold.
std::string faulting(const std::string& access, const std::string& step) {
  std::string ptx = RandomPrograms(7).write(40);
  const std::string text =
      " .reg .b32 %k, %sx; .reg .b64 %ax; .reg .pred %more; mov.u32 %k, 0;\nAGAIN:\n"
      " mul.lo.s32 %o, %k, " +
      step +
      "; cvt.s64.s32 %y, %o; add.s64 %ax, %c0, %y;\n"
      " add.s32 %sx, %h0, %o; add.s32 %r1, %r1, %r2; fma.rn.f32 %f1, %f2, %f3, %f4;\n"
      " mul.wide.s32 %d0, %r1, %r2; setp.lt.s32 %p1, %r1, %r3;\n " +
      access +
      "\n"
      " add.s32 %r4, %r3, %r1; ld.global.u32 %r6, [%a0]; fma.rn.f32 %f5, %f1, %f1, %f1;\n"
      " add.u32 %k, %k, 1; setp.lt.u32 %more, %k, 3;\n @%more bra AGAIN;\n";
  return ptx.insert(ptx.find(" ld.param.u64 %x, [out]"), text);
}

TEST_F(MachineCodeTest, FaultsInTheMiddleOfAStretchAreThoseOfTheHandlers) {
  for (const std::string access :
       {"ld.global.u32 %r3, [%ax];", "st.global.u32 [%ax], %r1;", "ld.global.b64 %d1, [%ax+8];",
        "st.global.b64 [%ax], %d0;", "ld.global.u16 %q1, [%ax];", "st.global.u8 [%ax+3], %r2;",
        "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%ax];", "st.global.v2.f32 [%ax], {%f1, %f2};",
        "ld.shared.u32 %r3, [%sx+4];", "st.shared.u32 [%sx], %r2;", "ld.shared.b64 %d3, [%sx];",
        "st.shared.b64 [%sx], %d3;", "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%sx];",
        "ld.shared.s8 %r3, [%sx+1];", "ld.global.u32 %r3, [%ax]; ld.global.u32 %r5, [%ax+64];"}) {
    for (const std::string step : {"1", "2", "1900", "1904", "-1100", "1073741824"}) {
      // Global memory that far away may hold anything.
      if (step.size() > 6 && access.find("shared") == std::string::npos) continue;
      SCOPED_TRACE(access + " a step of " + step);
      const std::string ptx = faulting(access, step);
      expect_same(ptx, {DeviceCheck::Memory}, 7);
      expect_same(
          ptx, {DeviceCheck::Memory, DeviceCheck::Init, DeviceCheck::Race, DeviceCheck::Sync}, 7);
      expect_same(ptx, {DeviceCheck::Memory, DeviceCheck::Init}, 7);
    }
  }
}

/// Memory that nothing wrote, read in a straight-line run: what follows it decides whether it
/// matters.
TEST_F(MachineCodeTest, ValuesThatNothingWroteAreFollowedFromTheMiddleOfAStretch) {
  const std::string ptx = with_header(R"(
.visible .entry k(.param .u64 out, .param .u64 in, .param .u64 place) {
  .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<6>;
  ld.param.u64 %d0, [out]; ld.param.u64 %d1, [in];
  mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4;
  add.u64 %d3, %d0, %d2; add.u64 %d4, %d1, %d2;
  add.u32 %r1, %r0, 5;
  ld.global.u32 %r2, [%d4];
  and.b32 %r3, %r2, 0;
  add.u32 %r4, %r1, %r3;
  st.global.u32 [%d3], %r4;
  add.u32 %r5, %r2, %r1;
  setp.eq.u32 %p, %r5, 77;
  @%p bra DONE;
  st.global.u32 [%d3], %r1;
DONE: ret;
})");
  const auto findings = [&](MachineCode code) {
    TestKernel kernel(ptx, 80, 1, code);
    const uint64_t out = kernel.buffer(std::vector<uint64_t>(kThreads), "out");
    const uint64_t in = *kernel.device().allocate(kThreads * 4, "in");
    kernel.config().block = {kThreads, 1, 1};
    kernel.config().sanitize = {DeviceCheck::Memory, DeviceCheck::Init};
    std::vector<std::string> all;
    for (const DeviceFinding& each : kernel.arg(out).arg(in).arg(in).run(false).findings) {
      all.push_back(fmt::format("{}: {}", name_of(each.kind), each.message));
    }
    return all;
  };
  const auto by_handlers = findings(MachineCode::Never);
  EXPECT_FALSE(by_handlers.empty());
  EXPECT_EQ(findings(MachineCode::Always), by_handlers);
}

/// Two kinds of loads by one register, the one between the other two far behind the tensor: what
/// was looked at for those says nothing of it.
TEST_F(MachineCodeTest, AnAccessOfAnotherKindBetweenTwoIsLookedAtItself) {
  const std::string loads =
      " ld.global.u32 %r3, [%ax]; ld.b32 %r4, [%ax+8192]; ld.global.u32 %r5, [%ax+64];";
  expect_same(faulting(loads, "0"), {DeviceCheck::Memory}, 7);
  expect_same(faulting(loads, "0"), {DeviceCheck::Memory, DeviceCheck::Init}, 7);
}

/// Every instruction for which there is machine code.
class AllInstructions : public MachineCodeTest {
 protected:
  void SetUp() override {
    MachineCodeTest::SetUp();
    auto module = ptx::parse(RandomPrograms(0).write_all(), "test.ptx");
    ASSERT_TRUE(module) << module.error().message;
    program_.module = std::move(*module);
    list_functions(program_);
    ASSERT_TRUE(place_variables(program_, memory_).ok());
    decode(program_);
  }

  /// Returns the lines of objdump for the machine code, without its constants.
  std::vector<std::string> disassemble(Accesses accesses) {
    const auto code =
        std::static_pointer_cast<Emitter>(program_.functions[0].compiled[accesses].memory);
    const std::string path = testing::TempDir() + fmt::format("avx2_code_{}", getpid());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(code->getCode()),
               static_cast<std::streamsize>(code->instruction_bytes()));
    const std::string command =
        "objdump -D --insn-width=16 -b binary -m i386:x86-64 '" + path + "'";
    std::vector<std::string> lines;
    FILE* const pipe = popen(command.c_str(), "r");
    char line[512];
    while (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) {
      lines.emplace_back(line);
    }
    if (pipe != nullptr) pclose(pipe);
    std::remove(path.c_str());
    return lines;
  }

  Program program_;
  Memory memory_{uint64_t{1} << 20};
};

/// A function that could not be compiled would run by handlers, and every comparison hold.
TEST_F(AllInstructions, AreCompiledForEverythingALaunchMayAsk) {
  Code& code = program_.functions[0];
  for (const Target target : {Target::Avx2, Target::Avx512}) {
    for (Accesses accesses = 0; accesses < kAccesses; ++accesses) {
      code.compiled[accesses] = {};
      compile_code(code, accesses, target);
      EXPECT_FALSE(code.compiled[accesses].at.empty()) << "accesses " << +accesses;
    }
  }
}

/// A processor with AVX2 alone knows no vectors of 64 bytes, none beyond the first 16, no opmasks,
/// and no instructions that came with them.
TEST_F(AllInstructions, AreCompiledForAvx2WithoutInstructionsOfAvx512) {
  if (std::system("objdump --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "needs objdump";
  for (Accesses accesses = 0; accesses < kAccesses; ++accesses) {
    program_.functions[0].compiled[accesses] = {};
    compile_code(program_.functions[0], accesses, Target::Avx2);
    const std::vector<std::string> lines = disassemble(accesses);
    ASSERT_GT(lines.size(), 1000u);
    size_t of_vectors = 0;
    for (const std::string& line : lines) {
      if (line.find("%ymm") != std::string::npos) ++of_vectors;
      // The bytes of an instruction follow its address and a tab; EVEX begins with 62.
      const size_t bytes = line.find(":\t");
      const bool evex = bytes != std::string::npos && line.compare(bytes + 2, 3, "62 ") == 0;
      EXPECT_FALSE(evex || line.find("%zmm") != std::string::npos ||
                   line.find("%k") != std::string::npos || line.find("(bad)") != std::string::npos)
          << line;
    }
    EXPECT_GT(of_vectors, 500u);
  }
}

}  // namespace
}  // namespace gpuemu::emulator
