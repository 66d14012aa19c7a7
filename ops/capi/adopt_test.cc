// Tests adopted memory on the emulator: used without a copy, with exact bounds, until it is
// released.
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "ops/capi/op_call.h"

namespace {

class Adopting : public testing::Test {
 protected:
  void SetUp() override {
    gpuemu_options options{};
    options.struct_bytes = sizeof options;
    options.backend = "emulator";
    options.threads = 1;
    ASSERT_EQ(gpuemu_context_create(&options, &context_), GPUEMU_OK) << gpuemu_last_error();
  }
  void TearDown() override { gpuemu_context_destroy(context_); }

  /// y = relu of x, `count` elements of each.
  gpuemu_code relu(float* x, float* y, int64_t count) {
    const gpuemu_tensor in = {x, GPUEMU_FLOAT32, 1, &count, nullptr},
                        out = {y, GPUEMU_FLOAT32, 1, &count, nullptr};
    gpuemu_call call{};
    call.struct_bytes = sizeof call;
    EXPECT_EQ(gpuemu_op_find(context_, "relu", &call.op), GPUEMU_OK);
    call.inputs = &in;
    call.outputs = &out;
    call.input_count = call.output_count = 1;
    const gpuemu_code code = gpuemu_op_call(context_, &call);
    return code == GPUEMU_OK ? gpuemu_context_synchronize(context_) : code;
  }
  uint64_t adopted() {
    gpuemu_memory_statistics statistics{};
    statistics.struct_bytes = sizeof statistics;
    EXPECT_EQ(gpuemu_memory_statistics_get(context_, &statistics), GPUEMU_OK);
    return statistics.adopted_bytes;
  }

  gpuemu_context* context_ = nullptr;
  std::array<float, 8> x_ = {-1, 2, -3, 4, -5, 6, -7, 8}, y_ = {};
};

TEST_F(Adopting, OpsUseItWithoutACopyUntilItIsReleased) {
  EXPECT_EQ(relu(x_.data(), y_.data(), 8), GPUEMU_INVALID_ARGUMENT);
  ASSERT_EQ(gpuemu_memory_adopt(context_, x_.data(), sizeof x_, 1, "x"), GPUEMU_OK)
      << gpuemu_last_error();
  ASSERT_EQ(gpuemu_memory_adopt(context_, y_.data(), sizeof y_, 0, "y"), GPUEMU_OK)
      << gpuemu_last_error();
  EXPECT_EQ(adopted(), sizeof x_ + sizeof y_);
  ASSERT_EQ(relu(x_.data(), y_.data(), 8), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(y_[1], 2);
  EXPECT_EQ(y_[2], 0);
  EXPECT_EQ(relu(y_.data(), x_.data(), 8), GPUEMU_INVALID_ARGUMENT);
  EXPECT_STREQ(gpuemu_last_error(),
               "relu: y is in memory that was adopted for reading alone; an output is written");
  ASSERT_EQ(gpuemu_memory_release(context_, x_.data()), GPUEMU_OK);
  EXPECT_EQ(relu(x_.data(), y_.data(), 8), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_memory_release(context_, x_.data()), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(adopted(), sizeof y_);
}

TEST_F(Adopting, BoundsAreThoseOfThePieceAndOverlapsAreOne) {
  ASSERT_EQ(gpuemu_memory_adopt(context_, x_.data(), 4 * sizeof(float), 0, nullptr), GPUEMU_OK);
  ASSERT_EQ(gpuemu_memory_adopt(context_, y_.data(), sizeof y_, 0, nullptr), GPUEMU_OK);
  EXPECT_EQ(relu(x_.data(), y_.data(), 5), GPUEMU_INVALID_ARGUMENT) << "one element beyond it";
  ASSERT_EQ(gpuemu_memory_adopt(context_, x_.data() + 2, 4 * sizeof(float), 0, nullptr), GPUEMU_OK)
      << gpuemu_last_error();
  EXPECT_EQ(relu(x_.data() + 2, y_.data(), 4), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(relu(x_.data(), y_.data(), 4), GPUEMU_OK) << gpuemu_last_error();
  ASSERT_EQ(gpuemu_memory_adopt(context_, x_.data(), sizeof x_, 0, nullptr), GPUEMU_OK)
      << "more at the same address";
  EXPECT_EQ(relu(x_.data(), y_.data(), 8), GPUEMU_OK) << gpuemu_last_error();
  ASSERT_EQ(gpuemu_memory_release(context_, x_.data()), GPUEMU_OK);
  ASSERT_EQ(gpuemu_memory_release(context_, x_.data()), GPUEMU_OK);
  EXPECT_EQ(relu(x_.data() + 2, y_.data(), 4), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(relu(x_.data(), y_.data(), 4), GPUEMU_INVALID_ARGUMENT);
}

TEST_F(Adopting, ManagedMemoryHasOneAddress) {
  void* memory = nullptr;
  ASSERT_EQ(gpuemu_memory_allocate_named(context_, GPUEMU_MEMORY_MANAGED, sizeof x_, 0, "shared",
                                         &memory),
            GPUEMU_OK);
  auto* values = static_cast<float*>(memory);
  for (size_t i = 0; i < x_.size(); ++i) values[i] = x_[i];
  ASSERT_EQ(relu(values, values, 8), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[7], 8);
  ASSERT_EQ(gpuemu_memory_adopt(context_, memory, sizeof x_, 0, nullptr), GPUEMU_OK)
      << "its own memory, of an importer";
  ASSERT_EQ(gpuemu_memory_release(context_, memory), GPUEMU_OK);
  ASSERT_EQ(gpuemu_memory_free(context_, memory), GPUEMU_OK);
}

TEST_F(Adopting, RefusesWhatIsWrong) {
  EXPECT_EQ(gpuemu_memory_adopt(context_, nullptr, 4, 0, nullptr), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_memory_adopt(context_, x_.data(), 0, 0, nullptr), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_memory_adopt(context_, x_.data(), 4, 2, nullptr), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_memory_adopt(context_, x_.data(), SIZE_MAX, 0, nullptr),
            GPUEMU_INVALID_ARGUMENT);
  gpuemu_stream stream = 0;
  void* native = nullptr;
  EXPECT_EQ(gpuemu_stream_adopt(context_, this, &stream), GPUEMU_UNSUPPORTED);
  EXPECT_EQ(gpuemu_stream_native(context_, 0, &native), GPUEMU_UNSUPPORTED);
}

}  // namespace
