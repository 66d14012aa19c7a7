// Tests that stored timings are found again, and nothing else is.
#include "ops/dispatch/timings.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/files.h"
#include "ops/dispatch/registry.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

class TimingsTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }
  std::string only_file() const { return fs::directory_iterator(folder_)->path().string(); }
  const std::string folder_ =
      (fs::temp_directory_path() / fmt::format("gpuemu-timings-{}", ::getpid())).string();
};

TEST_F(TimingsTest, AreReadByTheNextProcess) {
  Timings(folder_).keep("q", {{"a", {"hash", 1.25}}, {"b", {"other", 3}}});
  const VariantTimes found = Timings(folder_).find("q");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found.at("a").module_hash, "hash");
  EXPECT_EQ(found.at("a").microseconds, 1.25);
  EXPECT_TRUE(Timings(folder_).find("r").empty());
  EXPECT_TRUE(Timings("").find("q").empty());
}

TEST_F(TimingsTest, ThatWeDidNotWriteCountAsNothing) {
  Timings(folder_).keep("q", {{"a", {"hash", 1.25}}});
  const std::string whole = *read_file(only_file(), 1 << 20);
  for (const std::string& spoilt : {whole.substr(0, whole.size() - 1), "x" + whole, whole + "rest",
                                    whole + "b\th\tnan\n", whole + "b\th\t-1\n", std::string()}) {
    ASSERT_TRUE(write_file(only_file(), spoilt));
    EXPECT_TRUE(Timings(folder_).find("q").empty()) << spoilt;
  }
}

std::string question(std::vector<int64_t> shape, DType dtype) {
  const OpRegistry registry = OpRegistry::with_builtins();
  const OpKind& op = **registry.find("gelu");
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * shape[i + 1];
  const DeviceTensor x{0x1000, dtype, shape, strides}, y{0x1000, dtype, shape, strides};
  DeviceProperties device;
  device.name = "device";
  const OpCase c{op, {&x, 1}, {&y, 1}, Attributes(op.schema, {}), device};
  return timing_question(c, *bind_types(c));
}

TEST_F(TimingsTest, AreSharedByShapesOfOneClass) {
  EXPECT_EQ(question({33, 100}, DType::Float32), question({64, 128}, DType::Float32));
  EXPECT_NE(question({33, 100}, DType::Float32), question({32, 100}, DType::Float32));
  EXPECT_NE(question({33, 100}, DType::Float32), question({33, 100}, DType::Float16));
}

}  // namespace
}  // namespace gpuemu
