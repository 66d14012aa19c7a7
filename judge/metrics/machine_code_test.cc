// Tests the parsing of output of ptxas and cuobjdump, and the metrics derived from it.
#include <fstream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "judge/metrics/counts.h"
#include "judge/metrics/occupancy.h"
#include "judge/metrics/ptxas_log.h"
#include "judge/metrics/sass.h"

namespace gpuemu {
namespace {

/// How often each thing occurs, by name.
constexpr char kLog[] = R"(ptxas info    : 24 bytes gmem, 8 bytes cmem[4]
ptxas warning : Stack size for entry function 'second' cannot be statically determined
ptxas info    : (C7510) Potential Performance Loss
ptxas info    : Compiling entry function 'first' for 'sm_80'
ptxas info    : Function properties for first
    40 bytes stack frame, 36 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 18 registers, used 1 barriers, 40 bytes cumulative stack size, )"
                        R"(256 bytes smem, 372 bytes cmem[0], 8 bytes cmem[2], 1 textures
ptxas info    : Compile time = 50.536 ms
ptxas info    : Compiling entry function 'second' for 'sm_90a'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 31 registers
ptxas info    : Function properties for helper
    512 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
)";

TEST(PtxasLog, GivesTheNumbersOfEachEntry) {
  const auto entries = read_ptxas_log(kLog);
  ASSERT_EQ(entries.size(), 2u);
  const CompiledMetrics& first = entries.at("first");
  EXPECT_EQ(first.arch, "sm_80");
  EXPECT_EQ(first.registers, 18u);
  EXPECT_EQ(first.stack_bytes, 40u);
  EXPECT_EQ(first.spill_store_bytes, 36u);
  EXPECT_EQ(first.spill_load_bytes, 44u);
  EXPECT_EQ(first.barriers, 1u);
  EXPECT_EQ(first.shared_bytes, 256u);
  EXPECT_EQ(first.constant_bytes, (Counts{{"0", 372}, {"2", 8}}));
  const CompiledMetrics& second = entries.at("second");
  EXPECT_EQ(second.arch, "sm_90a");
  EXPECT_EQ(second.registers, 31u);
  EXPECT_EQ(second.stack_bytes, 0u);  // Not that of the next function.
}

TEST(PtxasLog, CutOrChangedAnywhereIsReadWithoutHarm) {
  const std::string log = kLog;
  std::mt19937 random(5);
  for (size_t length = 0; length < log.size(); length += 7) {
    EXPECT_LE(read_ptxas_log(log.substr(0, length)).size(), 2u);
    std::string changed = log;
    changed[random() % changed.size()] = static_cast<char>(random());
    EXPECT_LE(read_ptxas_log(changed).size(), 3u);
  }
}

// --- occupancy -----------------------------------------------------------------------------------

CompiledMetrics compiled(const std::string& arch, uint32_t registers, uint64_t shared = 0) {
  CompiledMetrics metrics;
  metrics.arch = arch;
  metrics.registers = registers;
  metrics.shared_bytes = shared;
  return metrics;
}

struct OccupancyRow {
  const char* arch;
  uint32_t registers;
  uint64_t shared;
  uint32_t threads, blocks;
  const char* limiter;
};

TEST(Occupancy, IsWhatTheCalculatorOfCudaSays) {
  const OccupancyRow rows[] = {
      {"sm_80", 32, 0, 256, 8, "warps"},      {"sm_80", 33, 0, 256, 6, "registers"},
      {"sm_80", 64, 0, 256, 4, "registers"},  {"sm_80", 255, 0, 256, 1, "registers"},
      {"sm_80", 16, 0, 32, 32, "blocks"},     {"sm_80", 16, 49152, 128, 3, "shared memory"},
      {"sm_75", 32, 0, 1024, 1, "warps"},     {"sm_75", 16, 16384, 128, 4, "shared memory"},
      {"sm_86", 40, 0, 256, 6, "warps"},      {"sm_89", 16, 0, 32, 24, "blocks"},
      {"sm_90", 128, 0, 384, 1, "registers"}, {"sm_90a", 24, 65536, 256, 3, "shared memory"},
      {"sm_90", 72, 0, 96, 9, "registers"},
  };
  for (const OccupancyRow& row : rows) {
    const auto found =
        occupancy_of(compiled(row.arch, row.registers, row.shared), {row.threads, 0});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->blocks, row.blocks) << row.arch << " " << row.registers << " " << row.threads;
    EXPECT_STREQ(name_of(found->limiter), row.limiter)
        << row.arch << " " << row.registers << " " << row.threads;
  }
}

TEST(Occupancy, IsWhatAnH100Answers) {
  std::ifstream file(std::string(GPUEMU_SOURCE_DIR) + "/tests/golden/occupancy/sm_90.txt");
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream numbers(line);
    uint32_t registers = 0, threads = 0;
    uint64_t fixed = 0, dynamic = 0;
    int64_t blocks = 0;
    numbers >> registers >> fixed >> dynamic >> threads >> blocks;
    const auto found = occupancy_of(compiled("sm_90", registers, fixed), {threads, dynamic});
    EXPECT_EQ(found ? int64_t{found->blocks} : -1, blocks) << line;
    ++rows;
  }
  EXPECT_GT(rows, 300);
}

TEST(Occupancy, NeverGrowsWithWhatAKernelNeeds) {
  std::mt19937 random(11);
  const auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  for (int round = 0; round < 400; ++round) {
    const char* archs[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90"};
    const CompiledMetrics one = compiled(archs[below(5)], 1 + below(250), below(40'000));
    CompiledMetrics more = one;
    more.registers += below(5);
    more.shared_bytes += below(5'000);
    const uint32_t threads = 1 + below(1024);
    const auto least = occupancy_of(more, {threads, 0});
    const auto most = occupancy_of(one, {threads, 0});
    ASSERT_TRUE(least && most);
    EXPECT_LE(least->warps, most->warps);
    EXPECT_LE(most->warps, most->warps_max);
  }
}

TEST(Occupancy, OfALaunchThatCannotBeSaysWhy) {
  const auto unknown = occupancy_of(compiled("sm_52", 32), {128, 0});
  EXPECT_EQ(unknown.error().code, ErrorCode::Unsupported);
  EXPECT_NE(unknown.error().message.find("sm_52"), std::string::npos);
  EXPECT_NE(occupancy_of(compiled("sm_80", 32), {2000, 0}).error().message.find("2000 threads"),
            std::string::npos);
  EXPECT_NE(
      occupancy_of(compiled("sm_80", 32), {32, 200'000}).error().message.find("at most 166912"),
      std::string::npos);
}

// --- machine code --------------------------------------------------------------------------------

constexpr char kSass[] = R"(
	code for sm_80
		Function : softmax
	.headerflags	@"EF_CUDA_SM80"
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;/* 0x00000a0000017624 */
                                                                    /* 0x000fe400078e00ff */
        /*0010*/              @!P0 LDG.E R0, [R2.64] ;              /* 0x0000000000007919 */
        /*0020*/                   MUFU.EX2 R4, R4 ;                /* 0x0000000000007919 */
        /*0030*/                   MUFU.EX2 R5, R4 ;                /* 0x0000000000007919 */
        /*0040*/                   HMMA.16816.F32 R4, R8, R6, R4 ;  /* 0x0000000000007919 */
        /*0050*/                   EXIT ;                           /* 0x0000000000007919 */
        /*0060*/                   NOP;                             /* 0x0000000000007919 */
		..........
		Function : other
        /*0000*/                   EXIT ;                           /* 0x0000000000007919 */
)";

TEST(Sass, IsCountedByClassPerKernel) {
  const auto kernels = read_sass(kSass);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "softmax");
  EXPECT_EQ(kernels[0].metrics.arch, "sm_80");
  EXPECT_EQ(kernels[0].metrics.sass_instructions, 7u);
  EXPECT_EQ(kernels[0].metrics.sass_classes, (Counts{{"control", 1},
                                                     {"global", 1},
                                                     {"integer", 1},
                                                     {"nop", 1},
                                                     {"special", 2},
                                                     {"tensor", 1}}));
  EXPECT_EQ(kernels[0].mnemonics[1], "LDG.E");
  EXPECT_EQ(kernels[1].metrics.sass_instructions, 1u);
}

constexpr char kFlow[] = R"(
	code for sm_80
		Function : k
        /*0030*/               @P0 EXIT ;                           /* 0x000000000000094d */
        /*0050*/                   BSSY B0, 0x160 ;                 /* 0x0000010000007945 */
        /*00e0*/                   CALL.REL.NOINC 0x1a0 ;          /* 0x000000b000007944 */
        /*0110*/                   BRA P1, 0x150 ;                 /* 0x0000000000007947 */
        /*0120*/              @!P0 BRA 0x80 ;                      /* 0xffffff3000009947 */
        /*0140*/              @!P1 BRA 0x80 ;                      /* 0xffffff3000009947 */
        /*0145*/               @P1 BRA 0x145 ;                     /* 0xffffff3000009947 */
        /*0150*/                   BSYNC B0 ;                      /* 0x0000000000007941 */
        /*0160*/                   BRX R4 -0x170 ;                 /* 0x0000000000007949 */
        /*0190*/                   EXIT ;                          /* 0x000000000000794d */
        /*01c0*/                   RET.REL.NODEC R4 0x0 ;          /* 0xfffffe3004007950 */
        /*01d0*/                   BRA 0x1d0;                      /* 0xfffffff000007947 */
		Function : straight
        /*0000*/                   EXIT ;                           /* 0x000000000000794d */
        /*0010*/                   BRA 0x10;                        /* 0xfffffff000007947 */
)";

TEST(Sass, CountsBranchesLoopsCallsAndExits) {
  const auto kernels = read_sass(kFlow);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].metrics.sass_control, (Counts{{"branches", 5},
                                                     {"calls", 1},
                                                     {"computed branches", 1},
                                                     {"conditional branches", 4},
                                                     {"exits", 2},
                                                     {"loops", 2},
                                                     {"predicated exits", 1},
                                                     {"reconvergence points", 1},
                                                     {"returns", 1}}));
  EXPECT_EQ(kernels[1].metrics.sass_control, (Counts{{"exits", 1}}));
}

TEST(Sass, CutOrChangedAnywhereIsReadWithoutHarm) {
  const std::string listing = kFlow;
  std::mt19937 random(5);
  for (size_t length = 0; length < listing.size(); length += 3) {
    EXPECT_LE(read_sass(listing.substr(0, length)).size(), 2u);
    std::string changed = listing;
    changed[random() % changed.size()] = static_cast<char>(random());
    EXPECT_LE(read_sass(changed).size(), 2u);
  }
}

TEST(Sass, HasAClassForEachKindOfOpcode) {
  const std::pair<const char*, const char*> rows[] = {
      {"FFMA", "float"},     {"FLO", "integer"},    {"FRND", "convert"}, {"DFMA", "double"},
      {"DEPBAR", "async"},   {"HFMA2.MMA", "half"}, {"LDGSTS", "async"}, {"LDS.128", "shared"},
      {"LDSM.16", "shared"}, {"STL", "local"},      {"REDUX", "warp"},   {"RED.E", "atomic"},
      {"ULDC", "constant"},  {"UIADD3", "uniform"}, {"S2R", "move"},     {"BAR.SYNC", "barrier"},
      {"VIADD", "integer"},  {"WHATEVER", "other"}};
  for (const auto& [opcode, name] : rows) EXPECT_EQ(sass_class(opcode), name) << opcode;
}

TEST(ResourceUsage, LeavesOutWhatTheSystemTakes) {
  constexpr char kUsage[] = R"(
Fatbin elf code:
================
arch = sm_90

Resource usage:
 Common:
  GLOBAL:0
 Function softmax:
  REG:20 STACK:8 SHARED:1280 LOCAL:0 CONSTANT[0]:548 CONSTANT[3]:0 TEXTURE:0 SURFACE:0 SAMPLER:0
)";
  const auto kernels = read_resource_usage(kUsage, "");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].metrics.arch, "sm_90");
  EXPECT_EQ(kernels[0].metrics.registers, 20u);
  EXPECT_EQ(kernels[0].metrics.stack_bytes, 8u);
  EXPECT_EQ(kernels[0].metrics.shared_bytes, 256u);
  EXPECT_EQ(kernels[0].metrics.constant_bytes, (Counts{{"0", 548}}));
}

}  // namespace
}  // namespace gpuemu
