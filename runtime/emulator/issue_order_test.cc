// Tests blocks that wait for blocks that a real GPU starts later, and others that need not wait.
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

/// %r1: thread; %r2: block; %r3: blocks; %rd1: words that are 0. Only thread 0 executes `body`.
std::string entry(const std::string& body) {
  return with_header(
      ".visible .entry k(.param .u64 p) {\n .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<9>;\n"
      " ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, "
      "%nctaid.x;\n setp.ne.u32 %p1, %r1, 0; @%p1 bra END;\n" +
      body + "\nEND: ret;\n}\n");
}
/// Waits until the word of block %r8 is set.
const std::string kWait =
    " mad.wide.u32 %rd2, %r8, 4, %rd1;\nW: ld.acquire.gpu.global.u32 %r9, [%rd2]; setp.eq.u32 %p2, "
    "%r9, 0; @%p2 bra W;\n";
/// Sets that of block %r7.
const std::string kSet =
    " mad.wide.u32 %rd3, %r7, 4, %rd1; mov.u32 %r9, 1; st.release.gpu.global.u32 [%rd3], %r9;\n";
const std::string kBarrier =
    " atom.global.add.u32 %r9, [%rd1], 1;\nW: ld.acquire.gpu.global.u32 %r9, [%rd1]; setp.lt.u32 "
    "%p2, %r9, %r3; @%p2 bra W;\n";
/// Every block waits for the next one: the last one sets its word at once.
const std::string kForNext =
    "add.u32 %r8, %r2, 1; mov.u32 %r7, %r2; setp.eq.u32 %p3, %r8, %r3; "
    "@%p3 bra SET;\n" +
    kWait + "SET:" + kSet;
const std::string kForPrevious =
    "mov.u32 %r7, %r2; setp.eq.u32 %p3, %r2, 0; @%p3 bra SET; sub.u32 %r8, %r2, 1;\n" + kWait +
    "SET:" + kSet;

struct Grid {
  uint32_t blocks = 32, threads = 64;
  uint64_t grown = 1 << 20;
  int sm = 80;
};
LaunchReport run(const std::string& body, const Grid& grid, bool in_issue_order) {
  TestKernel kernel(entry(body), grid.sm);
  kernel.config().grid = {grid.blocks, 1, 1};
  kernel.config().block = {grid.threads, 1, 1};
  kernel.config().grown_blocks = grid.grown;
  kernel.config().in_issue_order = in_issue_order;
  kernel.config().timeout_ms = 60'000;
  kernel.arg(kernel.buffer(std::vector<uint32_t>(grid.blocks + 2, 0), "flag"));
  return kernel.run(false);
}
/// What the launch in issue order says; "" when nothing. A launch in any order says nothing, and
/// whether the other one is worth while.
std::string said(const std::string& body, const Grid& grid = {}) {
  const LaunchReport first = run(body, grid, false), second = run(body, grid, true);
  EXPECT_TRUE(first.findings.empty()) << first.findings.front().message;
  if (second.findings.empty()) return "";
  EXPECT_TRUE(first.blocks_met) << "nobody would have launched it again";
  EXPECT_EQ(name_of(second.findings.front().kind), "deadlock");
  return second.findings.front().message;
}
void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
}

TEST(IssueOrder, ABarrierOfAGridThatGrowsIsADeadlock) {
  expect_words(said(kBarrier),
               {"all 16 blocks in progress wait", "16 of the 32 of the grid have not begun",
                "larger than the 3456 blocks", "sm_80 with 108 multiprocessors",
                "reads 'flag' element 0, which is 16", "block (0,0,0)"});
}
TEST(IssueOrder, AChainOfBlocksThatWaitForTheNextOneIsADeadlock) {
  expect_words(said(kForNext, {.blocks = 40}), {"wait in loops for blocks that begin after them"});
}
TEST(IssueOrder, AGridThatThePartCannotHoldIsADeadlockHoweverItGrows) {
  // 16 of 1024 threads: one per multiprocessor of sm_75.
  const Grid grid{.blocks = 80, .threads = 1024, .grown = 0, .sm = 75};
  expect_words(said(kBarrier, grid), {"all 72 blocks in progress wait", "no other ever begins",
                                      "sm_75 with 72 multiprocessors"});
  EXPECT_EQ(said(kBarrier, {.blocks = 72, .threads = 1024, .grown = 72, .sm = 75}), "");
}
TEST(IssueOrder, ABarrierOfABoundedGridIsNone) { EXPECT_EQ(said(kBarrier, {.grown = 108}), ""); }
TEST(IssueOrder, WaitingForLowerNumbersIsNone) { EXPECT_EQ(said(kForPrevious), ""); }
TEST(IssueOrder, TicketsInAnyOrderAreNone) {
  // The ticket is the block number; the words begin after the counter.
  EXPECT_EQ(said("atom.global.add.u32 %r2, [%rd1], 1; add.u32 %r7, %r2, 1; setp.eq.u32 %p3, %r2, "
                 "0; @%p3 bra SET; mov.u32 %r8, %r2;\n" +
                 kWait + "SET:" + kSet),
            "");
}
TEST(IssueOrder, PairsThatWaitForEachOtherAreNone) {
  EXPECT_EQ(said("mov.u32 %r7, %r2;" + kSet + "xor.b32 %r8, %r2, 1;" + kWait), "");
}
TEST(IssueOrder, ALockIsNone) {
  EXPECT_EQ(said("W: atom.global.cas.b32 %r9, [%rd1], 0, 1; setp.ne.u32 %p2, %r9, 0; @%p2 bra W;\n"
                 "atom.global.exch.b32 %r9, [%rd1], 0;"),
            "");
}
TEST(IssueOrder, BlocksThatComputeForLongAreNone) {
  EXPECT_EQ(said("mov.u32 %r8, 0;\nL: add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 200000; @%p2 bra "
                 "L;\n atom.global.add.u32 %r9, [%rd1], 1;"),
            "");
}
TEST(IssueOrder, AWaitWithATimeLimitIsNone) {
  EXPECT_EQ(said("mov.u64 %rd5, %globaltimer; atom.global.add.u32 %r9, [%rd1], 1;\n"
                 "W: ld.acquire.gpu.global.u32 %r9, [%rd1]; mov.u64 %rd6, %globaltimer; sub.u64 "
                 "%rd6, %rd6, %rd5; setp.gt.u64 %p3, %rd6, 1000000; @%p3 bra END;\n"
                 "setp.lt.u32 %p2, %r9, %r3; @%p2 bra W;"),
            "");
}

}  // namespace
}  // namespace gpuemu::emulator
