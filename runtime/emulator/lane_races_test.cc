// Races between the lanes of one warp, and which bytes of a word two accesses share.
#include <algorithm>
#include <array>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

struct Place {
  const char* space;
  uint32_t second_thread;  ///< The first access is of thread 0.
  const char* kind;        ///< Expected of the finding.
};
constexpr std::array kPlaces{Place{"shared", 1, "race_warp"}, Place{"shared", 32, "race_shared"},
                             Place{"global", 1, "race_warp"}, Place{"global", 32, "race_global"},
                             Place{"shared", 0, ""},          Place{"global", 0, ""}};
constexpr uint32_t kBytes = 16;

/// "st.shared.u16 [%address], %value", of 1 to 16 bytes.
std::string access(const std::string& what, const Place& place, uint32_t bytes,
                   const std::string& address, const std::string& value) {
  const std::string wide = "%rd" + value.substr(2);
  const std::string type = bytes == 16 ? ".v2.b64" : ".b" + std::to_string(8 * bytes);
  const std::string operand = bytes == 16  ? "{" + wide + ", " + wide + "}"
                              : bytes == 8 ? wide
                                           : value;
  const bool loads = what == "ld";
  const std::string head = what + "." + place.space + type + " ";
  return loads ? head + operand + ", [" + address + "];"
               : head + "[" + address + "], " + operand + ";";
}

/// Offsets a and b; thread 0 makes the first access, the place's other thread the second one.
std::string pair_of(const Place& place, const std::string& first, uint32_t first_bytes,
                    const std::string& second, uint32_t second_bytes) {
  const bool shared = std::string(place.space) == "shared";
  const std::string base =
      shared ? "mov.u32 %r3, tile; cvt.u64.u32 %rd1, %r3;" : "ld.param.u64 %rd1, [p];";
  return with_header(
      ".visible .entry k(.param .u64 p, .param .u32 a, .param .u32 b) {\n"
      " .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .shared .align 16 .b8 tile[32];\n"
      " mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, " +
      std::to_string(place.second_thread) + ";\n" + base +
      " ld.param.u32 %r4, [a]; ld.param.u32 %r5, [b]; cvt.u64.u32 %rd4, %r4; cvt.u64.u32 %rd5, "
      "%r5;\n"
      " add.u64 %rd4, %rd4, %rd1; add.u64 %rd5, %rd5, %rd1;\n"
      " mov.u32 %r6, 0x11111111; mov.u64 %rd6, 0x1111111111111111;\n"
      " mov.u32 %r7, 0x22222222; mov.u64 %rd7, 0x2222222222222222;\n @%p1 " +
      access(first, place, first_bytes, "%rd4", "%r6") + "\n @%p2 " +
      access(second, place, second_bytes, "%rd5", "%r7") + "\n ret;\n}\n");
}

/// Tries all offsets of the two accesses.
void compare(const Place& place, const std::string& first, uint32_t first_bytes,
             const std::string& second, uint32_t second_bytes) {
  TestKernel kernel(pair_of(place, first, first_bytes, second, second_bytes), 80, 1);
  kernel.config().block = {64, 1, 1};
  kernel.config().sanitize = {DeviceCheck::Memory, DeviceCheck::Race};
  const uint64_t data = kernel.buffer(std::vector<uint32_t>(8), "data");
  for (uint32_t a = 0; a < kBytes; a += first_bytes) {
    for (uint32_t b = 0; b < kBytes; b += second_bytes) {
      ASSERT_TRUE(kernel.device().fill(data, std::byte{0}, 2 * kBytes).ok());
      kernel.config().args.clear();
      const LaunchReport report = kernel.arg(data).arg(a).arg(b).run(false);
      const bool meet = a < b + second_bytes && b < a + first_bytes && place.second_thread != 0;
      std::vector<std::string> kinds;
      for (const DeviceFinding& finding : report.findings) {
        kinds.push_back(std::string(name_of(finding.kind)));
      }
      EXPECT_EQ(kinds, meet ? std::vector<std::string>{place.kind} : std::vector<std::string>{})
          << place.space << ", thread " << place.second_thread << ": " << first << " of "
          << first_bytes << " bytes at " << a << ", " << second << " of " << second_bytes
          << " bytes at " << b;
    }
  }
}

TEST(LaneRaces, AccessesOfEverySizeAreComparedByteByByte) {
  for (const Place& place : kPlaces) {
    for (uint32_t first = 1; first <= kBytes; first *= 2) {
      for (uint32_t second = 1; second <= kBytes; second *= 2) {
        compare(place, "st", first, "ld", second);
        compare(place, "ld", first, "st", second);
        compare(place, "st", first, "st", second);
      }
    }
  }
}

TEST(LaneRaces, WarpsMayHaveABytePerWarpInOneWord) {
  TestKernel kernel(with_header(R"(.visible .entry k() {
 .reg .b32 %r<9>; .reg .pred %p<3>; .shared .align 16 .b8 tile[16];
 mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; and.b32 %r3, %r1, 31; setp.ne.u32 %p1, %r3, 0;
 @%p1 bra DONE;
 mov.u32 %r4, tile; add.u32 %r4, %r4, %r2; mov.u32 %r5, 0;
AGAIN: add.u32 %r6, %r2, %r5; st.shared.u8 [%r4], %r6; ld.shared.u8 %r7, [%r4];
  add.u32 %r7, %r7, 5; st.shared.u8 [%r4], %r7;
 add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 50; @%p2 bra AGAIN;
DONE: ret; })"));
  kernel.config().block = {128, 1, 1};
  kernel.config().thread_order = ThreadOrder::Random;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    kernel.config().thread_order_seed = seed;
    kernel.run();
  }
}

TEST(LaneRaces, AFragmentOfWhatUnwrittenMemoryHoldsByChanceIsARace) {
  TestKernel kernel(with_header(R"(.visible .entry k() {
 .reg .b32 %r<9>; .reg .pred %p<3>; .shared .align 16 .b8 tile[512];
 mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; setp.ge.u32 %p2, %r1, 32;
 mov.u32 %r2, tile; mov.u32 %r3, 0;
 @%p1 ld.shared.u32 %r4, [%r2];
 @!%p2 bra END;
 wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%r2], {%r3,%r3,%r3,%r3};
END: ret; })"));
  kernel.config().block = {64, 1, 1};
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "race_shared");
}

TEST(LaneRaces, AStoreOfWhatUnwrittenMemoryHoldsByChanceIsARace) {
  for (const DeviceChecks& checks : {kUsualChecks, DeviceChecks{DeviceCheck::Race}}) {
    TestKernel kernel(with_header(R"(.visible .entry k() {
 .reg .b32 %r<9>; .reg .pred %p<3>; .shared .align 16 .b8 tile[16];
 mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32;
 mov.u32 %r2, tile; mov.u32 %r3, 0;
 @%p1 ld.shared.u32 %r4, [%r2];
 @%p2 st.shared.u32 [%r2], %r3;
 ret; })"));
    kernel.config().block = {64, 1, 1};
    kernel.config().sanitize = checks;
    const LaunchReport report = kernel.run(false);
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(name_of(report.findings[0].kind), "race_shared");
  }
}

/// %r3: the lane's word of `tile`; %r5: that of the neighbouring lane.
std::string exchange(const std::string& body) {
  return with_header(
      ".visible .entry k() { .reg .b32 %r<12>; .reg .pred %p<5>; .shared .align 16 .b8 tile[256];\n"
      " mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mad.lo.u32 %r3, %r1, 4, %r2; xor.b32 %r4, %r1, 1;\n"
      " mad.lo.u32 %r5, %r4, 4, %r2; mov.u32 %r8, 0;\n" +
      body + "\n ret; }\n");
}
std::vector<std::string> kinds_of(const std::string& body) {
  TestKernel kernel(exchange(body));
  std::vector<std::string> kinds;
  for (const DeviceFinding& finding : kernel.run(false).findings) {
    kinds.push_back(std::string(name_of(finding.kind)));
  }
  return kinds;
}
const std::vector<std::string> kNone, kOne{"race_warp"};

/// More of them than a count of events holds.
std::string often(const std::string& body) {
  return "AGAIN: " + body + " add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 20000; @%p1 bra AGAIN;\n";
}
const std::string kWrite = "add.u32 %r6, %r8, %r1; st.shared.u32 [%r3], %r6;";
const std::string kAnother = "add.u32 %r6, %r6, 3; st.shared.u32 [%r3], %r6;";
const std::string kRead = "ld.shared.u32 %r7, [%r5];";
const std::string kSync = "bar.warp.sync 0xffffffff;";

TEST(LaneRaces, EventsMayBeMoreThanTheirCountHolds) {
  EXPECT_EQ(kinds_of(often(kWrite + kSync + kRead + kSync)), kNone);
  EXPECT_EQ(kinds_of(often(kSync + kSync) + kWrite + kRead), kOne);
  EXPECT_EQ(kinds_of(often(kSync + kSync) + kWrite + kSync + kRead + kAnother), kOne);
}

TEST(LaneRaces, BarriersOfSomeLanesOrderThose) {
  const std::string pairs =
      "and.b32 %r9, %r1, 30; mov.u32 %r10, 3; shl.b32 %r9, %r10, %r9; bar.warp.sync %r9;";
  EXPECT_EQ(kinds_of(kWrite + pairs + kRead + pairs + kWrite), kNone);
  const std::string quads =
      "and.b32 %r9, %r1, 28; mov.u32 %r10, 15; shl.b32 %r9, %r10, %r9; bar.warp.sync %r9;";
  EXPECT_EQ(kinds_of(kWrite + quads + kRead), kNone);
  const std::string odd_and_even =
      "and.b32 %r9, %r1, 1; mov.u32 %r10, 0x55555555; shl.b32 %r9, %r10, %r9; bar.warp.sync %r9;";
  EXPECT_EQ(kinds_of(kWrite + odd_and_even + kRead), kOne);
  EXPECT_EQ(kinds_of(kWrite + kSync + kRead + odd_and_even + kAnother), kOne);
  EXPECT_EQ(kinds_of(kWrite + kSync + kRead + pairs + kAnother), kNone);
}

TEST(LaneRaces, ShufflesOrderWhatWasReadAndNotWhatWasWritten) {
  for (const char* meeting :
       {"shfl.sync.idx.b32 %r9, %r1, 0, 31, 0xffffffff;",
        "vote.sync.any.pred %p2, %p2, 0xffffffff;", "match.any.sync.b32 %r9, %r1, 0xffffffff;",
        "redux.sync.add.s32 %r9, %r1, 0xffffffff;"}) {
    const std::string meet = std::string("setp.eq.u32 %p2, %r1, 0; ") + meeting;
    EXPECT_EQ(kinds_of(kWrite + meet + kRead), kOne) << meeting;
    EXPECT_EQ(kinds_of(kWrite + kSync + kRead + meet + kAnother), kNone) << meeting;
  }
}

}  // namespace
}  // namespace gpuemu::emulator
