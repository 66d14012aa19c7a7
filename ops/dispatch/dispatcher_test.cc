// Calls through the dispatcher on the emulator: choice, fallback, timing, log.
#include "ops/dispatch/dispatcher.h"

#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/backends/backends.h"

namespace gpuemu {
namespace {

/// y = x * factor, in three ways that differ in speed: `slow` does it n times.
constexpr const char* kScale = R"(
__global__ void scale(const float* x, float* y, int n, float factor) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * factor;
}
)";

template <int Runs, uint32_t Threads = 64>
void plan_gelu(const OpCase& c, Plan& plan) {
  const auto count = static_cast<int32_t>(c.in(0).count());
  for (int i = 0; i < Runs; ++i) {
    plan.launch({blocks_for(count, Threads), 1, 1}, {Threads, 1, 1})
        .arg(c.in(0))
        .arg(c.out(0))
        .arg(count);
  }
}

/// Slower by so much that a busy machine does not turn it into the faster way.
constexpr auto plan_slow_gelu = plan_gelu<6, 1>;

KernelVariant variant(const std::string& name, int priority, void (*plan)(const OpCase&, Plan&)) {
  return {.name = name,
          .module = "gelu",
          .entries = {"gelu_{T}"},
          .types = {{'T', {DType::Float32}}},
          .priority = priority,
          .plan = plan};
}

/// The workspaces passed to plan(). Global, because plan() is a plain function.
std::vector<uint64_t>& planned_workspaces() {
  static std::vector<uint64_t> seen;
  return seen;
}

/// Like gelu, with a workspace that it does not use.
OpKind roomy_gelu() {
  KernelVariant one = variant("roomy", 0, [](const OpCase& c, Plan& plan) {
    planned_workspaces().push_back(c.workspace);
    plan_gelu<1>(c, plan);
  });
  one.workspace_bytes = [](const OpCase&) { return uint64_t{64}; };
  return {.name = "roomy_gelu",
          .summary = "y = gelu(x)",
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .variants = {one}};
}

OpKind twice_gelu() {
  return {.name = "twice_gelu",
          .summary = "y = gelu(x), by a slow and a fast way",
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .variants = {variant("slow", 2, plan_slow_gelu), variant("fast", 1, plan_gelu<1>)}};
}

class Dispatching : public testing::Test {
 protected:
  void SetUp() override {
    auto device = open_device({.backend = "emulator", .threads = 1});
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
    registry_ = OpRegistry::with_builtins();
    ASSERT_TRUE(registry_.add(op_));
    ASSERT_TRUE(registry_.add(roomy_));
    planned_workspaces().clear();
    renew({});
  }
  void TearDown() override {
    dispatcher_.reset();
    std::filesystem::remove_all(folder_);
  }
  void renew(DispatchPolicy policy) {
    DispatchOptions options;
    options.policy = std::move(policy);
    options.folder = folder_;
    options.warn = [this](const std::string& text) { warnings_.push_back(text); };
    options.log = [this](const DispatchRecord& record) { log_.push_back(record); };
    auto made = Dispatcher::create(*device_, registry_, std::move(options));
    ASSERT_TRUE(made) << made.error().message;
    dispatcher_ = *std::move(made);
  }
  uint64_t tensor(const std::vector<float>& values) {
    const uint64_t address = *device_->allocate(values.size() * 4, "t");
    EXPECT_TRUE(device_->upload(address, std::as_bytes(std::span(values))));
    return address;
  }
  Status call(const std::string& op, uint64_t x, uint64_t y, int64_t count,
              StreamId stream = kDefaultStream) {
    const std::vector<int64_t> shape = {count}, strides = {1};
    const DeviceTensor in{x, DType::Float32, shape, strides},
        out{y, DType::Float32, shape, strides};
    return dispatcher_->call(
        {.op = *registry_.find(op), .inputs = {&in, 1}, .outputs = {&out, 1}, .stream = stream});
  }

  const std::string folder_ =
      (std::filesystem::temp_directory_path() / fmt::format("gpuemu-dispatch-{}", ::getpid()))
          .string();
  OpKind op_ = twice_gelu(), roomy_ = roomy_gelu();
  OpRegistry registry_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::vector<std::string> warnings_;
  std::vector<DispatchRecord> log_;
};

TEST_F(Dispatching, ComputesWithTheFirstVariantThatSupportsTheCall) {
  const uint64_t x = tensor({0, 1, -1}), y = tensor({9, 9, 9});
  const Status done = call("twice_gelu", x, y, 3);
  ASSERT_TRUE(done) << done.error().message;
  std::vector<float> out(3);
  ASSERT_TRUE(device_->download(std::as_writable_bytes(std::span(out)), y));
  EXPECT_EQ(out[0], 0.0F);
  EXPECT_NEAR(out[1], 0.841345F, 1e-6);
  EXPECT_NEAR(out[2], -0.158655F, 1e-6);
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_EQ(log_[0].variant, "slow");
  EXPECT_EQ(log_[0].why, "first supported");
  EXPECT_EQ(log_[0].shapes, "x [3], y [3]");
  EXPECT_EQ(log_[0].dtypes, "T = float32");
  EXPECT_GT(log_[0].microseconds, 0);
}

TEST_F(Dispatching, FollowsAPreferenceAndWarnsOnceWhenItCannot) {
  op_.variants[1].unsupported = [](const OpCase& c) {
    return c.in(0).count() == 3 ? std::string() : std::string("x is not of 3 elements");
  };
  renew({.strategy = SelectionRule::FirstSupported, .preferred = {{"twice_gelu", "fast"}}});
  const uint64_t x = tensor({0, 1, -1, 2}), y = tensor({9, 9, 9, 9});
  ASSERT_TRUE(call("twice_gelu", x, y, 3));
  EXPECT_EQ(log_.back().variant, "fast");
  EXPECT_EQ(log_.back().why, "preferred");
  EXPECT_TRUE(warnings_.empty());
  ASSERT_TRUE(call("twice_gelu", x, y, 4));
  ASSERT_TRUE(call("twice_gelu", x, y, 4));
  EXPECT_EQ(log_.back().variant, "slow");
  EXPECT_EQ(warnings_, (std::vector<std::string>{
                           "twice_gelu: the preferred variant 'fast' is not used: x is not of 3 "
                           "elements"}));
}

TEST_F(Dispatching, TimesVariantsOnceAndRemembersTheFastest) {
  const uint64_t x = tensor(std::vector<float>(4096, 1)), y = tensor(std::vector<float>(4096));
  renew({.strategy = SelectionRule::BestPerformance});
  ASSERT_TRUE(call("twice_gelu", x, y, 4096));
  EXPECT_EQ(log_.back().variant, "fast");
  EXPECT_NE(log_.back().why.find("fastest of 2"), std::string::npos);
  const std::string first = log_.back().why;
  renew({.strategy = SelectionRule::BestPerformance});
  ASSERT_TRUE(call("twice_gelu", x, y, 4000));  // The same size class in another process.
  EXPECT_EQ(log_.back().why, first);
}

TEST_F(Dispatching, TimesAgainWhenAModuleChanged) {
  const uint64_t x = tensor(std::vector<float>(4096, 1)), y = tensor(std::vector<float>(4096));
  renew({.strategy = SelectionRule::BestPerformance});
  ASSERT_TRUE(call("twice_gelu", x, y, 4096));
  const std::vector<int64_t> shape = {4096}, strides = {1};
  const DeviceTensor in{x, DType::Float32, shape, strides}, out{y, DType::Float32, shape, strides};
  const OpCase c{op_, {&in, 1}, {&out, 1}, Attributes(op_.schema, {}), device_->properties()};
  const std::string question = timing_question(c, *bind_types(c));
  // As if the fast kernel had been compiled differently and was slow then.
  VariantTimes times = Timings(folder_).find(question);
  ASSERT_EQ(times.size(), 2U);
  times["fast"] = {"another module", 1e9};
  Timings(folder_).keep(question, times);
  renew({.strategy = SelectionRule::BestPerformance});
  ASSERT_TRUE(call("twice_gelu", x, y, 4096));
  EXPECT_EQ(log_.back().variant, "fast");
  times["fast"].module_hash = Timings(folder_).find(question)["fast"].module_hash;
  Timings(folder_).keep(question, times);
  renew({.strategy = SelectionRule::BestPerformance});
  ASSERT_TRUE(call("twice_gelu", x, y, 4096));  // The same module, so the timings on disk are used.
  EXPECT_EQ(log_.back().variant, "slow");
}

TEST_F(Dispatching, TimingTouchesNeitherInputsNorOutputs) {
  op_.in_place = true;
  renew({.strategy = SelectionRule::BestPerformance});
  // Whichever is chosen computes once: what a variant did while it was timed would show in x.
  op_.variants[0].plan = plan_gelu<1>;
  const uint64_t x = tensor({1, 1, 1});
  ASSERT_TRUE(call("twice_gelu", x, x, 3));
  std::vector<float> out(3);
  ASSERT_TRUE(device_->download(std::as_writable_bytes(std::span(out)), x));
  EXPECT_NEAR(out[0], 0.841345F, 1e-6);
}

TEST_F(Dispatching, OfACaptureTimesNothingAndReplaysWithTheContentsOfThen) {
  renew({.strategy = SelectionRule::BestPerformance});
  Streams& streams = **device_->streams();
  const StreamId stream = *streams.make_stream({});
  const uint64_t x = tensor({0}), y = tensor({9});
  ASSERT_TRUE(streams.begin_capture(stream));
  ASSERT_TRUE(call("twice_gelu", x, y, 1, stream));
  EXPECT_NE(log_.back().why.find("captured"), std::string::npos);
  EXPECT_EQ(log_.back().microseconds, -1);
  const auto graph = streams.end_capture(stream);
  ASSERT_TRUE(graph) << graph.error().message;
  const GraphExecId exec = *streams.instantiate(*graph);
  for (const float value : {1.0F, 2.0F}) {
    ASSERT_TRUE(device_->upload(x, std::as_bytes(std::span(&value, 1))));
    ASSERT_TRUE(streams.launch_graph(exec, stream));
    ASSERT_TRUE(streams.synchronize(stream));
    float out = 0;
    ASSERT_TRUE(device_->download(std::as_writable_bytes(std::span(&out, 1)), y));
    EXPECT_NEAR(out, value == 1 ? 0.841345F : 1.9545F, 1e-5);
  }
}

TEST_F(Dispatching, GivesWorkThatMayRunSideBySideWorkspacesOfTheirOwn) {
  Streams& streams = **device_->streams();
  const StreamId a = *streams.make_stream({}), b = *streams.make_stream({});
  const uint64_t x = tensor({0}), y = tensor({9});
  const auto& seen = planned_workspaces();
  for (const StreamId stream : {a, a, b}) ASSERT_TRUE(call("roomy_gelu", x, y, 1, stream));
  EXPECT_EQ(seen[0], seen[1]);  // One stream executes them in order.
  EXPECT_NE(seen[0], seen[2]);
  // Graphs can be launched on any stream, concurrently with each other and with their original
  // stream.
  for (int graph = 0; graph < 2; ++graph) {
    ASSERT_TRUE(streams.begin_capture(a));
    ASSERT_TRUE(call("roomy_gelu", x, y, 1, a));
    ASSERT_TRUE(streams.end_capture(a));
  }
  // In each thread this is another stream.
  ASSERT_TRUE(call("roomy_gelu", x, y, 1, kPerThreadStream));
  ASSERT_TRUE(call("roomy_gelu", x, y, 1, kPerThreadStream));
  std::thread([&] { EXPECT_TRUE(call("roomy_gelu", x, y, 1, kPerThreadStream)); }).join();
  EXPECT_EQ(seen[5], seen[6]);
  EXPECT_EQ(std::set<uint64_t>(seen.begin(), seen.end()).size(), 6U);
}

TEST_F(Dispatching, KeepsTheLaunchesOfACallTogetherWhenThreadsShareAStream) {
  renew({});
  dispatcher_->set_log({});
  constexpr int kThreads = 4, kCalls = 200, kCount = 40;
  const StreamId stream = *(*device_->streams())->make_stream({});
  const uint64_t zeros = tensor(std::vector<float>(kCount, 0));
  std::vector<uint64_t> inputs, losses;
  for (int i = 0; i < kThreads; ++i) {
    inputs.push_back(tensor(std::vector<float>(kCount, static_cast<float>(i + 1))));
    losses.push_back(tensor(std::vector<float>(kCalls)));
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::vector<int64_t> shape = {kCount}, strides = {1}, none;
      const DeviceTensor x[] = {{inputs[i], DType::Float32, shape, strides},
                                {zeros, DType::Float32, shape, strides}};
      for (uint64_t n = 0; n < kCalls; ++n) {
        const DeviceTensor loss{losses[i] + 4 * n, DType::Float32, none, none};
        EXPECT_TRUE(dispatcher_->call(
            {.op = *registry_.find("mse"), .inputs = x, .outputs = {&loss, 1}, .stream = stream}));
      }
    });
  }
  for (std::thread& one : threads) one.join();
  for (int i = 0; i < kThreads; ++i) {
    std::vector<float> out(kCalls);
    ASSERT_TRUE(device_->download(std::as_writable_bytes(std::span(out)), losses[i]));
    const auto expected = static_cast<float>((i + 1) * (i + 1));
    EXPECT_EQ(out, std::vector<float>(kCalls, expected));
  }
}

TEST_F(Dispatching, TimesBesideACaptureOfAnotherStreamAndLeavesItsFaultsAlone) {
  renew({.strategy = SelectionRule::BestPerformance});
  Streams& streams = **device_->streams();
  const StreamId captured = *streams.make_stream({}), faulty = *streams.make_stream({}),
                 mine = *streams.make_stream({});
  const uint64_t x = tensor({0, 1}), y = tensor({9, 9});
  const ModuleId module = *device_->load_module(
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry trap() { trap; }\n", "trap");
  StreamLaunch trap;
  trap.function = *streams.function(module, "trap");
  ASSERT_TRUE(streams.launch(faulty, trap));
  ASSERT_TRUE(streams.begin_capture(captured));
  ASSERT_TRUE(call("roomy_gelu", x, y, 2, captured));
  const Status done = call("twice_gelu", x, y, 2, mine);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_NE(log_.back().why.find("fastest of 2"), std::string::npos) << log_.back().why;
  const auto graph = streams.end_capture(captured);
  EXPECT_TRUE(graph) << graph.error().message;
  const Status told = streams.synchronize(faulty);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::Launch);
}

TEST_F(Dispatching, TellsOfAVariantThatFaultsWhileItIsTimed) {
  // It reads one element past the end.
  op_.variants[1].plan = [](const OpCase& c, Plan& plan) {
    const auto count = static_cast<int32_t>(c.in(0).count()) + 1;
    plan.launch({1, 1, 1}, {64, 1, 1}).arg(c.in(0)).arg(c.out(0)).arg(count);
  };
  renew({.strategy = SelectionRule::BestPerformance});
  const uint64_t x = tensor({0, 1}), y = tensor({9, 9});
  const Status told = call("twice_gelu", x, y, 2);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::Launch);
  EXPECT_EQ(told.error().message.find("twice_gelu, timing fast: "), 0U) << told.error().message;
  EXPECT_TRUE((*device_->streams())->synchronize_all());
}

TEST_F(Dispatching, LetsALogCallTheDispatcher) {
  int depth = 0;
  const uint64_t x = tensor({0, 1}), y = tensor({9, 9});
  dispatcher_->set_log([&](const DispatchRecord& record) {
    log_.push_back(record);
    if (depth++ == 0) {
      EXPECT_TRUE(call("roomy_gelu", x, y, 2));
    }
    dispatcher_->set_log({});
  });
  ASSERT_TRUE(call("twice_gelu", x, y, 2));
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_EQ(log_[1].op, "roomy_gelu");
}

TEST_F(Dispatching, NamesEachVariantsReasonWhenNoneSupportsTheCall) {
  const uint64_t x = tensor({0, 1});
  const std::vector<int64_t> shape = {1}, strides = {1};
  const DeviceTensor in{x, DType::Int8, shape, strides}, out{x + 4, DType::Int8, shape, strides};
  const Status refused = dispatcher_->call({.op = &op_, .inputs = {&in, 1}, .outputs = {&out, 1}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(refused.error().message,
            "twice_gelu: no variant computes this call: slow: T is int8, it computes float32; "
            "fast: T is int8, it computes float32");
}

TEST_F(Dispatching, LaunchesNothingForNoElements) {
  ASSERT_TRUE(call("twice_gelu", 0, 0, 0));
  EXPECT_TRUE(log_.empty());
}

TEST_F(Dispatching, CompilesASourceWhenAnInstanceIsFirstCalled) {
  OpKind scale = {.name = "scale",
                  .summary = "y = x * 3",
                  .inputs = {{"x"}},
                  .outputs = {{"y"}},
                  .variants = {{.name = "compiled",
                                .module = "scale.cu",
                                .source = kScale,
                                .entries = {"scale"},
                                .types = {{'T', {DType::Float32}}},
                                .plan = [](const OpCase& c, Plan& plan) {
                                  plan.launch({}, {32, 1, 1})
                                      .arg(c.in(0))
                                      .arg(c.out(0))
                                      .arg(static_cast<int32_t>(c.in(0).count()))
                                      .arg(3.0F);
                                }}}};
  ASSERT_TRUE(registry_.add(scale));
  const uint64_t x = tensor({2, 4}), y = tensor({0, 0});
  const Status done = call("scale", x, y, 2);
  if (!done && done.error().code == ErrorCode::Unsupported) GTEST_SKIP() << done.error().message;
  ASSERT_TRUE(done) << done.error().message;
  std::vector<float> out(2);
  ASSERT_TRUE(device_->download(std::as_writable_bytes(std::span(out)), y));
  EXPECT_EQ(out, (std::vector<float>{6, 12}));
}

}  // namespace
}  // namespace gpuemu
