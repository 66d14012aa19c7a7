// Calls through the C interface that must be refused before anything is launched, and streams,
// events and graphs through it.
#include "ops/capi/op_call.h"

#include <array>
#include <atomic>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "ops/capi/context.h"

namespace {

struct Log {
  std::vector<std::string> lines;
  static void add(void* user, const char* line) {
    static_cast<Log*>(user)->lines.emplace_back(line);
  }
};

class OpCall : public testing::Test {
 protected:
  void SetUp() override {
    gpuemu_options options{};
    options.struct_bytes = sizeof(options);
    options.backend = "emulator";
    options.threads = 1;
    ASSERT_EQ(gpuemu_context_create(&options, &context_), GPUEMU_OK) << gpuemu_last_error();
    ASSERT_EQ(gpuemu_op_find(context_, "vector_add", &call_.op), GPUEMU_OK);
    for (void*& one : memory_) ASSERT_EQ(gpuemu_memory_allocate(context_, 24, &one), GPUEMU_OK);
    ASSERT_EQ(gpuemu_stream_create(context_, 0, 0, &stream_), GPUEMU_OK);
    inputs_ = {tensor(memory_[0]), tensor(memory_[1])};
    output_ = tensor(memory_[2]);
    call_.struct_bytes = sizeof(call_);
    call_.inputs = inputs_.data();
    call_.input_count = 2;
    call_.outputs = &output_;
    call_.output_count = 1;
    call_.stream = stream_;
  }
  void TearDown() override { gpuemu_context_destroy(context_); }

  gpuemu_tensor tensor(void* data) const {
    return {data, GPUEMU_FLOAT32, 2, shape_.data(), nullptr};
  }
  void upload(size_t which, std::array<float, 6> values) {
    ASSERT_EQ(gpuemu_memory_upload(context_, memory_[which], values.data(), 24, stream_),
              GPUEMU_OK);
    ASSERT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK);
  }
  float result() {
    std::array<float, 6> values{};
    EXPECT_EQ(gpuemu_memory_download(context_, values.data(), memory_[2], 24, stream_), GPUEMU_OK);
    EXPECT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK) << gpuemu_last_error();
    return values[5];
  }
  std::string problem(gpuemu_code expected = GPUEMU_INVALID_ARGUMENT) {
    const gpuemu_code code = gpuemu_op_call(context_, &call_);
    EXPECT_EQ(code, expected) << gpuemu_code_name(code);
    return code == GPUEMU_OK ? "" : gpuemu_last_error();
  }

  const std::array<int64_t, 2> shape_ = {2, 3};
  gpuemu_context* context_ = nullptr;
  gpuemu_stream stream_ = 0;
  std::array<void*, 3> memory_{};
  std::array<gpuemu_tensor, 2> inputs_{};
  gpuemu_tensor output_{};
  gpuemu_call call_{};
};

TEST_F(OpCall, ComputesAndTellsALogWhatItChose) {
  Log log;
  ASSERT_EQ(gpuemu_context_set_log(context_, Log::add, &log), GPUEMU_OK);
  upload(0, {1, 1, 1, 1, 1, 1});
  upload(1, {2, 2, 2, 2, 2, 5});
  EXPECT_EQ(problem(GPUEMU_OK), "");
  EXPECT_EQ(result(), 6.0F);
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0].find("vector_add: "), 0U) << log.lines[0];
  EXPECT_NE(log.lines[0].find("a [2, 3], b [2, 3], y [2, 3]; T = float32; "), std::string::npos);
  ASSERT_EQ(gpuemu_context_set_log(context_, nullptr, nullptr), GPUEMU_OK);
  EXPECT_EQ(problem(GPUEMU_OK), "");
  EXPECT_EQ(log.lines.size(), 1U);
}

TEST_F(OpCall, RefusesWhatIsNull) {
  call_.inputs = nullptr;
  EXPECT_EQ(problem(), "inputs is NULL and its count is 2");
  call_.inputs = inputs_.data();
  inputs_[1].shape = nullptr;
  EXPECT_EQ(problem(), "inputs[1]: shape is NULL");
  inputs_[1] = tensor(nullptr);
  EXPECT_EQ(problem(), "vector_add: b has a null address and 6 elements");
  inputs_[1] = tensor(memory_[1]);
  call_.attribute_bytes = 4;
  EXPECT_EQ(problem(), "attributes is NULL and attribute_bytes is 4");
  EXPECT_EQ(gpuemu_op_call(context_, nullptr), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_op_call(nullptr, &call_), GPUEMU_INVALID_ARGUMENT);
  EXPECT_STREQ(gpuemu_last_error(), "context is NULL");
}

TEST_F(OpCall, RefusesTensorsThatLeaveTheirMemory) {
  inputs_[0].data = static_cast<char*>(memory_[0]) + 4;
  EXPECT_NE(problem().find("vector_add: a needs 24 bytes at"), std::string::npos);
  EXPECT_NE(std::string(gpuemu_last_error()).find("its allocation has 20 left"), std::string::npos);
  inputs_[0].data = &inputs_;
  EXPECT_NE(problem().find("which is not in the memory of this device"), std::string::npos);
  inputs_[0] = tensor(memory_[0]);
  const std::array<int64_t, 2> strides = {4, 1};
  inputs_[0].strides = strides.data();
  EXPECT_NE(problem().find("a needs 28 bytes"), std::string::npos);
}

TEST_F(OpCall, MakesCallsUpToTheFirstThatIsRefused) {
  upload(0, {1, 1, 1, 1, 1, 1});
  upload(1, {2, 2, 2, 2, 2, 5});
  gpuemu_call wrong = call_;
  wrong.input_count = 1;
  const std::array<const gpuemu_call*, 3> calls = {&call_, &wrong, &call_};
  uint32_t done = 7;
  EXPECT_EQ(gpuemu_op_calls(context_, calls.data(), 3, &done), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(done, 1U);
  EXPECT_NE(std::string(gpuemu_last_error()).find("1 inputs, expected 2"), std::string::npos);
  EXPECT_EQ(result(), 6.0F);
  EXPECT_EQ(gpuemu_op_calls(context_, calls.data(), 1, nullptr), GPUEMU_OK);
  EXPECT_EQ(gpuemu_op_calls(context_, nullptr, 0, &done), GPUEMU_OK);
  EXPECT_EQ(done, 0U);
  EXPECT_EQ(gpuemu_op_calls(context_, nullptr, 1, &done), GPUEMU_INVALID_ARGUMENT);
  const std::array<const gpuemu_call*, 1> none = {nullptr};
  EXPECT_EQ(gpuemu_op_calls(context_, none.data(), 1, &done), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_op_calls(nullptr, calls.data(), 1, &done), GPUEMU_INVALID_ARGUMENT);
}

TEST_F(OpCall, NumbersTheFindingsOfATaggedThread) {
  // Nothing was written to the inputs.
  ASSERT_EQ(gpuemu_op_tag(context_, 40), GPUEMU_OK);
  EXPECT_EQ(problem(GPUEMU_OK), "");
  inputs_[0].data = nullptr;
  EXPECT_NE(problem(), "") << "a refused call has no number";
  inputs_[0] = tensor(memory_[0]);
  EXPECT_EQ(problem(GPUEMU_OK), "");
  ASSERT_EQ(gpuemu_op_tag(context_, 0), GPUEMU_OK);
  EXPECT_EQ(problem(GPUEMU_OK), "");
  ASSERT_EQ(gpuemu_context_synchronize(context_), GPUEMU_OK) << gpuemu_last_error();
  size_t bytes = 0;
  std::string text(1 << 16, '\0');
  ASSERT_EQ(gpuemu_findings_json(context_, text.data(), text.size(), &bytes), GPUEMU_OK);
  const nlohmann::json findings = nlohmann::json::parse(text.substr(0, bytes - 1));
  std::set<int> calls;
  for (const auto& one : findings) calls.insert(one.value("call", 0));
  EXPECT_EQ(calls, (std::set<int>{0, 40, 41})) << text;
}

TEST_F(OpCall, LooksAtTheMemoryOfTheSameCallAgain) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(problem(GPUEMU_OK), "");
  ASSERT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK);
  ASSERT_EQ(gpuemu_memory_free(context_, memory_[2]), GPUEMU_OK);
  EXPECT_NE(problem().find("y lies at"), std::string::npos) << gpuemu_last_error();
  ASSERT_EQ(gpuemu_memory_allocate(context_, 24, &memory_[2]), GPUEMU_OK);
  output_ = tensor(memory_[2]);
  EXPECT_EQ(problem(GPUEMU_OK), "");
  ASSERT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK);
  ASSERT_EQ(gpuemu_memory_adopt(context_, memory_[2], 24, 1, "lent"), GPUEMU_OK)
      << gpuemu_last_error();
  EXPECT_NE(problem().find("adopted for reading alone"), std::string::npos);
}

TEST_F(OpCall, GivesMemoryInTheOrderOfAStream) {
  for (const bool has_pool : {false, true}) {
    // As on a GPU, where memory bounds are not checked.
    if (has_pool) {
      context_->pool = std::make_unique<gpuemu::Pool>(gpuemu::device_memory(*context_->device),
                                                      gpuemu::PoolOptions{});
    }
    void* first = nullptr;
    ASSERT_EQ(gpuemu_memory_allocate_async(context_, 24, stream_, &first), GPUEMU_OK);
    output_.data = first;
    EXPECT_EQ(problem(GPUEMU_OK), "");
    EXPECT_EQ(gpuemu_memory_free_async(context_, first, stream_), GPUEMU_OK);
    EXPECT_NE(problem(), "") << "freed memory is none of the device's";
    EXPECT_EQ(gpuemu_memory_free_async(context_, first, stream_), GPUEMU_INVALID_ARGUMENT);
    void* second = nullptr;
    ASSERT_EQ(gpuemu_memory_allocate_async(context_, 20, stream_, &second), GPUEMU_OK);
    if (has_pool) {
      EXPECT_EQ(second, first) << "from the cache";
    }
    output_.data = second;
    EXPECT_NE(problem().find("its allocation has 20 left"), std::string::npos);
    EXPECT_EQ(gpuemu_memory_free(context_, second), GPUEMU_OK) << gpuemu_last_error();
    EXPECT_EQ(gpuemu_memory_trim(context_, 0), GPUEMU_OK);
    if (has_pool) {
      EXPECT_EQ(context_->pool->statistics().reserved_bytes, 0U);
    }
  }
}

TEST_F(OpCall, RefusesMemoryCallsThatHaveNoOrder) {
  void* memory = nullptr;
  EXPECT_EQ(gpuemu_memory_allocate_async(context_, 24, 12345, &memory), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_memory_allocate_async(context_, 24, stream_, nullptr), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_memory_free_async(context_, memory_[0], stream_), GPUEMU_INVALID_ARGUMENT);
  EXPECT_NE(
      std::string(gpuemu_last_error()).find("was not allocated by gpuemu_memory_allocate_async"),
      std::string::npos);
  ASSERT_EQ(gpuemu_memory_allocate_async(context_, 24, stream_, &memory), GPUEMU_OK);
  EXPECT_EQ(gpuemu_memory_free_async(context_, memory, 12345), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_memory_free_async(context_, memory, stream_), GPUEMU_OK);
  EXPECT_EQ(gpuemu_memory_free_async(context_, nullptr, stream_), GPUEMU_OK);
}

TEST_F(OpCall, RefusesNumbersThatAreNone) {
  const uint32_t op = call_.op;
  for (const uint32_t wrong : {0U, 100000U}) {
    call_.op = wrong;
    EXPECT_NE(problem(GPUEMU_NOT_FOUND).find("gpuemu_op_find"), std::string::npos);
  }
  call_.op = op;
  inputs_[0].rank = -1;
  EXPECT_EQ(problem(), "inputs[0]: rank -1, expected 0 to 16");
  inputs_[0].rank = 17;
  EXPECT_EQ(problem(), "inputs[0]: rank 17, expected 0 to 16");
  inputs_[0] = tensor(memory_[0]);
  inputs_[0].dtype = -1;
  EXPECT_EQ(problem(), "inputs[0]: dtype -1, expected 0 to 12");
  inputs_[0] = tensor(memory_[0]);
  call_.input_count = 1000;
  EXPECT_EQ(problem(), "1000 inputs, expected at most 16");
  call_.input_count = 2;
  call_.struct_bytes = 8;
  EXPECT_NE(problem().find("call.struct_bytes is 8"), std::string::npos);
  call_.struct_bytes = sizeof(call_);
  call_.stream = 12345;
  EXPECT_NE(problem(), "");
}

TEST_F(OpCall, TakesTheStructsOfOlderAndNewerHeaders) {
  struct Newer {
    gpuemu_call call;
    uint64_t later = 0;
  } newer{call_};
  newer.call.struct_bytes = sizeof(newer);
  EXPECT_EQ(gpuemu_op_call(context_, &newer.call), GPUEMU_OK) << gpuemu_last_error();
  newer.later = 1;
  EXPECT_EQ(gpuemu_op_call(context_, &newer.call), GPUEMU_INVALID_ARGUMENT);
  EXPECT_NE(std::string(gpuemu_last_error()).find("that this library does not know"),
            std::string::npos);

  struct NewerInfo {
    gpuemu_device_info info;
    uint64_t later = 7;
  } info{};
  info.info.struct_bytes = sizeof(info);
  ASSERT_EQ(gpuemu_context_device(context_, &info.info), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(info.info.sm, 80);
  EXPECT_EQ(info.later, 7U);
  info.info.struct_bytes = 8;
  EXPECT_EQ(gpuemu_context_device(context_, &info.info), GPUEMU_INVALID_ARGUMENT);
}

TEST_F(OpCall, TakesTensorsWithoutElements) {
  const std::array<int64_t, 2> empty = {3, 0};
  for (gpuemu_tensor* one : {&inputs_[0], &inputs_[1], &output_}) {
    one->shape = empty.data();
    one->data = nullptr;
  }
  EXPECT_EQ(problem(GPUEMU_OK), "");
}

TEST_F(OpCall, RefusesAnArchitectureThatNoKernelIsFor) {
  for (const int32_t sm : {-1, 3, 74, 76, 12345}) {
    gpuemu_options options{};
    options.struct_bytes = sizeof(options);
    options.backend = "emulator";
    options.sm = sm;
    gpuemu_context* none = nullptr;
    EXPECT_EQ(gpuemu_context_create(&options, &none), GPUEMU_INVALID_ARGUMENT);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(std::string(gpuemu_last_error()),
              fmt::format("no architecture 'sm_{}' to emulate, expected sm_75, sm_80, sm_86, "
                          "sm_89, sm_90, sm_100 or sm_120",
                          sm));
  }
}

TEST_F(OpCall, HasTheMemoryThatThereIs) {
  gpuemu_device_info info{};
  info.struct_bytes = sizeof(info);
  ASSERT_EQ(gpuemu_context_device(context_, &info), GPUEMU_OK);
  const auto pages = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES));
  EXPECT_EQ(info.memory_bytes, pages * static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE)));
  gpuemu_device_info listed{};
  listed.struct_bytes = sizeof(listed);
  ASSERT_EQ(gpuemu_device_at("emulator", 0, &listed), GPUEMU_OK);
  EXPECT_EQ(listed.memory_bytes, info.memory_bytes) << "before it is opened and behind";
}

TEST_F(OpCall, KnowsMemoryThatOtherThreadsFreeAndGet) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 50; ++n) {
        void* mine = nullptr;
        ASSERT_EQ(gpuemu_memory_allocate(context_, 24, &mine), GPUEMU_OK);
        gpuemu_call call = call_;
        gpuemu_tensor to = tensor(mine);
        call.outputs = &to;
        ASSERT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
        ASSERT_EQ(gpuemu_memory_free(context_, mine), GPUEMU_OK) << gpuemu_last_error();
      }
    });
  }
  for (std::thread& one : threads) one.join();
  EXPECT_NE(gpuemu_memory_free(context_, &threads), GPUEMU_OK);
}

TEST_F(OpCall, EndsAProfileWhileOtherThreadsAreInRanges) {
  std::atomic<bool> done = false;
  std::thread ranges([&] {
    while (!done) {
      gpuemu_range_begin(context_, "a range");
      gpuemu_range_end(context_);
    }
  });
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(gpuemu_profile_start(context_, 0), GPUEMU_OK) << gpuemu_last_error();
    ASSERT_EQ(gpuemu_profile_stop(context_, nullptr, nullptr), GPUEMU_OK) << gpuemu_last_error();
  }
  done = true;
  ranges.join();
}

TEST_F(OpCall, NamesTheOpsThatThereAre) {
  const uint32_t count = gpuemu_op_count(context_);
  ASSERT_GT(count, 7U);
  for (uint32_t op = 1; op <= count; ++op) {
    uint32_t found = 0;
    ASSERT_EQ(gpuemu_op_find(context_, gpuemu_op_name(context_, op), &found), GPUEMU_OK);
    EXPECT_EQ(found, op);
  }
  EXPECT_EQ(gpuemu_op_name(context_, 0), nullptr);
  EXPECT_EQ(gpuemu_op_name(context_, count + 1), nullptr);
}

TEST_F(OpCall, UsesTheCurrentStreamWhereNoneIsNamed) {
  call_.stream = 0;
  ASSERT_EQ(gpuemu_stream_set_current(context_, stream_), GPUEMU_OK);
  ASSERT_EQ(gpuemu_capture_begin(context_, stream_), GPUEMU_OK);
  EXPECT_EQ(problem(GPUEMU_OK), "");
  gpuemu_graph graph = 0;
  ASSERT_EQ(gpuemu_capture_end(context_, 0, &graph), GPUEMU_OK) << gpuemu_last_error();
  ASSERT_EQ(gpuemu_stream_set_current(context_, 0), GPUEMU_OK);
  EXPECT_NE(gpuemu_stream_set_current(context_, ~gpuemu_stream{0}), GPUEMU_OK);
  upload(0, {0, 0, 0, 0, 0, 1});
  for (const float b : {10.0F, 20.0F}) {
    upload(1, {0, 0, 0, 0, 0, b});
    ASSERT_EQ(gpuemu_graph_launch(context_, graph, stream_), GPUEMU_OK) << gpuemu_last_error();
    EXPECT_EQ(result(), b + 1);
  }
  EXPECT_EQ(gpuemu_graph_destroy(context_, graph), GPUEMU_OK);
}

TEST_F(OpCall, MeasuresWithEvents) {
  upload(0, {1, 1, 1, 1, 1, 1});
  upload(1, {1, 1, 1, 1, 1, 1});
  gpuemu_event from = 0, to = 0;
  float ms = -1;
  ASSERT_EQ(gpuemu_event_create(context_, &from), GPUEMU_OK);
  ASSERT_EQ(gpuemu_event_create(context_, &to), GPUEMU_OK);
  EXPECT_EQ(gpuemu_event_elapsed_ms(context_, from, to, &ms), GPUEMU_INVALID_ARGUMENT);
  ASSERT_EQ(gpuemu_event_record(context_, from, stream_), GPUEMU_OK);
  EXPECT_EQ(problem(GPUEMU_OK), "");
  ASSERT_EQ(gpuemu_event_record(context_, to, stream_), GPUEMU_OK);
  ASSERT_EQ(gpuemu_event_synchronize(context_, to), GPUEMU_OK);
  ASSERT_EQ(gpuemu_event_elapsed_ms(context_, from, to, &ms), GPUEMU_OK);
  EXPECT_GT(ms, 0);
  EXPECT_EQ(gpuemu_event_destroy(context_, from), GPUEMU_OK);
}

TEST_F(OpCall, WritesAProfileOfItsCalls) {
  const std::string stem = testing::TempDir() + fmt::format("gpuemu-op-call-{}", ::getpid());
  const std::string trace = stem + "-trace.json", statistics = stem + "-stats.json";
  EXPECT_EQ(gpuemu_profile_stop(context_, nullptr, nullptr), GPUEMU_INVALID_ARGUMENT);
  upload(0, {1, 1, 1, 1, 1, 1});
  upload(1, {1, 1, 1, 1, 1, 1});
  ASSERT_EQ(gpuemu_profile_start(context_, 1), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(gpuemu_profile_start(context_, 1), GPUEMU_INVALID_ARGUMENT);
  gpuemu_range_begin(context_, "the range");
  EXPECT_EQ(problem(GPUEMU_OK), "");
  gpuemu_range_end(context_);
  ASSERT_EQ(gpuemu_profile_stop(context_, trace.c_str(), statistics.c_str()), GPUEMU_OK);
  const auto text = [](const std::string& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_NE(text(trace).find("\"the range\""), std::string::npos);
  EXPECT_NE(text(trace).find("\"vector_add\""), std::string::npos);
  EXPECT_NE(text(statistics).find("\"vector_add_float32\""), std::string::npos);
  EXPECT_NE(gpuemu_profile_start(context_, 0), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_profile_stop(context_, "/no/such/folder/trace.json", nullptr), GPUEMU_NOT_FOUND);
}

/// Returns the processor time of this thread for this many calls, the least of several rounds.
template <typename Work>
double least_ns(int times, const Work& work) {
  constexpr int kRounds = 7;
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
  };
  double least = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = now();
    for (int i = 0; i < times; ++i) work();
    const double ns = (now() - begin) / times;
    if (round == 0 || ns < least) least = ns;
  }
  return least;
}

TEST_F(OpCall, WithoutAProfileARangeCostsNothingBesideACall) {
  constexpr int kCalls = 200, kRanges = 20'000;
  constexpr double kShareMax = 0.05;
  const double call = least_ns(kCalls, [&] { EXPECT_EQ(gpuemu_op_call(context_, &call_), 0); });
  ASSERT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK);
  const auto range = [&] {
    gpuemu_range_begin(context_, "range");
    gpuemu_range_end(context_);
  };
  EXPECT_LT(least_ns(kRanges, range), kShareMax * call);
  ASSERT_EQ(gpuemu_profile_start(context_, 0), GPUEMU_OK) << gpuemu_last_error();
  ASSERT_EQ(gpuemu_profile_stop(context_, nullptr, nullptr), GPUEMU_OK);
  EXPECT_LT(least_ns(kRanges, range), kShareMax * call) << "after a profile";
}

TEST(OpCallContext, SaysWhyThereIsNone) {
  gpuemu_context* context = nullptr;
  gpuemu_options options{};
  EXPECT_EQ(gpuemu_context_create(&options, &context), GPUEMU_INVALID_ARGUMENT);
  options.struct_bytes = sizeof(options);
  options.backend = "abacus";
  EXPECT_EQ(gpuemu_context_create(&options, &context), GPUEMU_INVALID_ARGUMENT);
  EXPECT_NE(std::string(gpuemu_last_error()).find("abacus"), std::string::npos);
  options.backend = "emulator";
  options.policy = "/nowhere/policy.toml";
  EXPECT_EQ(gpuemu_context_create(&options, &context), GPUEMU_NOT_FOUND);
  EXPECT_EQ(context, nullptr);
  gpuemu_context_destroy(nullptr);
}

}  // namespace
