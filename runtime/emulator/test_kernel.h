// Runs one entry of a PTX text over arrays: what every test of the emulator begins with.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/emulator/emulator.h"

namespace gpuemu::emulator {

inline std::string with_header(const std::string& body) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + body;
}

class TestKernel {
 public:
  explicit TestKernel(const std::string& ptx, int sm = 80) {
    device_ = make_emulator(
        {.sm = sm, .threads = 2, .memory_limit_bytes = uint64_t{1} << 30, .name = "test"});
    auto module = device_->load_module(ptx, "test.ptx");
    if (!module)
      ADD_FAILURE() << module.error().message;
    else
      module_ = *module;
    config_.grid = {1, 1, 1};
    config_.block = {32, 1, 1};
    if (auto all = device_->entries(module_); all && !all->empty())
      config_.entry = all->front().name;
  }

  LaunchConfig& config() { return config_; }
  Device& device() { return *device_; }

  template <typename T>
  uint64_t buffer(const std::vector<T>& values, const std::string& name = "buffer") {
    const uint64_t address = *device_->allocate(values.size() * sizeof(T), name);
    EXPECT_TRUE(device_->upload(address, std::as_bytes(std::span(values))).ok());
    return address;
  }
  template <typename T>
  std::vector<T> read(uint64_t address, size_t count) {
    std::vector<T> out(count);
    EXPECT_TRUE(device_->download(std::as_writable_bytes(std::span(out)), address).ok());
    return out;
  }
  template <typename T>
  TestKernel& arg(T value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    config_.args.push_back(bytes);
    return *this;
  }
  LaunchReport run(bool clean = true) {
    auto report = device_->launch(module_, config_);
    if (!report) {
      ADD_FAILURE() << report.error().message;
      return {};
    }
    if (clean)
      for (const DeviceFinding& finding : report->findings)
        ADD_FAILURE() << finding.kind << ": " << finding.message;
    return *report;
  }

 private:
  std::unique_ptr<Device> device_;
  ModuleId module_ = 0;
  LaunchConfig config_;
};

}  // namespace gpuemu::emulator
