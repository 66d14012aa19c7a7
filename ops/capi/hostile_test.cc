// Tests misuse by programs: each gives a code and a message, and the context still works
// afterwards. With the address sanitizer (scripts/sanitize.sh address), no foreign memory is
// accessed.
#include <array>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ops/capi/op_call.h"

namespace {

constexpr size_t kHostileBytes = 4096;
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
constexpr int64_t kLow = std::numeric_limits<int64_t>::min();

class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(create({}, &context_), GPUEMU_OK) << gpuemu_last_error();
    ASSERT_EQ(gpuemu_stream_create(context_, 0, 1, &stream_), GPUEMU_OK);
    ASSERT_EQ(gpuemu_event_create(context_, &event_), GPUEMU_OK);
    for (void*& one : memory_) {
      ASSERT_EQ(gpuemu_memory_allocate(context_, kHostileBytes, &one), GPUEMU_OK);
      ASSERT_EQ(gpuemu_memory_fill(context_, one, 0, kHostileBytes, stream_), GPUEMU_OK);
    }
    ASSERT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK);
  }
  void TearDown() override {
    if (context_ != nullptr) expect_works();
    gpuemu_context_destroy(context_);
  }

  static gpuemu_code create(gpuemu_options options, gpuemu_context** context) {
    options.struct_bytes = sizeof options;
    if (options.backend == nullptr) options.backend = "emulator";
    if (options.threads == 0) options.threads = 1;
    return gpuemu_context_create(&options, context);
  }
  /// The code, after a look at the sentence.
  static gpuemu_code told(gpuemu_code code) {
    if (code != GPUEMU_OK) {
      EXPECT_NE(std::string(gpuemu_last_error()), "") << gpuemu_code_name(code);
    }
    return code;
  }
  void expect_works() {
    const int64_t shape = 8;
    const gpuemu_tensor x{memory_[0], GPUEMU_FLOAT32, 1, &shape, nullptr};
    const gpuemu_tensor y{memory_[1], GPUEMU_FLOAT32, 1, &shape, nullptr};
    gpuemu_call call{};
    call.struct_bytes = sizeof call;
    ASSERT_EQ(gpuemu_op_find(context_, "relu", &call.op), GPUEMU_OK);
    call.inputs = &x;
    call.outputs = &y;
    call.input_count = call.output_count = 1;
    call.stream = stream_;
    EXPECT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
    EXPECT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK) << gpuemu_last_error();
  }

  gpuemu_context* context_ = nullptr;
  gpuemu_stream stream_ = 0;
  gpuemu_event event_ = 0;
  std::array<void*, 4> memory_{};
};

TEST_F(Hostile, OptionsAreRefused) {
  gpuemu_context* none = nullptr;
  EXPECT_EQ(told(create({.device = -1}, &none)), GPUEMU_UNAVAILABLE);
  EXPECT_EQ(told(create({.device = 1000}, &none)), GPUEMU_UNAVAILABLE);
  EXPECT_EQ(told(create({.backend = ""}, &none)), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(told(create({.sm = 12345}, &none)), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(told(create({.threads = 0xffffffff}, &none)), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(told(create({.policy = "/"}, &none)), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(told(create({.guard_bytes = ~uint64_t{0}}, &none)), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(told(gpuemu_context_create(nullptr, nullptr)), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
}

TEST_F(Hostile, SizesOfStructsThatCannotBeAreRefused) {
  gpuemu_options options{};
  gpuemu_context* none = nullptr;
  gpuemu_call call{};
  for (const uint32_t bytes : {0U, 3U, 4U, 100'000U, 0xffffffffU}) {
    options.struct_bytes = call.struct_bytes = bytes;
    EXPECT_EQ(told(gpuemu_context_create(&options, &none)), GPUEMU_INVALID_ARGUMENT) << bytes;
    EXPECT_EQ(told(gpuemu_op_call(context_, &call)), GPUEMU_INVALID_ARGUMENT) << bytes;
  }
}

TEST_F(Hostile, ADestroyedContextIsRefusedEverywhere) {
  gpuemu_context* gone = context_;
  context_ = nullptr;
  gpuemu_context_destroy(gone);
  gpuemu_context_destroy(gone);
  gpuemu_device_info info{};
  info.struct_bytes = sizeof info;
  gpuemu_call call{};
  call.struct_bytes = sizeof call;
  void* memory = nullptr;
  uint64_t number = 0;
  uint32_t op = 0;
  float ms = 0;
  const gpuemu_code codes[] = {
      gpuemu_context_device(gone, &info),
      gpuemu_context_set_log(gone, nullptr, nullptr),
      gpuemu_profile_start(gone, 0),
      gpuemu_profile_stop(gone, nullptr, nullptr),
      gpuemu_op_find(gone, "relu", &op),
      gpuemu_op_call(gone, &call),
      gpuemu_op_tag(gone, 1),
      gpuemu_memory_allocate(gone, 1, &memory),
      gpuemu_memory_free(gone, memory_[0]),
      gpuemu_memory_allocate_async(gone, 1, stream_, &memory),
      gpuemu_memory_free_async(gone, memory_[0], stream_),
      gpuemu_memory_trim(gone, 0),
      gpuemu_memory_check(gone),
      gpuemu_context_set_policy(gone, nullptr),
      gpuemu_memory_upload(gone, memory_[0], &ms, 4, stream_),
      gpuemu_memory_download(gone, &ms, memory_[0], 4, stream_),
      gpuemu_memory_copy(gone, memory_[0], memory_[1], 4, stream_),
      gpuemu_memory_fill(gone, memory_[0], 0, 4, stream_),
      gpuemu_stream_create(gone, 0, 0, &number),
      gpuemu_stream_destroy(gone, stream_),
      gpuemu_stream_synchronize(gone, stream_),
      gpuemu_stream_set_current(gone, stream_),
      gpuemu_event_create(gone, &number),
      gpuemu_event_destroy(gone, event_),
      gpuemu_event_record(gone, event_, stream_),
      gpuemu_event_wait(gone, event_, stream_),
      gpuemu_event_synchronize(gone, event_),
      gpuemu_event_elapsed_ms(gone, event_, event_, &ms),
      gpuemu_capture_begin(gone, stream_),
      gpuemu_capture_end(gone, stream_, &number),
      gpuemu_graph_launch(gone, 1, stream_),
      gpuemu_graph_destroy(gone, 1),
  };
  for (const gpuemu_code code : codes) {
    EXPECT_EQ(code, GPUEMU_INVALID_ARGUMENT) << "call " << &code - codes;
  }
  EXPECT_STREQ(gpuemu_last_error(), "the context was destroyed");
  EXPECT_EQ(gpuemu_op_count(gone), 0U);
  EXPECT_EQ(gpuemu_op_name(gone, 1), nullptr);
  gpuemu_range_begin(gone, "nothing");
  gpuemu_range_end(gone);
}

TEST_F(Hostile, NumbersThatAreNoObjectsAreRefused) {
  const gpuemu_code wrong = GPUEMU_INVALID_ARGUMENT;
  float ms = 0;
  uint64_t number = 0;
  for (const uint64_t none : {uint64_t{12345}, ~uint64_t{0}, event_}) {
    EXPECT_EQ(told(gpuemu_stream_synchronize(context_, none)), wrong);
    EXPECT_EQ(told(gpuemu_stream_destroy(context_, none)), wrong);
    EXPECT_EQ(told(gpuemu_stream_set_current(context_, none)), wrong);
    EXPECT_EQ(told(gpuemu_capture_begin(context_, none)), wrong);
    EXPECT_EQ(told(gpuemu_capture_end(context_, none, &number)), wrong);
    EXPECT_EQ(told(gpuemu_graph_launch(context_, none, stream_)), wrong);
    EXPECT_EQ(told(gpuemu_graph_destroy(context_, none)), wrong);
    EXPECT_EQ(told(gpuemu_event_record(context_, event_, none)), wrong);
    EXPECT_EQ(told(gpuemu_event_wait(context_, event_, none)), wrong);
    EXPECT_EQ(told(gpuemu_memory_fill(context_, memory_[0], 0, 4, none)), wrong);
    EXPECT_EQ(told(gpuemu_memory_copy(context_, memory_[0], memory_[1], 4, none)), wrong);
  }
  for (const uint64_t none : {uint64_t{0}, uint64_t{12345}, ~uint64_t{0}, stream_}) {
    EXPECT_EQ(told(gpuemu_event_record(context_, none, stream_)), wrong);
    EXPECT_EQ(told(gpuemu_event_wait(context_, none, stream_)), wrong);
    EXPECT_EQ(told(gpuemu_event_synchronize(context_, none)), wrong);
    EXPECT_EQ(told(gpuemu_event_elapsed_ms(context_, none, event_, &ms)), wrong);
    EXPECT_EQ(told(gpuemu_event_destroy(context_, none)), wrong);
  }
  EXPECT_EQ(told(gpuemu_stream_destroy(context_, 0)), wrong) << "the default stream stays";
  EXPECT_EQ(told(gpuemu_stream_destroy(context_, 2)), wrong) << "so does that of each thread";
}

TEST_F(Hostile, NothingIsDestroyedTwice) {
  const gpuemu_code wrong = GPUEMU_INVALID_ARGUMENT;
  gpuemu_stream stream = 0;
  gpuemu_event event = 0;
  gpuemu_graph graph = 0;
  void* memory = nullptr;
  ASSERT_EQ(gpuemu_stream_create(context_, 0, 1, &stream), GPUEMU_OK);
  ASSERT_EQ(gpuemu_event_create(context_, &event), GPUEMU_OK);
  ASSERT_EQ(gpuemu_memory_allocate(context_, 16, &memory), GPUEMU_OK);
  ASSERT_EQ(gpuemu_capture_begin(context_, stream), GPUEMU_OK);
  ASSERT_EQ(gpuemu_capture_end(context_, stream, &graph), GPUEMU_OK);
  EXPECT_EQ(gpuemu_graph_destroy(context_, graph), GPUEMU_OK);
  EXPECT_EQ(told(gpuemu_graph_destroy(context_, graph)), wrong);
  EXPECT_EQ(told(gpuemu_graph_launch(context_, graph, stream)), wrong);
  EXPECT_EQ(gpuemu_stream_set_current(context_, stream), GPUEMU_OK);
  EXPECT_EQ(gpuemu_stream_destroy(context_, stream), GPUEMU_OK);
  EXPECT_EQ(told(gpuemu_stream_destroy(context_, stream)), wrong);
  EXPECT_EQ(told(gpuemu_memory_fill(context_, memory, 0, 4, 0)), wrong)
      << "the thread's current stream is no more";
  EXPECT_EQ(gpuemu_stream_set_current(context_, 0), GPUEMU_OK);
  EXPECT_EQ(gpuemu_event_destroy(context_, event), GPUEMU_OK);
  EXPECT_EQ(told(gpuemu_event_destroy(context_, event)), wrong);
  EXPECT_EQ(gpuemu_memory_free(context_, memory), GPUEMU_OK);
  EXPECT_EQ(told(gpuemu_memory_free(context_, memory)), wrong);
  EXPECT_EQ(told(gpuemu_memory_fill(context_, memory, 0, 4, stream_)), wrong);
  EXPECT_EQ(told(gpuemu_memory_free(context_, static_cast<char*>(memory_[0]) + 8)), wrong);
}

TEST_F(Hostile, MemoryThatNobodyHasIsRefused) {
  void* none = nullptr;
  gpuemu_device_info info{};
  info.struct_bytes = sizeof info;
  ASSERT_EQ(gpuemu_context_device(context_, &info), GPUEMU_OK);
  const size_t most = std::numeric_limits<size_t>::max();
  for (const size_t bytes : {most, most - 8192, most / 2, size_t{info.memory_bytes} + 1,
                             size_t{info.memory_bytes} - kHostileBytes * 5}) {
    EXPECT_EQ(told(gpuemu_memory_allocate(context_, bytes, &none)), GPUEMU_RESOURCE_EXHAUSTED);
    EXPECT_NE(std::string(gpuemu_last_error()).find("the largest: 'op_call memory' 4096 at 0x"),
              std::string::npos)
        << gpuemu_last_error();
    EXPECT_EQ(told(gpuemu_memory_allocate_async(context_, bytes, stream_, &none)),
              GPUEMU_RESOURCE_EXHAUSTED);
  }
  EXPECT_EQ(none, nullptr);
  char host[16] = {};
  for (const size_t bytes : {kHostileBytes + 1, most, most - 4096}) {
    EXPECT_EQ(told(gpuemu_memory_fill(context_, memory_[0], 0, bytes, stream_)),
              GPUEMU_INVALID_ARGUMENT);
    EXPECT_EQ(told(gpuemu_memory_upload(context_, memory_[0], host, bytes, stream_)),
              GPUEMU_INVALID_ARGUMENT);
    EXPECT_EQ(told(gpuemu_memory_download(context_, host, memory_[0], bytes, stream_)),
              GPUEMU_INVALID_ARGUMENT);
    EXPECT_EQ(told(gpuemu_memory_copy(context_, memory_[0], memory_[1], bytes, stream_)),
              GPUEMU_INVALID_ARGUMENT);
  }
  EXPECT_EQ(told(gpuemu_memory_upload(context_, nullptr, host, 4, stream_)),
            GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(told(gpuemu_memory_upload(context_, memory_[0], nullptr, 4, stream_)),
            GPUEMU_INVALID_ARGUMENT);
}

TEST_F(Hostile, NothingAtAllIsAllowed) {
  void* empty = nullptr;
  ASSERT_EQ(gpuemu_memory_allocate(context_, 0, &empty), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(gpuemu_memory_fill(context_, empty, 0, 0, stream_), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(gpuemu_memory_upload(context_, empty, nullptr, 0, stream_), GPUEMU_OK);
  EXPECT_EQ(gpuemu_memory_download(context_, nullptr, empty, 0, stream_), GPUEMU_OK);
  EXPECT_EQ(told(gpuemu_memory_fill(context_, empty, 0, 1, stream_)), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_memory_free(context_, empty), GPUEMU_OK);
  gpuemu_stream urgent = 0;
  EXPECT_EQ(gpuemu_stream_create(context_, std::numeric_limits<int32_t>::min(), 7, &urgent),
            GPUEMU_OK);
  EXPECT_EQ(gpuemu_stream_destroy(context_, urgent), GPUEMU_OK);
}

TEST_F(Hostile, ACaptureThatIsLeftOpenEndsWithItsContext) {
  for (const uint32_t non_blocking : {0U, 1U}) {
    gpuemu_context* other = nullptr;
    ASSERT_EQ(create({}, &other), GPUEMU_OK);
    gpuemu_stream stream = 0;
    gpuemu_graph graph = 0;
    void* memory = nullptr;
    ASSERT_EQ(gpuemu_memory_allocate(other, 64, &memory), GPUEMU_OK);
    ASSERT_EQ(gpuemu_stream_create(other, 0, non_blocking, &stream), GPUEMU_OK);
    ASSERT_EQ(gpuemu_profile_start(other, 1), GPUEMU_OK) << gpuemu_last_error();
    ASSERT_EQ(gpuemu_capture_begin(other, stream), GPUEMU_OK);
    EXPECT_EQ(told(gpuemu_capture_begin(other, stream)), GPUEMU_INVALID_ARGUMENT);
    EXPECT_EQ(gpuemu_memory_fill(other, memory, 1, 64, stream), GPUEMU_OK);
    EXPECT_EQ(told(gpuemu_stream_destroy(other, stream)), GPUEMU_INVALID_ARGUMENT);
    EXPECT_EQ(told(gpuemu_stream_synchronize(other, stream)), GPUEMU_INVALID_ARGUMENT);
    EXPECT_EQ(told(gpuemu_capture_end(other, stream, &graph)), GPUEMU_INVALID_ARGUMENT);
    EXPECT_NE(std::string(gpuemu_last_error()).find("synchronized"), std::string::npos);
    EXPECT_EQ(graph, 0U);
    ASSERT_EQ(gpuemu_capture_begin(other, stream), GPUEMU_OK) << gpuemu_last_error();
    gpuemu_context_destroy(other);
  }
}

TEST_F(Hostile, ObjectsMayBeDestroyedWhileTheirWorkIsUnderWay) {
  const int64_t shape[] = {32, 32};
  const gpuemu_tensor in[] = {{memory_[0], GPUEMU_FLOAT32, 2, shape, nullptr},
                              {memory_[1], GPUEMU_FLOAT32, 2, shape, nullptr}};
  const gpuemu_tensor out{memory_[2], GPUEMU_FLOAT32, 2, shape, nullptr};
  gpuemu_call call{};
  call.struct_bytes = sizeof call;
  ASSERT_EQ(gpuemu_op_find(context_, "gemm", &call.op), GPUEMU_OK);
  call.inputs = in;
  call.outputs = &out;
  call.input_count = 2;
  call.output_count = 1;
  gpuemu_event event = 0;
  gpuemu_graph graph = 0;
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(gpuemu_stream_create(context_, 0, 1, &call.stream), GPUEMU_OK);
    ASSERT_EQ(gpuemu_event_create(context_, &event), GPUEMU_OK);
    ASSERT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
    ASSERT_EQ(gpuemu_capture_begin(context_, call.stream), GPUEMU_OK);
    ASSERT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
    ASSERT_EQ(gpuemu_capture_end(context_, call.stream, &graph), GPUEMU_OK) << gpuemu_last_error();
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(gpuemu_graph_launch(context_, graph, call.stream), GPUEMU_OK);
    }
    ASSERT_EQ(gpuemu_event_record(context_, event, call.stream), GPUEMU_OK);
    ASSERT_EQ(gpuemu_event_wait(context_, event, stream_), GPUEMU_OK);
    EXPECT_EQ(gpuemu_event_destroy(context_, event), GPUEMU_OK);
    EXPECT_EQ(gpuemu_graph_destroy(context_, graph), GPUEMU_OK);
    EXPECT_EQ(gpuemu_stream_destroy(context_, call.stream), GPUEMU_OK);
  }
  // The memory is in use, so it is freed afterwards.
  EXPECT_EQ(gpuemu_memory_free(context_, memory_[3]), GPUEMU_OK);
  EXPECT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK) << gpuemu_last_error();
  call.stream = 0;
  EXPECT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
}

/// Random invalid tensors: any that are accepted must run without a fault.
class Drawn {
 public:
  Drawn(uint64_t seed, const std::array<void*, 4>& memory) : random_(seed), memory_(memory) {}

  uint32_t below(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  template <typename T, size_t N>
  T one_of(const T (&values)[N]) {
    return values[below(N)];
  }
  /// Most of them are as an op may want them, in memory of their own from the `first` on.
  const gpuemu_tensor* tensors(uint32_t count, uint32_t first, int32_t rank) {
    std::vector<gpuemu_tensor>& made = lists_.emplace_back(count);
    for (gpuemu_tensor& one : made) {
      if (below(8) == 0) {
        fill(one);
      } else {
        one = {memory_[first++ % memory_.size()], GPUEMU_FLOAT32, rank, kUsual.data(), nullptr};
      }
    }
    return made.data();
  }
  const void* bytes(uint32_t count) {
    std::vector<uint8_t>& made = bytes_.emplace_back(count);
    for (uint8_t& one : made) one = static_cast<uint8_t>(below(3) == 0 ? below(256) : 0);
    return made.data();
  }

 private:
  void fill(gpuemu_tensor& tensor) {
    constexpr int64_t kSizes[] = {0, 1, 2, 3, 4, 4, 4, 4, 8, -1, 1 << 20, kHuge, kLow, kHuge / 4};
    constexpr int64_t kStrides[] = {0, 1, 1, 1, 2, 4, 8, -1, -4, kHuge, kLow, kHuge / 2 + 1};
    constexpr int32_t kRanks[] = {0, 1, 1, 2, 2, 2, 2, 3, 4, 16, 17, -1};
    constexpr size_t kOffsets[] = {
        0, 0, 0, 0, 0, 1, 4, kHostileBytes - 4, kHostileBytes, kHostileBytes + 4096};
    const bool usual = below(3) != 0;
    tensor.dtype = usual ? one_of({GPUEMU_FLOAT32, GPUEMU_FLOAT32, GPUEMU_INT32, GPUEMU_INT64})
                         : static_cast<int32_t>(below(16)) - 1;
    tensor.rank = one_of(kRanks);
    auto* base = static_cast<char*>(memory_[below(4)]);
    tensor.data = below(12) == 0 ? nullptr : base + (usual ? 0 : one_of(kOffsets));
    auto& sizes = sizes_.emplace_back();
    auto& strides = sizes_.emplace_back();
    for (int64_t& size : sizes) size = usual ? 4 : one_of(kSizes);
    for (int64_t& stride : strides) stride = one_of(kStrides);
    tensor.shape = below(20) == 0 ? nullptr : sizes.data();
    tensor.strides = below(3) == 0 ? strides.data() : nullptr;
  }

  static constexpr std::array<int64_t, 4> kUsual = {4, 4, 4, 4};
  std::mt19937_64 random_;
  std::array<void*, 4> memory_;
  std::vector<std::vector<gpuemu_tensor>> lists_;
  std::vector<std::vector<uint8_t>> bytes_;
  std::deque<std::array<int64_t, 17>> sizes_;
};

TEST_F(Hostile, DrawnCallsAreRefusedOrRunWithoutAFault) {
  constexpr uint64_t kSeed = 20, kCallsOfAnOp = 300;
  Drawn drawn(kSeed, memory_);
  uint64_t accepted = 0;
  const uint32_t count = gpuemu_op_count(context_);
  for (uint32_t op = 1; op <= count; ++op) {
    for (uint64_t i = 0; i < kCallsOfAnOp; ++i) {
      gpuemu_call call{};
      call.struct_bytes = sizeof call;
      call.op = op;
      const auto rank = static_cast<int32_t>(drawn.below(3));
      call.input_count = drawn.below(5);
      call.output_count = drawn.below(8) == 0 ? drawn.below(4) : 1;
      call.inputs = drawn.tensors(call.input_count, 0, rank);
      call.outputs = drawn.tensors(call.output_count, 3, rank);
      if (drawn.below(4) == 0) {
        call.schema_id = drawn.below(4) == 0 ? drawn.below(1000) : 256 + drawn.below(16);
        call.attribute_bytes = 4 * drawn.below(6);
        call.attributes = drawn.bytes(call.attribute_bytes);
      }
      call.stream = stream_;
      const gpuemu_code code = told(gpuemu_op_call(context_, &call));
      if (code != GPUEMU_OK) continue;
      ++accepted;
      ASSERT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK)
          << gpuemu_op_name(context_, op) << ", call " << i << ": " << gpuemu_last_error();
    }
  }
  EXPECT_GT(accepted, uint64_t{count}) << "the calls are not all refused at the first look";
}

}  // namespace
