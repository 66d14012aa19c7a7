// Tests the recorder with a stand-in for CUPTI, and the error without one.
#include "ops/vendor/cupti.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

constexpr const char* kFakeCupti = FAKE_cupti;

TEST(KernelRecorder, GivesTheKernelsThatEnded) {
  auto recorder = KernelRecorder::start(100, kFakeCupti);
  ASSERT_TRUE(recorder) << recorder.error().message;
  EXPECT_EQ((*recorder)->now_ns(), 4000U);
  const auto recorded = (*recorder)->stop();
  ASSERT_TRUE(recorded) << recorded.error().message;
  ASSERT_EQ(recorded->kernels.size(), 2U);
  const KernelRecord& gemm = recorded->kernels[0];
  EXPECT_EQ(gemm.name, "gemm_tiled_float32");
  EXPECT_EQ(gemm.begin_ns, 5000U);
  EXPECT_EQ(gemm.end_ns, 9000U);
  EXPECT_EQ(gemm.stream, 13U);
  EXPECT_EQ(gemm.grid, (std::array<int32_t, 3>{1, 2, 3}));
  EXPECT_EQ(gemm.block, (std::array<int32_t, 3>{32, 8, 2}));
  EXPECT_EQ(gemm.registers, 40U);
  EXPECT_EQ(gemm.local_bytes, 16U);
  EXPECT_EQ(gemm.shared_bytes, 1536U);
  EXPECT_EQ(recorded->kernels[1].name, "void cast<float, int>(float*, int*)");
  EXPECT_EQ(recorded->dropped, 2U);
}

TEST(KernelRecorder, CountsWhatIsBeyondItsLimit) {
  auto recorder = KernelRecorder::start(1, kFakeCupti);
  ASSERT_TRUE(recorder) << recorder.error().message;
  const auto recorded = (*recorder)->stop();
  ASSERT_TRUE(recorded);
  EXPECT_EQ(recorded->kernels.size(), 1U);
  EXPECT_EQ(recorded->dropped, 3U);
  EXPECT_FALSE((*recorder)->stop());
}

TEST(KernelRecorder, IsTheOnlyOneOfItsProcess) {
  auto first = KernelRecorder::start(10, kFakeCupti);
  ASSERT_TRUE(first);
  const auto second = KernelRecorder::start(10, kFakeCupti);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another profile"), std::string::npos);
  first->reset();
  EXPECT_TRUE(KernelRecorder::start(10, kFakeCupti));
}

TEST(KernelRecorder, SaysWhyItCannotRecord) {
  const auto missing = KernelRecorder::start(10, "/there/is/no/libcupti.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::Unavailable);
  EXPECT_NE(missing.error().message.find("/there/is/no/libcupti.so"), std::string::npos);
  const auto other = KernelRecorder::start(10, "libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("has no 'cuptiActivityRegisterCallbacks'"),
            std::string::npos)
      << other.error().message;
  ASSERT_EQ(::setenv("FAKE_CUPTI_REFUSES", "1", 1), 0);
  const auto refused = KernelRecorder::start(10, kFakeCupti);
  ::unsetenv("FAKE_CUPTI_REFUSES");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("MULTIPLE_SUBSCRIBERS"), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(KernelRecorder::start(10, kFakeCupti)) << "a refusal ends the claim";
}

}  // namespace
}  // namespace gpuemu
