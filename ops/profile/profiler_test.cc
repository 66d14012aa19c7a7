// Tests ranges, ops and counters of real launches on the emulator, and their export.
#include "ops/profile/profiler.h"

#include <cstdlib>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/backends/backends.h"

namespace gpuemu {
namespace {

using Json = nlohmann::json;

constexpr const char* kPtx = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry store(.param .u64 p) {
  .reg .b32 %r<3>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
)";

class Profiling : public testing::Test {
 protected:
  void SetUp() override {
    auto device = open_device({.backend = "emulator", .threads = 1});
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
    streams_ = *device_->streams();
    function_ = *streams_->function(*device_->load_module(kPtx, "store.ptx"), "store");
    stream_ = *streams_->make_stream({});
    address_ = *device_->allocate(128, "out");
  }
  void start(ProfilerOptions options) {
    options.nvtx = options.nvtx && nvtx::is_built_in();  // A build without them says so in a note.
    auto made = Profiler::create(*device_, options);
    ASSERT_TRUE(made) << made.error().message;
    profiler_ = *std::move(made);
  }
  void launch() {
    const KernelArg arg{&address_, sizeof(address_)};
    StreamLaunch launch;
    launch.function = function_;
    launch.block = {32, 1, 1};
    launch.args = {&arg, 1};
    ASSERT_TRUE(profiler_->begin_op("store", stream_));
    const Status started = streams_->launch(stream_, launch);
    ASSERT_TRUE(started) << started.error().message;
    ASSERT_TRUE(profiler_->end_op(stream_));
  }

  std::unique_ptr<Device> device_;
  Streams* streams_ = nullptr;
  FunctionId function_ = 0;
  StreamId stream_ = 0;
  uint64_t address_ = 0;
  std::unique_ptr<Profiler> profiler_;
};

TEST_F(Profiling, CountsWhatThreadsDoAtOnce) {
  constexpr int kThreads = 4, kRounds = 50;
  start({});
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const ProfileRange outer(profiler_.get(), "outer");
        const ProfileRange inner(profiler_.get(), "inner");
        launch();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto result = profiler_->stop();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->ranges.at("outer").count, kThreads * kRounds);
  EXPECT_EQ(result->ranges.at("inner").count, kThreads * kRounds);
  EXPECT_EQ(result->ops.at("store").count, kThreads * kRounds);
}

TEST_F(Profiling, TimesOpsOnTheDeviceAndRangesOnTheHost) {
  start({});
  {
    const ProfileRange outer(profiler_.get(), "outer");
    const ProfileRange inner(profiler_.get(), "inner");
    launch();
    launch();
  }
  const auto result = profiler_->stop();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->ops.at("store").count, 2U);
  EXPECT_GT(result->ops.at("store").min_us, 0);
  EXPECT_GE(result->ops.at("store").max_us, result->ops.at("store").mean_us());
  EXPECT_GE(result->ranges.at("outer").total_us, result->ranges.at("inner").total_us);
  EXPECT_EQ(result->spans.size(), 4U);
  EXPECT_TRUE(result->kernels.empty());
  EXPECT_FALSE(profiler_->stop());
}

TEST_F(Profiling, CountsWhatKernelsDid) {
  start({.counters = true});
  launch();
  launch();
  const auto result = profiler_->stop();
  ASSERT_TRUE(result) << result.error().message;
  const KernelCounts& kernel = result->kernels.at("store");
  EXPECT_EQ(kernel.launches, 2U);
  EXPECT_EQ(kernel.memory.global_requests, 2U);
  EXPECT_EQ(kernel.memory.global_bytes, 256U);
  EXPECT_EQ(kernel.memory.sectors, 8U);
  uint64_t instructions = 0;
  for (const auto& [group, threads] : kernel.instructions) instructions += threads;
  EXPECT_EQ(instructions, 2U * 6 * 32);
  const Json json = Json::parse(result->json());
  EXPECT_EQ(json["kernels"][0]["sectors_per_request"], 4.0);
  EXPECT_EQ(json["kernels"][0]["coalescing"], 1.0);
  EXPECT_EQ(json["kernels"][0]["bytes"], Json({{"global", 256}, {"shared", 0}, {"local", 0}}));
  EXPECT_EQ(json["ops"][0]["count"], 2);
}

TEST_F(Profiling, ExportsATraceWithATrackForEachThreadAndStream) {
  start({});
  {
    const ProfileRange range(profiler_.get(), "a \"range\"");
    launch();
  }
  const auto result = profiler_->stop();
  ASSERT_TRUE(result);
  const Json events = Json::parse(result->chrome_trace())["traceEvents"];
  int ranges = 0, ops = 0;
  for (const Json& event : events) {
    if (event["ph"] != "X") continue;
    EXPECT_GE(event["ts"].get<double>(), 0);
    EXPECT_GE(event["dur"].get<double>(), 0);
    ranges += event["cat"] == "range" && event["name"] == "a \"range\"";
    ops += event["cat"] == "op" && event["tid"] == stream_;
  }
  EXPECT_EQ(ranges, 1);
  EXPECT_EQ(ops, 1);
}

TEST_F(Profiling, DropsAndCountsWhatIsTooMuch) {
  start({.records_max = 3});
  for (int i = 0; i < 5; ++i) launch();
  const auto result = profiler_->stop();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->spans.size(), 3U);
  EXPECT_EQ(result->dropped, 2U);
}

TEST_F(Profiling, LeavesCapturedWorkAlone) {
  start({});
  ASSERT_TRUE(streams_->begin_capture(stream_));
  launch();
  const auto graph = streams_->end_capture(stream_);
  ASSERT_TRUE(graph) << graph.error().message;
  const auto result = profiler_->stop();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->spans.empty());
}

TEST_F(Profiling, EndsWhatIsOpenAndIgnoresAnEndWithoutABeginning) {
  start({});
  profiler_->end_range();
  profiler_->begin_range("open");
  ASSERT_TRUE(profiler_->end_op(stream_));
  const auto result = profiler_->stop();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->ranges.at("open").count, 1U);
}

TEST_F(Profiling, ShowsTheKernelsThatCuptiRecorded) {
  start({.cupti = FAKE_cupti});
  launch();
  const auto result = profiler_->stop();
  ASSERT_TRUE(result) << result.error().message;
  const KernelCounts& kernel = result->kernels.at("gemm_tiled_float32");
  EXPECT_EQ(kernel.launches, 1U);
  EXPECT_EQ(kernel.time.total_us, 4.0);
  EXPECT_EQ(kernel.registers, 40U);
  EXPECT_EQ(result->dropped, 2U);
  EXPECT_TRUE(result->notes.empty());
  const Json events = Json::parse(result->chrome_trace())["traceEvents"];
  int kernels = 0;
  for (const Json& event : events) {
    if (event["ph"] != "X" || event["cat"] != "kernel") continue;
    if (event["name"] != "gemm_tiled_float32") continue;
    ++kernels;
    EXPECT_EQ(event["ts"], 1.0) << "a microsecond after the profiler began";
    EXPECT_EQ(event["dur"], 4.0);
    EXPECT_EQ(event["tid"], 13);
    EXPECT_EQ(event["args"]["launch"], "grid 1x2x3, block 32x8x2");
  }
  EXPECT_EQ(kernels, 1);
}

TEST_F(Profiling, SaysInOneLineWhyThereAreNoRecordsOfKernels) {
  start({.cupti = "/there/is/no/libcupti.so"});
  launch();
  const auto result = profiler_->stop();
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->notes.size(), 1U);
  EXPECT_TRUE(result->notes[0].starts_with("no records of kernels: /there/is/no/libcupti.so"))
      << result->notes[0];
  EXPECT_EQ(result->notes[0].find('\n'), std::string::npos);
  EXPECT_EQ(Json::parse(result->json())["notes"][0], result->notes[0]);
  EXPECT_EQ(result->ops.size(), 1U);
}

TEST_F(Profiling, ShowsKernelsOfGraphsWhereTheEmulatorCounts) {
  start({.counters = true});
  ASSERT_TRUE(streams_->begin_capture(stream_));
  launch();
  const auto graph = streams_->end_capture(stream_);
  ASSERT_TRUE(graph) << graph.error().message;
  const auto exec = streams_->instantiate(*graph);
  ASSERT_TRUE(exec);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(streams_->launch_graph(*exec, stream_));
  const auto result = profiler_->stop();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->spans.size(), 3U);
  for (const TraceSpan& span : result->spans) EXPECT_EQ(span.kind, TraceSpan::Kind::Kernel);
}

#ifdef FAKE_nvtx
// The headers look for a tool once in a process.
const int kListens = ::setenv("NVTX_INJECTION64_PATH", FAKE_nvtx, 1);

TEST_F(Profiling, RangesAndOpsReachAToolThatListensToNvtx) {
  ASSERT_EQ(kListens, 0);
  start({});
  profiler_->begin_range("step");
  launch();
  profiler_->end_range();
  void* const tool = ::dlopen(FAKE_nvtx, RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(tool, nullptr) << "the headers did not load the tool";
  const auto heard =
      reinterpret_cast<const char* (*)()>(::dlsym(tool, "fake_nvtx_heard"));  // NOLINT
  ASSERT_NE(heard, nullptr);
  EXPECT_TRUE(std::string(heard()).ends_with("push step;push store;pop;pop;")) << heard();
  ::dlclose(tool);
}
#endif

}  // namespace
}  // namespace gpuemu
