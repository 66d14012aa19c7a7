// Which device a request gets.
#include "runtime/backends/backends.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

DeviceRequest request_for(const std::string& backend) {
  DeviceRequest request;
  request.backend = backend;
  return request;
}

TEST(OpenDevice, OpensEachBackendByItsName) {
  for (const char* name : {"emulator", "null"}) {
    auto device = open_device(request_for(name));
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ((*device)->properties().backend, name);
  }
}

TEST(OpenDevice, AutoAlwaysGivesADeviceThatWorks) {
  auto device = open_device(request_for("auto"));
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_TRUE((*device)->allocate(16, "x"));
}

TEST(OpenDevice, ListsTheBackendsForAnUnknownName) {
  const auto device = open_device(request_for("hip"));
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(device.error().message, "no backend 'hip'; choose one of: auto, cuda, emulator, null");
}

TEST(OpenDevice, PassesTheArchitectureToTheEmulator) {
  DeviceRequest request = request_for("emulator");
  request.sm = 90;
  EXPECT_EQ((*open_device(request))->properties().sm, 90);
}

TEST(OpenDevice, SaysWhatToDoWithoutThatGpu) {
  DeviceRequest request = request_for("cuda");
  request.index = 15;
  const auto device = open_device(request);
  if (device) GTEST_SKIP() << "this machine has sixteen GPUs";
  EXPECT_EQ(device.error().code, ErrorCode::Unavailable);
  EXPECT_NE(device.error().message.find("emulator"), std::string::npos) << device.error().message;
}

TEST(ListDevices, EndsWithTheEmulator) {
  const auto devices = list_devices();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices.back().backend, "emulator");
}

}  // namespace
}  // namespace gpuemu
