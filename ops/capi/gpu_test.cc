// Tests features that only a GPU has: kernel records by CUPTI, and the cache of device memory.
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/base/files.h"
#include "ops/capi/op_call.h"

namespace {

using Json = nlohmann::json;

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    gpuemu_options options{};
    options.struct_bytes = sizeof(options);
    options.backend = "cuda";
    options.guard_bytes = 256;
    if (gpuemu_context_create(&options, &context_) != GPUEMU_OK) GTEST_SKIP() << "no GPU";
    ASSERT_EQ(gpuemu_stream_create(context_, 0, 1, &stream_), GPUEMU_OK);
    for (gpuemu_tensor& one : tensors_) {
      one = {nullptr, GPUEMU_FLOAT32, 1, shape_.data(), nullptr};
      ASSERT_EQ(gpuemu_memory_allocate_async(context_, 4096, stream_, &one.data), GPUEMU_OK);
      ASSERT_EQ(gpuemu_memory_fill(context_, one.data, 0, 4096, stream_), GPUEMU_OK);
    }
    call_.struct_bytes = sizeof(call_);
    ASSERT_EQ(gpuemu_op_find(context_, "vector_add", &call_.op), GPUEMU_OK);
    call_.inputs = tensors_.data();
    call_.input_count = 2;
    call_.outputs = &tensors_[2];
    call_.output_count = 1;
    call_.stream = stream_;
    ASSERT_EQ(gpuemu_op_call(context_, &call_), GPUEMU_OK) << gpuemu_last_error();
  }
  void TearDown() override { gpuemu_context_destroy(context_); }
  Json read(const std::string& name) const {
    const auto text = gpuemu::read_file(folder_ + name, 1 << 24);
    return text ? Json::parse(*text) : Json();
  }

  const std::string folder_ =
      (std::filesystem::temp_directory_path() / ("gpuemu-" + std::to_string(::getpid()))).string();
  const std::array<int64_t, 1> shape_ = {1024};
  gpuemu_context* context_ = nullptr;
  gpuemu_stream stream_ = 0;
  std::array<gpuemu_tensor, 3> tensors_{};
  gpuemu_call call_{};
};

TEST_F(OnGpu, AProfileHasARecordOfEachKernelAlsoOfGraphs) {
  gpuemu_graph graph = 0;
  ASSERT_EQ(gpuemu_capture_begin(context_, stream_), GPUEMU_OK);
  ASSERT_EQ(gpuemu_op_call(context_, &call_), GPUEMU_OK);
  ASSERT_EQ(gpuemu_capture_end(context_, stream_, &graph), GPUEMU_OK);
  ASSERT_EQ(gpuemu_profile_start(context_, 0), GPUEMU_OK) << gpuemu_last_error();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(gpuemu_op_call(context_, &call_), GPUEMU_OK);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(gpuemu_graph_launch(context_, graph, stream_), GPUEMU_OK);
  const std::string trace = folder_ + "trace", statistics = folder_ + "statistics";
  ASSERT_EQ(gpuemu_profile_stop(context_, trace.c_str(), statistics.c_str()), GPUEMU_OK)
      << gpuemu_last_error();
  const Json found = read("statistics"), events = read("trace")["traceEvents"];
  std::filesystem::remove(trace);
  std::filesystem::remove(statistics);
  ASSERT_EQ(found["ops"][0]["count"], 3);
  if (!found["notes"].empty()) GTEST_SKIP() << found["notes"][0];
  ASSERT_EQ(found["kernels"].size(), 1U) << found["kernels"].dump();
  const Json& kernel = found["kernels"][0];
  EXPECT_EQ(kernel["name"], "vector_add_float32");
  EXPECT_EQ(kernel["launches"], 7);
  EXPECT_GT(kernel["registers"], 0);
  double op_end = 0, last_of_ops = 0;
  int kernels = 0;
  for (const Json& event : events) {
    if (event["ph"] != "X") continue;
    const double end = event["ts"].get<double>() + event["dur"].get<double>();
    if (event["cat"] == "op") op_end = std::max(op_end, end);
    if (event["cat"] != "kernel") continue;
    ++kernels;
    if (kernels == 3) last_of_ops = end;
  }
  EXPECT_EQ(kernels, 7);
  // One clock, within a millisecond: the third op ends where its kernel does.
  EXPECT_NEAR(last_of_ops, op_end, 1000);
}

TEST_F(OnGpu, MemoryComesFromTheCacheAndGoesBack) {
  std::array<void*, 2> again{};
  for (void*& one : again) {
    ASSERT_EQ(gpuemu_memory_allocate_async(context_, 1 << 20, stream_, &one), GPUEMU_OK);
    ASSERT_EQ(gpuemu_memory_free_async(context_, one, stream_), GPUEMU_OK) << gpuemu_last_error();
  }
  EXPECT_EQ(again[0], again[1]);
  ASSERT_EQ(gpuemu_memory_trim(context_, 0), GPUEMU_OK) << gpuemu_last_error();
  ASSERT_EQ(gpuemu_op_call(context_, &call_), GPUEMU_OK) << "live memory stays";
  EXPECT_EQ(gpuemu_stream_synchronize(context_, stream_), GPUEMU_OK) << gpuemu_last_error();
  for (const gpuemu_tensor& one : tensors_) {
    EXPECT_EQ(gpuemu_memory_free(context_, one.data), GPUEMU_OK) << gpuemu_last_error();
  }
}

TEST_F(OnGpu, GuardsSayWhatWasWrittenBesideMemory) {
  EXPECT_EQ(gpuemu_memory_check(context_), GPUEMU_OK) << gpuemu_last_error();
  char* const end = static_cast<char*>(tensors_[0].data) + 4096;
  ASSERT_EQ(gpuemu_memory_fill(context_, end, 0, 3, stream_), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(gpuemu_memory_check(context_), GPUEMU_CORRUPTION);
  EXPECT_NE(std::string(gpuemu_last_error()).find("the first at 4096"), std::string::npos)
      << gpuemu_last_error();
}

}  // namespace
