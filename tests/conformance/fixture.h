// One device of each kind, and the few lines that every conformance test needs.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/catalog.h"
#include "runtime/backends/backends.h"

namespace gpuemu {

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> out(sizeof(T));
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

/// The parameter is the backend's name. A GPU that is not there skips; anything else must work.
class Conformance : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    DeviceRequest request;
    request.backend = GetParam();
    request.memory_limit_bytes = kLimitBytes;
    auto device = open_device(request);
    if (!device && request.backend == "cuda") GTEST_SKIP() << device.error().message;
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
  }

  ModuleId load(const std::string& ptx) {
    const auto module = device_->load_module(ptx, "test.ptx");
    EXPECT_TRUE(module) << module.error().message;
    return module ? *module : 0;
  }
  template <typename T>
  uint64_t upload(const std::vector<T>& values, const std::string& name) {
    const auto address = device_->allocate(values.size() * sizeof(T), name);
    EXPECT_TRUE(address) << address.error().message;
    EXPECT_TRUE(device_->upload(*address, std::as_bytes(std::span(values))));
    return *address;
  }
  template <typename T>
  std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> out(count);
    const Status status = device_->download(std::as_writable_bytes(std::span(out)), address);
    EXPECT_TRUE(status) << status.error().message;
    return out;
  }
  /// vector_add of four elements as a valid launch, for tests that break one part of it.
  LaunchConfig four_elements() {
    LaunchConfig config;
    config.entry = "vector_add_float32";
    config.block = {32, 1, 1};
    config.args = {bytes_of(upload<float>({1, 2, 3, 4}, "a")),
                   bytes_of(upload<float>({10, 20, 30, 40}, "b")),
                   bytes_of(upload<float>({0, 0, 0, 0}, "y")), bytes_of(4)};
    return config;
  }
  ModuleId load_vector_add() { return load(find_builtin("vector_add")->ptx()); }
  bool is_emulator() const { return std::string(GetParam()) == "emulator"; }

  static constexpr uint64_t kLimitBytes = uint64_t{64} << 20;
  std::unique_ptr<Device> device_;
};

}  // namespace gpuemu
