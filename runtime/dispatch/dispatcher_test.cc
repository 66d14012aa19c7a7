// Calls through the dispatcher on the emulator: choice, fallback, timing, log.
#include "runtime/dispatch/dispatcher.h"

#include <cstring>
#include <filesystem>

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

template <int Runs>
void plan_gelu(const OpCase& c, Plan& plan) {
  const auto count = static_cast<int32_t>(c.in(0).count());
  for (int i = 0; i < Runs; ++i) {
    plan.launch({blocks_for(count, 64), 1, 1}, {64, 1, 1}).arg(c.in(0)).arg(c.out(0)).arg(count);
  }
}

KernelVariant variant(const std::string& name, int priority, void (*plan)(const OpCase&, Plan&)) {
  return {.name = name,
          .module = "gelu",
          .entries = {"gelu_{T}"},
          .types = {{'T', {DType::Float32}}},
          .priority = priority,
          .plan = plan};
}

OpKind twice_gelu() {
  return {.name = "twice_gelu",
          .summary = "y = gelu(x), by a slow and a fast way",
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .variants = {variant("slow", 2, plan_gelu<6>), variant("fast", 1, plan_gelu<1>)}};
}

class Dispatching : public testing::Test {
 protected:
  void SetUp() override {
    auto device = open_device({.backend = "emulator", .threads = 1});
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
    registry_ = OpRegistry::with_builtins();
    ASSERT_TRUE(registry_.add(op_));
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
    const TensorView in{x, DType::Float32, shape, strides}, out{y, DType::Float32, shape, strides};
    return dispatcher_->call(
        {.op = *registry_.find(op), .inputs = {&in, 1}, .outputs = {&out, 1}, .stream = stream});
  }

  const std::string folder_ =
      (std::filesystem::temp_directory_path() / fmt::format("gpuemu-dispatch-{}", ::getpid()))
          .string();
  OpKind op_ = twice_gelu();
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
  renew({.strategy = Strategy::FirstSupported, .preferred = {{"twice_gelu", "fast"}}});
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
  renew({.strategy = Strategy::BestPerformance});
  ASSERT_TRUE(call("twice_gelu", x, y, 4096));
  EXPECT_EQ(log_.back().variant, "fast");
  EXPECT_NE(log_.back().why.find("fastest of 2"), std::string::npos);
  const std::string first = log_.back().why;
  renew({.strategy = Strategy::BestPerformance});
  ASSERT_TRUE(call("twice_gelu", x, y, 4000));  // The same class, another process.
  EXPECT_EQ(log_.back().why, first);
}

TEST_F(Dispatching, TimesAgainWhenAModuleChanged) {
  const uint64_t x = tensor(std::vector<float>(4096, 1)), y = tensor(std::vector<float>(4096));
  renew({.strategy = Strategy::BestPerformance});
  ASSERT_TRUE(call("twice_gelu", x, y, 4096));
  const std::vector<int64_t> shape = {4096}, strides = {1};
  const TensorView in{x, DType::Float32, shape, strides}, out{y, DType::Float32, shape, strides};
  const OpCase c{op_, {&in, 1}, {&out, 1}, Attributes(op_.schema, {}), device_->properties()};
  const std::string question = timing_question(c, *bind_types(c));
  // As if the fast one had been compiled differently and been slow then.
  VariantTimes times = Timings(folder_).find(question);
  ASSERT_EQ(times.size(), 2U);
  times["fast"] = {"another module", 1e9};
  Timings(folder_).keep(question, times);
  renew({.strategy = Strategy::BestPerformance});
  ASSERT_TRUE(call("twice_gelu", x, y, 4096));
  EXPECT_EQ(log_.back().variant, "fast");
  times["fast"].module_hash = Timings(folder_).find(question)["fast"].module_hash;
  Timings(folder_).keep(question, times);
  renew({.strategy = Strategy::BestPerformance});
  ASSERT_TRUE(call("twice_gelu", x, y, 4096));  // The same module: what is on disk is believed.
  EXPECT_EQ(log_.back().variant, "slow");
}

TEST_F(Dispatching, TimingTouchesNeitherInputsNorOutputs) {
  op_.in_place = true;
  renew({.strategy = Strategy::BestPerformance});
  const uint64_t x = tensor({1, 1, 1});
  op_.variants[0].priority = 0;  // `fast` computes once.
  ASSERT_TRUE(call("twice_gelu", x, x, 3));
  std::vector<float> out(3);
  ASSERT_TRUE(device_->download(std::as_writable_bytes(std::span(out)), x));
  EXPECT_NEAR(out[0], 0.841345F, 1e-6);
}

TEST_F(Dispatching, OfACaptureTimesNothingAndReplaysWithTheContentsOfThen) {
  renew({.strategy = Strategy::BestPerformance});
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

TEST_F(Dispatching, NamesEachVariantsReasonWhenNoneSupportsTheCall) {
  const uint64_t x = tensor({0, 1});
  const std::vector<int64_t> shape = {1}, strides = {1};
  const TensorView in{x, DType::Int8, shape, strides}, out{x + 4, DType::Int8, shape, strides};
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
  if (!done && done.error().code == ErrorCode::Unavailable) GTEST_SKIP() << done.error().message;
  ASSERT_TRUE(done) << done.error().message;
  std::vector<float> out(2);
  ASSERT_TRUE(device_->download(std::as_writable_bytes(std::span(out)), y));
  EXPECT_EQ(out, (std::vector<float>{6, 12}));
}

}  // namespace
}  // namespace gpuemu
