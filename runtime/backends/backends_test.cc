// Opens devices by request.
#include "runtime/backends/backends.h"

#include <gtest/gtest.h>

#include "runtime/backends/emulated_backends.h"
#include "runtime/device/device_traits.h"

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

TEST(DeviceTraits, BelongToBackendsThatCanBeOpened) {
  for (const DeviceTraits& one : computing_backends()) {
    const auto device = open_device(request_for(std::string(one.backend)));
    // A host without a GPU has no such device, but the name is valid.
    EXPECT_TRUE(device || device.error().code == ErrorCode::Unavailable) << one.backend;
  }
  EXPECT_TRUE(device_traits("emulator").orders_threads);
  EXPECT_FALSE(device_traits("emulator").is_gpu);
  EXPECT_TRUE(device_traits("cuda").is_gpu);
  EXPECT_FALSE(device_traits("cuda").survives_faults);
  EXPECT_FALSE(device_traits("null").is_gpu);
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

TEST(OpenDevice, RefusesWhatTheEmulatorCannotBe) {
  DeviceRequest request = request_for("emulator");
  for (const int sm : {-1, 7, 76, 103, 12345}) {
    request.sm = sm;
    const auto device = open_device(request);
    ASSERT_FALSE(device) << sm;
    EXPECT_EQ(device.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(device.error().message,
              fmt::format("no architecture 'sm_{}' to emulate, expected sm_75, sm_80, sm_86, "
                          "sm_89, sm_90, sm_100 or sm_120",
                          sm));
  }
  request.sm = 0;
  request.threads = 1025;
  EXPECT_EQ(open_device(request).error().message,
            "1025 threads for the emulator, expected at most 1024");
}

TEST(EmulatedDevices, AreTheNearestThatCodeRunsOn) {
  for (const auto& [wanted, is] :
       {std::pair(70, 75), {75, 75}, {87, 86}, {90, 90}, {103, 100}, {121, 120}}) {
    EXPECT_EQ(nearest_emulated_architecture(wanted), is) << wanted;
  }
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
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_FALSE(devices->empty());
  EXPECT_EQ(devices->back().backend, "emulator");
  EXPECT_FALSE(devices->back().dtypes.empty());
}

TEST(EmulatedDevices, AreReadFromOneLine) {
  const auto devices = parse_emulated_devices("sm_75, sm_80:16384 ,sm_90");
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_EQ(devices->size(), 3U);
  EXPECT_EQ((*devices)[0].sm, 75);
  EXPECT_EQ((*devices)[1].memory_bytes, uint64_t{16} << 30);
  EXPECT_EQ((*devices)[2].memory_bytes, 0U);
}

TEST(EmulatedDevices, SayWhatIsWrong) {
  for (const char* text : {"sm_", "sm_70", "80", "sm_80,", "sm_80:", "sm_80:0", "sm_80:12x",
                           "sm_80:99999999999999999999", "sm_80:2000000000"}) {
    const auto devices = parse_emulated_devices(text);
    ASSERT_FALSE(devices) << text;
    EXPECT_EQ(devices.error().code, ErrorCode::InvalidArgument);
    ASSERT_EQ(::setenv("GPUEMU_EMULATED_DEVICES", text, 1), 0);
    const auto listed = list_devices();
    ::unsetenv("GPUEMU_EMULATED_DEVICES");
    ASSERT_FALSE(listed) << text;
    EXPECT_EQ(listed.error().message, "GPUEMU_EMULATED_DEVICES: " + devices.error().message);
  }
}

TEST(EmulatedDevices, HaveTheLimitsOfTheRealParts) {
  ASSERT_EQ(::setenv("GPUEMU_EMULATED_DEVICES", "sm_75:1024,sm_90", 1), 0);
  const auto listed = list_devices();
  DeviceRequest request = request_for("emulator");
  const auto first = open_device(request);
  request.index = 1;
  const auto second = open_device(request);
  request.index = 2;
  const auto third = open_device(request);
  ::unsetenv("GPUEMU_EMULATED_DEVICES");
  ASSERT_TRUE(listed && first && second);
  EXPECT_EQ(listed->back().sm, 90);
  EXPECT_EQ(listed->back().index, 1);
  const DeviceProperties& turing = (*first)->properties();
  EXPECT_EQ(turing.sm, 75);
  EXPECT_EQ(turing.memory_bytes, uint64_t{1} << 30);
  EXPECT_EQ(turing.shared_bytes_per_block_max, 65536U);
  EXPECT_EQ(turing.threads_per_multiprocessor, 1024U);
  EXPECT_EQ((*second)->properties().shared_bytes_per_block_max, 232448U);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::Unavailable);
}

}  // namespace
}  // namespace gpuemu
