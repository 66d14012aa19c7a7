// Tests launches of one kernel after another: they share registers, shared memory and records of
// accesses, and must not notice it.
#include <array>
#include <string>
#include <vector>

#include "runtime/device/stream.h"
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

/// y[i] = `value`, for every thread i of the launch. `a` and `b` are parameters.
std::string store(const std::string& body, const std::string& value = "%v") {
  return with_header(
      ".visible .entry k(.param .u64 py, .param .u32 a, .param .u32 b) {\n"
      " .reg .pred %p; .reg .b32 %i, %n, %c, %a, %b, %v, %x; .reg .b64 %y, %z, %t;\n"
      " .shared .align 4 .b8 room[256];\n"
      " ld.param.u64 %y, [py]; ld.param.u32 %a, [a]; ld.param.u32 %b, [b];\n"
      " mov.u32 %i, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %c, %ctaid.x;\n"
      " mad.lo.u32 %i, %c, %n, %i; mad.wide.u32 %z, %i, 4, %y;\n" +
      body + "\n st.global.u32 [%z], " + value + "; ret;\n}\n");
}

/// Launches with new parameters.
class Repeated : public TestKernel {
 public:
  explicit Repeated(const std::string& ptx, uint32_t threads = 2) : TestKernel(ptx, 80, threads) {
    y_ = buffer(std::vector<uint32_t>(kCount), "y");
  }
  LaunchReport go(uint32_t a, uint32_t b = 0, bool clean = true) {
    config().args.clear();
    arg(y_).arg(a).arg(b);
    return run(clean);
  }
  uint32_t at(size_t place) { return read<uint32_t>(y_, kCount)[place]; }

  uint64_t y() const { return y_; }

  static constexpr size_t kCount = 1024;

 private:
  uint64_t y_ = 0;
};

TEST(RepeatedLaunch, ReadsItsParametersAnew) {
  Repeated kernel(store("mul.lo.u32 %x, %a, %b; mad.lo.u32 %v, %i, %a, %x;"));
  for (uint32_t turn = 1; turn < 10; ++turn) {
    kernel.config().grid = {1 + turn % 3, 1, 1};
    kernel.config().block = {turn % 2 == 0 ? 96u : 32u, 1, 1};
    kernel.go(turn, 100);
    EXPECT_EQ(kernel.at(31), 31 * turn + 100 * turn);
  }
}

TEST(RepeatedLaunch, BeginsWithTheClockOfTheFirst) {
  Repeated kernel(store("mov.u64 %t, %clock64; cvt.u32.u64 %v, %t;"));
  kernel.go(0);
  const uint32_t first = kernel.at(0);
  for (int turn = 0; turn < 3; ++turn) {
    kernel.go(0);
    EXPECT_EQ(kernel.at(0), first);
  }
}

TEST(RepeatedLaunch, BeginsWithZerosInRegistersThatNothingWrote) {
  Repeated kernel(store("setp.ne.u32 %p, %a, 0;\n@%p mov.u32 %v, 7;"));
  kernel.config().sanitize = {DeviceCheck::Memory};
  for (const uint32_t a : {0u, 1u, 0u, 0u, 1u, 0u}) {
    kernel.go(a);
    EXPECT_EQ(kernel.at(5), 7 * a);
  }
}

TEST(RepeatedLaunch, HasNothingInSharedMemory) {
  Repeated kernel(
      store("setp.eq.u32 %p, %a, 0; @%p bra READ; st.shared.u32 [room], %a;\n"
            "READ: bar.sync 0; ld.shared.u32 %v, [room];"));
  kernel.config().block = {1, 1, 1};
  kernel.go(9);
  EXPECT_EQ(kernel.at(0), 9u);
  const LaunchReport second = kernel.go(0, 0, false);
  ASSERT_EQ(second.findings.size(), 1u);
  EXPECT_EQ(second.findings[0].kind, DeviceFindingKind::Uninitialized);
  EXPECT_EQ(kernel.at(0), 0u);
}

TEST(RepeatedLaunch, ForgetsMemoryThatWasFreed) {
  TestKernel kernel(with_header(
      ".visible .entry k(.param .u64 px) {\n .reg .b32 %v; .reg .b64 %x;\n"
      " ld.param.u64 %x, [px]; ld.global.u32 %v, [%x]; st.global.u32 [%x], %v; ret;\n}\n"));
  kernel.config().block = {1, 1, 1};
  const uint64_t gone = kernel.buffer(std::vector<uint32_t>{1}, "gone");
  kernel.arg(gone);
  kernel.run();
  kernel.run();
  ASSERT_TRUE(kernel.device().free(gone).ok());
  const LaunchReport after = kernel.run(false);
  ASSERT_FALSE(after.findings.empty());
  EXPECT_EQ(after.findings[0].kind, DeviceFindingKind::OutOfBounds);
}

TEST(RepeatedLaunch, RacesWithNoOtherLaunch) {
  Repeated kernel(store("ld.global.u32 %x, [%z]; add.u32 %v, %x, %a;"));
  kernel.config().grid = {4, 1, 1};
  for (uint32_t turn = 0; turn < 20; ++turn) {
    kernel.config().block = {turn % 4 == 3 ? 64u : 32u, 1, 1};
    kernel.go(2);
  }
  EXPECT_EQ(kernel.at(40), 40u);
}

TEST(RepeatedLaunch, OfAModuleThatWasUnloadedIsThatOfTheNewOne) {
  const auto device = make_emulator({.threads = 2, .name = "test"});
  const uint64_t y = *device->allocate(4 * 32, "y");
  for (uint32_t turn = 0; turn < 20; ++turn) {
    const auto module =
        device->load_module(store("mov.u32 %v, " + std::to_string(1000 + turn) + ";"), "test.ptx");
    ASSERT_TRUE(module);
    LaunchConfig config;
    config.entry = "k";
    config.grid = {1, 1, 1};
    config.block = {32, 1, 1};
    config.args = {std::vector<std::byte>(8), std::vector<std::byte>(4), std::vector<std::byte>(4)};
    std::memcpy(config.args[0].data(), &y, sizeof y);
    ASSERT_TRUE(device->launch(*module, config));
    uint32_t got = 0;
    ASSERT_TRUE(device->download(std::as_writable_bytes(std::span(&got, 1)), y).ok());
    EXPECT_EQ(got, 1000 + turn);
    ASSERT_TRUE(device->unload_module(*module).ok());
  }
}

TEST(RepeatedLaunch, ThatIsShortOrLongComputesTheSameOnAnyNumberOfThreads) {
  // Each thread counts to b.
  const std::string ptx = store(
      "mov.u32 %v, 0; mov.u32 %x, 0;\n"
      "AGAIN: mad.lo.u32 %v, %v, 5, %i; add.u32 %x, %x, 1; setp.lt.u32 %p, %x, %b; @%p bra AGAIN;");
  std::vector<std::vector<uint32_t>> seen;
  for (const uint32_t threads : {1u, 2u, 5u}) {
    Repeated kernel(ptx, threads);
    kernel.config().grid = {16, 1, 1};
    std::vector<uint32_t>& all = seen.emplace_back();
    for (const uint32_t rounds : {1u, 1u, 2u, 20000u, 1u, 1u, 30000u, 3u}) {
      kernel.go(0, rounds);
      for (const size_t place : {0, 31, 300, 511}) all.push_back(kernel.at(place));
    }
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

TEST(RepeatedLaunch, LetsBlocksWaitForEachOtherAfterAShortOne) {
  // The first block waits until the last one has come, if a is not 0.
  Repeated kernel(
      store("setp.ne.u32 %p, %c, 3; @%p bra WAIT; st.volatile.global.u32 [%y+4092], %a;\n"
            "WAIT: setp.ne.u32 %p, %c, 0; @%p bra DONE; setp.eq.u32 %p, %a, 0; @%p bra DONE;\n"
            "LOOK: ld.volatile.global.u32 %x, [%y+4092]; setp.ne.u32 %p, %x, %a; @%p bra LOOK;\n"
            "DONE: mov.u32 %v, %a;"));
  kernel.config().grid = {4, 1, 1};
  kernel.config().block = {1, 1, 1};
  for (const uint32_t a : {0u, 0u, 5u, 0u, 6u, 7u}) {
    kernel.go(a);
    EXPECT_EQ(kernel.at(0), a);
  }
}

/// A graph of launches of kernel `k`, executed again and again.
class Replayed : public Repeated {
 public:
  explicit Replayed(const std::string& ptx) : Repeated(ptx), streams_(**device().streams()) {
    function_ = *streams_.function(module(), "k");
    stream_ = *streams_.make_stream({});
    EXPECT_TRUE(streams_.begin_capture(stream_));
  }
  void add(uint32_t a, uint32_t b, uint32_t first, uint32_t threads, uint32_t blocks = 1) {
    const uint64_t to = y() + 4 * first;
    const std::array<KernelArg, 3> args = {{{&to, sizeof to}, {&a, sizeof a}, {&b, sizeof b}}};
    StreamLaunch launch;
    launch.function = function_;
    launch.grid = {blocks, 1, 1};
    launch.block = {threads, 1, 1};
    launch.args = args;
    EXPECT_TRUE(streams_.launch(stream_, launch));
  }
  void end() { graph_ = *streams_.instantiate(*streams_.end_capture(stream_)); }
  void replay() {
    ASSERT_TRUE(streams_.launch_graph(graph_, stream_));
    ASSERT_TRUE(streams_.synchronize(stream_));
  }
  void fails_to_replay() {
    const Status issued = streams_.launch_graph(graph_, stream_);
    EXPECT_FALSE(issued && streams_.synchronize(stream_));
  }
  Streams& streams() { return streams_; }

 private:
  Streams& streams_;
  StreamId stream_ = 0;
  FunctionId function_ = 0;
  GraphExecId graph_ = 0;
};

TEST(ReplayedLaunch, HasItsOwnParametersAndSizes) {
  Replayed kernel(store("mul.lo.u32 %x, %a, %b; mad.lo.u32 %v, %i, %a, %x;"));
  kernel.add(3, 5, 0, 32);
  kernel.add(4, 6, 100, 32);
  kernel.add(3, 5, 200, 64);
  kernel.add(3, 5, 300, 16, 4);
  kernel.end();
  for (int turn = 0; turn < 12; ++turn) {
    if (turn == 4) kernel.streams().set_checks({.sanitize = {DeviceCheck::Memory}});
    if (turn == 8) kernel.streams().set_checks({});
    kernel.replay();
    EXPECT_EQ(kernel.at(31), 31u * 3 + 15);
    EXPECT_EQ(kernel.at(100 + 31), 31u * 4 + 24);
    EXPECT_EQ(kernel.at(200 + 63), 63u * 3 + 15);
    EXPECT_EQ(kernel.at(300 + 63), 63u * 3 + 15);
    kernel.go(9, 1);  // The same kernel outside of the graph.
    EXPECT_EQ(kernel.at(31), 31u * 9 + 9);
  }
}

TEST(ReplayedLaunch, BeginsWithZerosInRegistersThatNothingWrote) {
  // Register v is 7 if the word before the result is not 0.
  Replayed kernel(store("ld.global.u32 %x, [%y+-4]; setp.ne.u32 %p, %x, 0;\n@%p mov.u32 %v, 7;"));
  kernel.streams().set_checks({.sanitize = {DeviceCheck::Memory}});
  kernel.add(0, 0, 1, 32);
  kernel.end();
  for (const uint32_t flag : {0u, 1u, 1u, 0u, 0u, 1u, 0u}) {
    ASSERT_TRUE(kernel.device().upload(kernel.y(), std::as_bytes(std::span(&flag, 1))));
    kernel.replay();
    EXPECT_EQ(kernel.at(5), 7 * flag);
  }
}

TEST(ReplayedLaunch, ReadsWhatLiesInMemoryNow) {
  Replayed kernel(store("ld.global.u32 %x, [%z]; add.u32 %v, %x, %a;"));
  kernel.add(2, 0, 0, 32);
  kernel.add(3, 0, 0, 32);
  kernel.end();
  for (uint32_t turn = 1; turn < 8; ++turn) {
    kernel.replay();
    EXPECT_EQ(kernel.at(9), 5 * turn);
  }
}

TEST(ReplayedLaunch, IsRightWhereThePoolOfClustersIsFull) {
  // 16 KB of shared memory: far more than the 16 MB of the pool for all nodes.
  Replayed kernel(
      store(".shared .align 4 .b8 large[16384];\n st.shared.u32 [large], %a;\n"
            "ld.shared.u32 %x, [large]; mad.lo.u32 %v, %i, %b, %x;"));
  for (uint32_t node = 0; node < 200; ++node) kernel.add(node, node % 7, 4 * node, 4);
  kernel.end();
  for (int turn = 0; turn < 4; ++turn) {
    kernel.replay();
    for (uint32_t node = 0; node < 200; ++node) {
      EXPECT_EQ(kernel.at(4 * node + 3), 3 * (node % 7) + node);
    }
  }
}

TEST(ReplayedLaunch, FailsAfterItsModuleWasUnloaded) {
  Replayed kernel(store("mov.u32 %v, %a;"));
  kernel.add(2, 0, 0, 32);
  kernel.end();
  kernel.replay();
  kernel.replay();
  ASSERT_TRUE(kernel.device().unload_module(kernel.module()));
  ASSERT_TRUE(kernel.device().load_module(store("mov.u32 %v, 8;"), "other.ptx"));
  kernel.fails_to_replay();
}

}  // namespace
}  // namespace gpuemu::emulator
