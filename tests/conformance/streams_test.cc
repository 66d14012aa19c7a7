// Tests behaviour that all backends share: streams, events, graphs and pinned memory.
#include <atomic>
#include <thread>

#include "runtime/device/current.h"
#include "tests/conformance/fixture.h"

namespace gpuemu {
namespace {

/// x[i] = x[i] * factor + add for one block of threads.
constexpr const char* kScale = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 x, .param .u32 factor, .param .u32 add) {
.reg .u64 %rd<4>;
.reg .u32 %r<6>;
ld.param.u64 %rd1, [x];
ld.param.u32 %r1, [factor];
ld.param.u32 %r2, [add];
cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r3, %tid.x;
mul.wide.u32 %rd3, %r3, 4;
add.u64 %rd3, %rd2, %rd3;
ld.global.u32 %r4, [%rd3];
mad.lo.u32 %r5, %r4, %r1, %r2;
st.global.u32 [%rd3], %r5;
ret;
}
)";

class StreamsConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (device_ == nullptr) return;
    streams_ = *device_->streams();
    function_ = *streams_->function(load(kScale), "scale");
  }
  StreamId stream(bool non_blocking = true) {
    const auto made = streams_->make_stream({0, non_blocking});
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : 0;
  }
  Status scale(StreamId on, uint64_t x, uint32_t factor, uint32_t add, uint32_t threads = 4) {
    const KernelArg args[] = {{&x, sizeof x}, {&factor, sizeof factor}, {&add, sizeof add}};
    StreamLaunch launch;
    launch.function = function_;
    launch.block = {threads, 1, 1};
    launch.args = args;
    return streams_->launch(on, launch);
  }
  /// Two orders give two values: 10 * (x + 1) or 10 * x + 1.
  void add_one(StreamId on, uint64_t x) { ASSERT_TRUE(scale(on, x, 1, 1)); }
  void times_ten(StreamId on, uint64_t x) { ASSERT_TRUE(scale(on, x, 10, 0)); }
  std::vector<int> ints(uint64_t x) { return download<int>(x, 4); }
  static std::vector<int> four(int value) { return std::vector<int>(4, value); }

  Streams* streams_ = nullptr;
  FunctionId function_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Emulator, StreamsConformance, testing::Values("emulator"));
INSTANTIATE_TEST_SUITE_P(Cuda, StreamsConformance, testing::Values("cuda"));

TEST_P(StreamsConformance, DoWorkInOrder) {
  const StreamId a = stream();
  const uint64_t x = upload<int>(four(0), "x"), y = upload<int>(four(0), "y");
  const std::vector<int> from = {1, 2, 3, 4};
  std::vector<int> to(4);
  ASSERT_TRUE(streams_->upload(a, x, std::as_bytes(std::span(from))));
  add_one(a, x);
  times_ten(a, x);
  ASSERT_TRUE(streams_->copy(a, y, x, 16));
  ASSERT_TRUE(streams_->fill(a, x, std::byte{0}, 8));
  ASSERT_TRUE(streams_->download(a, std::as_writable_bytes(std::span(to)), y));
  ASSERT_TRUE(streams_->synchronize(a));
  EXPECT_TRUE(*streams_->query(a));
  EXPECT_EQ(to, (std::vector<int>{20, 30, 40, 50}));
  EXPECT_EQ(ints(x), (std::vector<int>{0, 0, 40, 50}));
  EXPECT_TRUE(streams_->free_stream(a));
  EXPECT_EQ(streams_->synchronize(a).error().code, ErrorCode::InvalidArgument);
}

TEST_P(StreamsConformance, OrderAcrossStreamsByEvents) {
  const StreamId a = stream(), b = stream();
  const EventId event = *streams_->make_event();
  const uint64_t x = upload<int>(four(0), "x");
  EXPECT_TRUE(*streams_->query_event(event)) << "nothing was recorded";
  EXPECT_EQ(streams_->elapsed_ms(event, event).error().code, ErrorCode::InvalidArgument);
  for (int i = 0; i < 50; ++i) {
    add_one(a, x);
    ASSERT_TRUE(streams_->record(event, a));
    ASSERT_TRUE(streams_->wait_event(b, event));
    ASSERT_TRUE(scale(b, x, 3, 0));
    ASSERT_TRUE(streams_->record(event, b));
    ASSERT_TRUE(streams_->wait_event(a, event));
  }
  ASSERT_TRUE(streams_->synchronize(b));
  uint32_t wanted = 0;
  for (int i = 0; i < 50; ++i) wanted = (wanted + 1) * 3;
  EXPECT_EQ(ints(x), four(static_cast<int>(wanted)));
}

TEST_P(StreamsConformance, MeasureTimeBetweenEvents) {
  const StreamId a = stream();
  const EventId begin = *streams_->make_event(), end = *streams_->make_event();
  const uint64_t x = upload<int>(four(0), "x");
  ASSERT_TRUE(streams_->record(begin, a));
  for (int i = 0; i < 20; ++i) add_one(a, x);
  ASSERT_TRUE(streams_->record(end, a));
  ASSERT_TRUE(streams_->synchronize_event(end));
  EXPECT_TRUE(*streams_->query_event(end));
  const auto time = streams_->elapsed_ms(begin, end);
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_GT(*time, 0.0F);
  EXPECT_LT(*streams_->elapsed_ms(end, begin), 0.0F);
  EXPECT_TRUE(streams_->free_event(begin));
  EXPECT_FALSE(streams_->record(begin, a));
}

TEST_P(StreamsConformance, TheDefaultStreamOrdersBlockingStreams) {
  const StreamId a = stream(false), b = stream(false);
  const uint64_t x = upload<int>(four(1), "x");
  add_one(a, x);
  times_ten(kDefaultStream, x);
  add_one(b, x);
  // A synchronous call belongs to the default stream and waits for both.
  EXPECT_EQ(ints(x), four(21));
  add_one(kPerThreadStream, x);
  EXPECT_EQ(ints(x), four(22));
}

TEST_P(StreamsConformance, SynchronousLaunchesWaitForBlockingStreams) {
  const ModuleId module = load(kScale);
  const StreamId a = stream(false);
  const uint64_t x = upload<int>(four(1), "x");
  for (int i = 0; i < 9; ++i) add_one(a, x);
  LaunchConfig config;
  config.entry = "scale";
  config.block = {4, 1, 1};
  config.args = {bytes_of(x), bytes_of(10), bytes_of(0)};
  ASSERT_TRUE(device_->launch(module, config));
  EXPECT_EQ(ints(x), four(100));
}

TEST_P(StreamsConformance, GiveThePriorityAskedForWithinTheRange) {
  const PriorityRange range = streams_->priorities();
  EXPECT_LE(range.greatest, range.least);
  for (const int priority : {range.greatest, range.least, range.greatest - 100}) {
    const auto made = streams_->make_stream({priority, true});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(streams_->free_stream(*made));
  }
  EXPECT_FALSE(streams_->free_stream(kDefaultStream));
  EXPECT_FALSE(streams_->free_stream(kPerThreadStream));
}

TEST_P(StreamsConformance, CallTheHostInOrder) {
  const StreamId a = stream();
  const uint64_t x = upload<int>(four(5), "x");
  int* seen = static_cast<int*>(*streams_->allocate_host(16));
  std::atomic<int> was = 0;
  add_one(a, x);
  ASSERT_TRUE(streams_->download(a, std::as_writable_bytes(std::span(seen, 4)), x));
  ASSERT_TRUE(streams_->host_call(a, [&] { was = seen[3]; }));
  ASSERT_TRUE(streams_->synchronize(a));
  EXPECT_EQ(was, 6);
  EXPECT_TRUE(streams_->free_host(seen));
  EXPECT_EQ(streams_->free_host(seen).error().code, ErrorCode::InvalidArgument);
}

TEST_P(StreamsConformance, KernelsUsePinnedMemoryByItsAddress) {
  const StreamId a = stream();
  int* shared = static_cast<int*>(*streams_->allocate_host(16));
  for (int i = 0; i < 4; ++i) shared[i] = i;
  times_ten(a, reinterpret_cast<uint64_t>(shared));
  ASSERT_TRUE(streams_->synchronize(a));
  EXPECT_EQ(shared[3], 30);
  EXPECT_TRUE(streams_->free_host(shared));
}

TEST_P(StreamsConformance, ReplayAGraphWithFixedAddressesAndNewContents) {
  const StreamId a = stream();
  const uint64_t x = upload<int>(four(1), "x"), factor = upload<int>(four(0), "y");
  int* from = static_cast<int*>(*streams_->allocate_host(16));
  std::fill_n(from, 4, 7);
  ASSERT_TRUE(streams_->begin_capture(a));
  EXPECT_TRUE(*streams_->is_capturing(a));
  add_one(a, x);
  times_ten(a, x);
  ASSERT_TRUE(streams_->upload(a, factor, std::as_bytes(std::span(from, 4))));
  const auto graph = streams_->end_capture(a);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(*streams_->graph_nodes(*graph), 3U);
  EXPECT_EQ(ints(x), four(1)) << "captured work is not done";
  const auto exec = streams_->instantiate(*graph);
  ASSERT_TRUE(exec) << exec.error().message;
  EXPECT_TRUE(streams_->free_graph(*graph));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(streams_->launch_graph(*exec, a));
  ASSERT_TRUE(streams_->synchronize(a));
  EXPECT_EQ(ints(x), four(2110));
  EXPECT_EQ(ints(factor), four(7));
  std::fill_n(from, 4, 8);
  ASSERT_TRUE(device_->fill(x, std::byte{0}, 16));
  ASSERT_TRUE(streams_->launch_graph(*exec, a));
  ASSERT_TRUE(streams_->synchronize(a));
  EXPECT_EQ(ints(x), four(10)) << "what memory has when the graph is launched counts";
  EXPECT_EQ(ints(factor), four(8));
  EXPECT_TRUE(streams_->free_graph_exec(*exec));
  EXPECT_EQ(streams_->launch_graph(*exec, a).error().code, ErrorCode::InvalidArgument);
  EXPECT_TRUE(streams_->free_host(from));
}

TEST_P(StreamsConformance, CaptureStreamsThatForkAndJoin) {
  const StreamId a = stream(), b = stream();
  const EventId fork = *streams_->make_event(), join = *streams_->make_event();
  const uint64_t x = upload<int>(four(0), "x"), y = upload<int>(four(0), "y");
  ASSERT_TRUE(streams_->begin_capture(a));
  add_one(a, x);
  ASSERT_TRUE(streams_->record(fork, a));
  ASSERT_TRUE(streams_->wait_event(b, fork));
  EXPECT_TRUE(*streams_->is_capturing(b));
  ASSERT_TRUE(streams_->copy(b, y, x, 16));
  ASSERT_TRUE(streams_->record(join, b));
  ASSERT_TRUE(streams_->wait_event(a, join));
  times_ten(a, x);
  const auto graph = streams_->end_capture(a);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_FALSE(*streams_->is_capturing(b));
  const GraphExecId exec = *streams_->instantiate(*graph);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(streams_->launch_graph(exec, b));
  ASSERT_TRUE(streams_->synchronize(b));
  EXPECT_EQ(ints(x), four(110));
  EXPECT_EQ(ints(y), four(11));
}

TEST_P(StreamsConformance, RefuseACaptureThatIsNotWhole) {
  const StreamId a = stream(), b = stream();
  const EventId fork = *streams_->make_event();
  const uint64_t x = upload<int>(four(0), "x");
  EXPECT_EQ(streams_->begin_capture(kDefaultStream).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(streams_->end_capture(a).error().code, ErrorCode::InvalidArgument);
  ASSERT_TRUE(streams_->begin_capture(a));
  EXPECT_EQ(streams_->synchronize(a).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(streams_->end_capture(a).error().code, ErrorCode::InvalidArgument);
  ASSERT_TRUE(streams_->begin_capture(a));
  add_one(a, x);
  ASSERT_TRUE(streams_->record(fork, a));
  ASSERT_TRUE(streams_->wait_event(b, fork));
  add_one(b, x);
  EXPECT_EQ(streams_->end_capture(a).error().code, ErrorCode::InvalidArgument);
  EXPECT_FALSE(*streams_->is_capturing(a));
  add_one(a, x);
  ASSERT_TRUE(streams_->synchronize(a));
  EXPECT_EQ(ints(x), four(1)) << "only what was not captured";
}

TEST_P(StreamsConformance, RefuseWrongCallsAtOnce) {
  const uint64_t x = upload<int>(four(0), "x");
  const std::vector<std::byte> bytes(17);
  EXPECT_EQ(streams_->upload(0, x, bytes).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(streams_->fill(0, x + 1, std::byte{0}, 16).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(streams_->copy(0, x, 16, 4).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(streams_->fill(12345, x, std::byte{0}, 4).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(scale(0, x, 1, 1, 2000).error().code, ErrorCode::InvalidArgument);
  StreamLaunch launch;
  launch.function = function_;
  EXPECT_EQ(streams_->launch(0, launch).error().code, ErrorCode::InvalidArgument);
  launch.function = 999;
  EXPECT_EQ(streams_->launch(0, launch).error().code, ErrorCode::NotFound);
  const auto missing = streams_->function(load(kScale), "scales");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("the module has: scale"), std::string::npos);
  EXPECT_TRUE(streams_->synchronize_all());
}

TEST_P(StreamsConformance, ForgetTheFunctionsOfAnUnloadedModule) {
  const ModuleId module = load(kScale);
  function_ = *streams_->function(module, "scale");
  const StreamId a = stream();
  const uint64_t x = upload<int>(four(0), "x");
  add_one(a, x);
  ASSERT_TRUE(device_->unload_module(module)) << "after the work that needs it";
  EXPECT_EQ(scale(a, x, 1, 1).error().code, ErrorCode::NotFound);
  EXPECT_EQ(ints(x), four(1));
}

TEST_P(StreamsConformance, ServeManyThreadsAtOnce) {
  const auto work = [&] {
    const auto mine = streams_->make_stream({0, true});
    const StreamScope scope(*device_, *mine);
    const auto x = device_->allocate(16, "x");
    EXPECT_TRUE(streams_->fill(current_stream(*device_), *x, std::byte{0}, 16));
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(scale(current_stream(*device_), *x, 1, 1));
    EXPECT_TRUE(streams_->synchronize(current_stream(*device_)));
    std::vector<int> out(4);
    EXPECT_TRUE(device_->download(std::as_writable_bytes(std::span(out)), *x));
    EXPECT_EQ(out, four(20));
    EXPECT_TRUE(device_->free(*x));
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

/// After a fault the process has lost the GPU, so this test is last and runs alone under ctest.
TEST_P(StreamsConformance, ZFaultsAreErrorsOfTheNextSynchronize) {
  const StreamId a = stream();
  ASSERT_TRUE(scale(a, 64, 1, 1));
  const Status status = streams_->synchronize(a);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::Launch) << status.error().message;
  EXPECT_NE(status.error().message.find("kernel 'scale' (grid 1x1x1, block 4x1x1)"),
            std::string::npos)
      << status.error().message;
  const auto findings = streams_->take_findings();
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].entry, "scale");
  EXPECT_TRUE(streams_->take_findings().empty());
  const Status after = streams_->synchronize(a);
  EXPECT_EQ(after.ok(), is_emulator());
  if (!after) {
    EXPECT_EQ(after.error().code, ErrorCode::Unavailable);
  }
}

}  // namespace
}  // namespace gpuemu
