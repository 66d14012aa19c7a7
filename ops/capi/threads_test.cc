// Tests several threads in one context: none may affect the results of another. With the thread
// sanitizer (scripts/sanitize.sh thread), there must be no races.
#include <atomic>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/files.h"
#include "ops/capi/op_call.h"

namespace {

constexpr int64_t kCount = 40;
constexpr size_t kThreadBytes = kCount * sizeof(float);
constexpr int kThreads = 4, kRounds = 12;

class Threads : public testing::Test {
 protected:
  void SetUp() override {
    gpuemu_options options{};
    options.struct_bytes = sizeof options;
    options.backend = "emulator";
    options.threads = 2;
    ASSERT_EQ(gpuemu_context_create(&options, &context_), GPUEMU_OK) << gpuemu_last_error();
    ASSERT_EQ(gpuemu_op_find(context_, "vector_add", &add_), GPUEMU_OK);
  }
  void TearDown() override { gpuemu_context_destroy(context_); }

  /// `work` with the numbers of the threads, all at once.
  template <typename Work>
  static void at_once(const Work& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
  }

  gpuemu_context* context_ = nullptr;
  uint32_t add_ = 0;
};

/// The objects of one thread: a stream, three vectors, and the call z = x + y.
class Mine {
 public:
  Mine(gpuemu_context* context, uint32_t op, float value) : context_(context), value_(value) {
    EXPECT_EQ(gpuemu_stream_create(context, 0, 1, &stream_), GPUEMU_OK);
    for (gpuemu_tensor& tensor : tensors_) {
      EXPECT_EQ(gpuemu_memory_allocate(context, kThreadBytes, &tensor.data), GPUEMU_OK);
      tensor.dtype = GPUEMU_FLOAT32;
      tensor.rank = 1;
      tensor.shape = &kCount;
    }
    call_.struct_bytes = sizeof call_;
    call_.op = op;
    call_.inputs = tensors_;
    call_.outputs = tensors_ + 2;
    call_.input_count = 2;
    call_.output_count = 1;
    call_.stream = stream_;
  }
  ~Mine() {
    EXPECT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK) << gpuemu_last_error();
    for (const gpuemu_tensor& tensor : tensors_) {
      EXPECT_EQ(gpuemu_memory_free(context_, tensor.data), GPUEMU_OK);
    }
    EXPECT_EQ(gpuemu_stream_destroy(context_, stream_), GPUEMU_OK);
  }
  Mine(const Mine&) = delete;
  Mine& operator=(const Mine&) = delete;

  gpuemu_stream stream() const { return stream_; }
  gpuemu_code call() { return gpuemu_op_call(context_, &call_); }
  void fill() {
    const std::vector<float> x(kCount, value_);
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(gpuemu_memory_upload(context_, tensors_[i].data, x.data(), kThreadBytes, stream_),
                GPUEMU_OK);
    }
    ASSERT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK);
  }
  void expect_sum() {
    std::vector<float> z(kCount);
    ASSERT_EQ(gpuemu_memory_download(context_, z.data(), tensors_[2].data, kThreadBytes, stream_),
              GPUEMU_OK);
    ASSERT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK) << gpuemu_last_error();
    EXPECT_EQ(z, std::vector<float>(kCount, 2 * value_));
  }

 private:
  gpuemu_context* context_;
  float value_;
  gpuemu_stream stream_ = 0;
  gpuemu_tensor tensors_[3] = {};
  gpuemu_call call_{};
};

TEST_F(Threads, HaveTheirOwnStreamsResultsAndErrors) {
  at_once([&](int number) {
    Mine mine(context_, add_, static_cast<float>(number + 1));
    mine.fill();
    const std::string name = fmt::format("no op of thread {}", number);
    for (int i = 0; i < kRounds; ++i) {
      uint32_t none = 0;
      ASSERT_EQ(gpuemu_op_find(context_, name.c_str(), &none), GPUEMU_NOT_FOUND);
      ASSERT_EQ(mine.call(), GPUEMU_OK) << gpuemu_last_error();
      ASSERT_EQ(gpuemu_op_find(context_, name.c_str(), &none), GPUEMU_NOT_FOUND);
      EXPECT_NE(std::string(gpuemu_last_error()).find(name), std::string::npos);
      mine.expect_sum();
    }
  });
}

TEST_F(Threads, EachHaveTheStreamThatIsTheThreadsOwn) {
  void* memory = nullptr;
  ASSERT_EQ(gpuemu_memory_allocate(context_, kThreadBytes, &memory), GPUEMU_OK);
  const gpuemu_stream own = GPUEMU_STREAM_PER_THREAD;
  ASSERT_EQ(gpuemu_capture_begin(context_, own), GPUEMU_OK) << gpuemu_last_error();
  // Work captured here is executed by the other thread on a different stream.
  std::thread([&] {
    EXPECT_EQ(gpuemu_stream_set_current(context_, own), GPUEMU_OK) << gpuemu_last_error();
    EXPECT_EQ(gpuemu_memory_fill(context_, memory, 7, kThreadBytes, 0), GPUEMU_OK);
    unsigned char first = 0;
    EXPECT_EQ(gpuemu_memory_download(context_, &first, memory, 1, own), GPUEMU_OK);
    EXPECT_EQ(gpuemu_stream_synchronize(context_, own), GPUEMU_OK) << gpuemu_last_error();
    EXPECT_EQ(first, 7);
  }).join();
  EXPECT_EQ(gpuemu_memory_fill(context_, memory, 9, kThreadBytes, own), GPUEMU_OK);
  gpuemu_graph graph = 0;
  ASSERT_EQ(gpuemu_capture_end(context_, own, &graph), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(gpuemu_stream_destroy(context_, own), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_graph_launch(context_, graph, own), GPUEMU_OK);
  unsigned char first = 0;
  EXPECT_EQ(gpuemu_memory_download(context_, &first, memory, 1, own), GPUEMU_OK);
  EXPECT_EQ(gpuemu_stream_synchronize(context_, own), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(first, 9);
}

TEST_F(Threads, CallEveryOpForTheFirstTimeAtOnce) {
  const uint32_t count = gpuemu_op_count(context_);
  at_once([&](int) {
    Mine mine(context_, add_, 1);
    mine.fill();
    for (uint32_t op = 1; op <= count; ++op) {
      // Two inputs and one output of the same shape: some ops accept that, others report what they
      // require.
      Mine other(context_, op, 1);
      other.fill();
      const gpuemu_code code = other.call();
      EXPECT_TRUE(code == GPUEMU_OK || code == GPUEMU_INVALID_ARGUMENT ||
                  code == GPUEMU_UNSUPPORTED)
          << gpuemu_op_name(context_, op) << ": " << gpuemu_last_error();
    }
  });
}

TEST_F(Threads, CaptureAndReplayEachOnItsStream) {
  at_once([&](int number) {
    Mine mine(context_, add_, static_cast<float>(number + 1));
    mine.fill();
    ASSERT_EQ(mine.call(), GPUEMU_OK);
    for (int i = 0; i < kRounds; ++i) {
      gpuemu_graph graph = 0;
      ASSERT_EQ(gpuemu_capture_begin(context_, mine.stream()), GPUEMU_OK) << gpuemu_last_error();
      ASSERT_EQ(mine.call(), GPUEMU_OK);
      ASSERT_EQ(gpuemu_capture_end(context_, mine.stream(), &graph), GPUEMU_OK);
      ASSERT_EQ(gpuemu_graph_launch(context_, graph, mine.stream()), GPUEMU_OK);
      mine.expect_sum();
      ASSERT_EQ(gpuemu_graph_destroy(context_, graph), GPUEMU_OK);
    }
  });
}

TEST_F(Threads, GetAndGiveMemoryInTheOrderOfStreams) {
  at_once([&](int number) {
    Mine mine(context_, add_, 1);
    for (int i = 0; i < 4 * kRounds; ++i) {
      const size_t bytes = static_cast<size_t>(1 + (number * 31 + i * 97) % 5000);
      void* memory = nullptr;
      ASSERT_EQ(gpuemu_memory_allocate_async(context_, bytes, mine.stream(), &memory), GPUEMU_OK);
      ASSERT_EQ(gpuemu_memory_fill(context_, memory, 7, bytes, mine.stream()), GPUEMU_OK);
      ASSERT_EQ(gpuemu_memory_free_async(context_, memory, mine.stream()), GPUEMU_OK);
      if (i % kRounds == 0) {
        ASSERT_EQ(gpuemu_memory_trim(context_, 0), GPUEMU_OK);
      }
    }
  });
}

TEST_F(Threads, WaitForEventsOfOneAnother) {
  Mine first(context_, add_, 3);
  first.fill();
  gpuemu_event event = 0;
  ASSERT_EQ(gpuemu_event_create(context_, &event), GPUEMU_OK);
  at_once([&](int number) {
    Mine mine(context_, add_, 3);
    mine.fill();
    for (int i = 0; i < kRounds; ++i) {
      if (number == 0) {
        ASSERT_EQ(first.call(), GPUEMU_OK);
        ASSERT_EQ(gpuemu_event_record(context_, event, first.stream()), GPUEMU_OK);
      } else {
        ASSERT_EQ(gpuemu_event_wait(context_, event, mine.stream()), GPUEMU_OK);
        ASSERT_EQ(mine.call(), GPUEMU_OK);
        ASSERT_EQ(gpuemu_event_synchronize(context_, event), GPUEMU_OK);
        mine.expect_sum();
      }
    }
  });
  first.expect_sum();
  EXPECT_EQ(gpuemu_event_destroy(context_, event), GPUEMU_OK);
}

TEST_F(Threads, AreInRangesWhileProfilesComeAndGo) {
  std::atomic<bool> done = false;
  const std::string file = testing::TempDir() + fmt::format("gpuemu-threads-{}.json", ::getpid());
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        gpuemu_range_begin(context_, "outer");
        gpuemu_range_begin(context_, "inner");
        gpuemu_range_end(context_);
        gpuemu_range_end(context_);
      }
    });
  }
  Mine mine(context_, add_, 2);
  mine.fill();
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_EQ(gpuemu_profile_start(context_, i % 2), GPUEMU_OK) << gpuemu_last_error();
    ASSERT_EQ(mine.call(), GPUEMU_OK);
    ASSERT_EQ(gpuemu_profile_stop(context_, file.c_str(), nullptr), GPUEMU_OK);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  const auto trace = gpuemu::read_file(file, uint64_t{1} << 30);
  ASSERT_TRUE(trace);
  EXPECT_NE(trace->find("vector_add"), std::string::npos);
  EXPECT_EQ(::unlink(file.c_str()), 0);
}

TEST_F(Threads, AreProfiledTogether) {
  const std::string file = testing::TempDir() + fmt::format("gpuemu-threads-{}.json", ::getpid());
  ASSERT_EQ(gpuemu_profile_start(context_, 1), GPUEMU_OK);
  at_once([&](int number) {
    Mine mine(context_, add_, static_cast<float>(number + 1));
    mine.fill();
    for (int i = 0; i < kRounds; ++i) {
      gpuemu_range_begin(context_, "round");
      ASSERT_EQ(mine.call(), GPUEMU_OK);
      gpuemu_range_end(context_);
    }
    mine.expect_sum();
  });
  ASSERT_EQ(gpuemu_profile_stop(context_, nullptr, file.c_str()), GPUEMU_OK);
  const auto statistics = gpuemu::read_file(file, uint64_t{1} << 30);
  ASSERT_TRUE(statistics);
  const std::string calls = fmt::format("\"count\":{},", kThreads * kRounds);
  EXPECT_NE(statistics->find(calls), std::string::npos) << *statistics;
  EXPECT_EQ(::unlink(file.c_str()), 0);
}

TEST_F(Threads, AreToldToALogThatComesAndGoes) {
  std::atomic<int> lines = 0;
  std::atomic<bool> done = false;
  const auto count = [](void* user, const char*) { ++*static_cast<std::atomic<int>*>(user); };
  std::thread switches([&] {
    while (!done) {
      EXPECT_EQ(gpuemu_context_set_log(context_, count, &lines), GPUEMU_OK);
      EXPECT_EQ(gpuemu_context_set_log(context_, nullptr, nullptr), GPUEMU_OK);
    }
  });
  at_once([&](int number) {
    Mine mine(context_, add_, static_cast<float>(number + 1));
    mine.fill();
    for (int i = 0; i < kRounds; ++i) ASSERT_EQ(mine.call(), GPUEMU_OK) << gpuemu_last_error();
    mine.expect_sum();
  });
  done = true;
  switches.join();
  EXPECT_LE(lines, kThreads * kRounds);
}

}  // namespace
