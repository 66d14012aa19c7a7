// Tests other orders of execution than the default: correct kernels give the same result in all of
// them, and results that depend on the order differ.
#include <map>
#include <set>

#include "runtime/emulator/machine/thread_scheduler.h"
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

constexpr ThreadOrder kAll[] = {
    ThreadOrder::InOrder,  ThreadOrder::Reverse,  ThreadOrder::Random,    ThreadOrder::Priorities,
    ThreadOrder::FarAhead, ThreadOrder::OneBlock, ThreadOrder::SplitWarps};

/// Each thread gives the number of those that came before it: the order of execution.
const char* const kTickets =
    ".visible .entry k(.param .u64 py, .param .u64 pc) {\n .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [py]; ld.param.u64 %rd2, [pc]; mov.u32 %r1, %tid.x; mov.u32 %r2, "
    "%ctaid.x;\n mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;\n"
    " atom.global.add.u32 %r5, [%rd2], 1; mad.wide.u32 %rd3, %r4, 4, %rd1;\n"
    " st.global.u32 [%rd3], %r5; ret;\n}\n";

std::vector<uint32_t> tickets(ThreadOrder how, uint64_t seed) {
  TestKernel kernel(with_header(kTickets));
  const uint64_t out = *kernel.device().allocate(8 * 128 * 4, "y"),
                 counter = kernel.buffer(std::vector<uint32_t>{0}, "counter");
  kernel.arg(out).arg(counter);
  kernel.config().grid = {8, 1, 1};
  kernel.config().block = {128, 1, 1};
  kernel.config().thread_order = how;
  kernel.config().thread_order_seed = seed;
  kernel.run();
  return kernel.read<uint32_t>(out, 8 * 128);
}

TEST(ThreadOrder, FollowsFromTheSeedAlone) {
  for (const ThreadOrder how : kAll) {
    if (how == ThreadOrder::InOrder) continue;  // On several threads of the host.
    EXPECT_EQ(tickets(how, 7), tickets(how, 7)) << name_of(how);
  }
}

TEST(ThreadOrder, LetsEveryThreadRunOnceInAnyOrder) {
  for (const ThreadOrder how : kAll) {
    const std::vector<uint32_t> order = tickets(how, 3);
    const std::set<uint32_t> all(order.begin(), order.end());
    EXPECT_EQ(all.size(), order.size()) << name_of(how);
    EXPECT_EQ(*all.rbegin(), order.size() - 1) << name_of(how);
  }
}

TEST(ThreadOrder, BeginsWithTheLastBlockAndWarpWhereItIsReversed) {
  const std::vector<uint32_t> order = tickets(ThreadOrder::Reverse, 0);
  EXPECT_EQ(order[7 * 128 + 96], 0u);
  EXPECT_GT(order[0], order[7 * 128]);
}

TEST(ThreadOrder, MixesBlocksAtRandom) {
  const std::vector<uint32_t> order = tickets(ThreadOrder::Random, 5);
  size_t changes = 0;
  std::map<uint32_t, uint32_t> block_at;
  for (uint32_t i = 0; i < order.size(); ++i) block_at[order[i]] = i / 128;
  for (uint32_t i = 1; i < order.size(); ++i) changes += block_at[i] != block_at[i - 1] ? 1 : 0;
  EXPECT_GT(changes, 8u);  // More than from each block to the next.
}

TEST(ThreadOrder, ComesToEveryBlockOnce) {
  for (const ThreadOrder how : kAll) {
    for (const uint64_t count : {1u, 2u, 6u, 7u, 64u, 97u}) {
      std::set<uint64_t> seen;
      const BlockOrder order(how, count + 1, count);
      for (uint64_t number = 0; number < count; ++number) seen.insert(order.at(number));
      EXPECT_EQ(seen.size(), count) << name_of(how);
      EXPECT_LT(*seen.rbegin(), count) << name_of(how);
    }
  }
}

/// A sum over the block in shared memory; without its barrier the warps read each other's words too
/// early.
std::string neighbours(bool barrier) {
  return with_header(
      std::string(
          ".visible .entry k(.param .u64 py) {\n .shared .align 4 .b8 tile[512];\n .reg .b32 "
          "%r<8>; .reg .b64 %rd<4>;\n ld.param.u64 %rd1, [py]; mov.u32 %r1, %tid.x; mov.u32 "
          "%r2, tile;\n shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], "
          "%r1;\n ") +
      (barrier ? "bar.sync 0;\n" : "") +
      " add.u32 %r5, %r3, 128; and.b32 %r5, %r5, 511; add.u32 %r5, %r2, %r5;\n"
      " ld.shared.u32 %r6, [%r5]; mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r6; "
      "ret;\n}\n");
}

std::vector<uint32_t> run_neighbours(bool barrier, ThreadOrder how) {
  TestKernel kernel(neighbours(barrier));
  const uint64_t out = *kernel.device().allocate(512, "y");
  kernel.arg(out);
  kernel.config().block = {128, 1, 1};
  kernel.config().sanitize = {DeviceCheck::Memory};
  kernel.config().thread_order = how;
  kernel.config().thread_order_seed = 11;
  kernel.run();
  return kernel.read<uint32_t>(out, 128);
}

TEST(ThreadOrder, ChangesNothingWhereBarriersAreRight) {
  const std::vector<uint32_t> expected = run_neighbours(true, ThreadOrder::InOrder);
  for (const ThreadOrder how : kAll) EXPECT_EQ(run_neighbours(true, how), expected) << name_of(how);
}

TEST(ThreadOrder, ShowsAMissingBarrier) {
  EXPECT_NE(run_neighbours(false, ThreadOrder::Reverse),
            run_neighbours(false, ThreadOrder::InOrder));
}

/// Lanes that part write one after the other to the same word: the last one stays.
TEST(ThreadOrder, SplitWarpsRunTheOtherLanesFirst) {
  const std::string body = with_header(
      ".visible .entry k(.param .u64 py) {\n .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
      " ld.param.u64 %rd1, [py]; mov.u32 %r1, %tid.x; setp.lt.u32 %p, %r1, 16; @%p bra LOW;\n"
      " mov.u32 %r2, 2; st.global.u32 [%rd1], %r2; bra DONE;\nLOW:\n mov.u32 %r2, 1;\n"
      " st.global.u32 [%rd1], %r2;\nDONE: ret;\n}\n");
  std::set<uint32_t> seen;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    TestKernel kernel(body);
    const uint64_t out = kernel.buffer(std::vector<uint32_t>{0}, "y");
    kernel.arg(out);
    kernel.config().sanitize = {DeviceCheck::Memory};
    kernel.config().thread_order = ThreadOrder::SplitWarps;
    kernel.config().thread_order_seed = seed;
    kernel.run();
    seen.insert(kernel.read<uint32_t>(out, 1)[0]);
  }
  EXPECT_EQ(seen, (std::set<uint32_t>{1, 2}));
}

TEST(ThreadOrder, LetsBlocksThatWaitForEachOtherMeet) {
  // Every block counts itself and waits for all.
  for (const ThreadOrder how : kAll) {
    TestKernel kernel(with_header(
        ".visible .entry k(.param .u64 pc) {\n .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
        " ld.param.u64 %rd1, [pc]; atom.global.add.u32 %r1, [%rd1], 1;\nWAIT:\n"
        " ld.volatile.global.u32 %r2, [%rd1]; setp.lt.u32 %p, %r2, 192; @%p bra WAIT; ret;\n}\n"));
    const uint64_t counter = kernel.buffer(std::vector<uint32_t>{0}, "counter");
    kernel.arg(counter);
    kernel.config().grid = {6, 1, 1};
    kernel.config().thread_order = how;
    kernel.config().timeout_ms = 60'000;
    kernel.run();
    EXPECT_EQ(kernel.read<uint32_t>(counter, 1)[0], 192u) << name_of(how);
  }
}

TEST(ThreadOrder, HasANameThatReadsBack) {
  for (const ThreadOrder how : kAll) EXPECT_EQ(thread_order_from_name(name_of(how)), how);
  EXPECT_FALSE(thread_order_from_name("sideways"));
}

}  // namespace
}  // namespace gpuemu::emulator
