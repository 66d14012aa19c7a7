// Test device: host memory, and kernels that are C++ functions, correct and faulty ones. Its "PTX"
// is a list of entry names.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "runtime/device/device.h"

namespace gpuemu {

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(bool checks_bounds, uint64_t memory_bytes = 0,
                      const std::string& backend = "fake");

  const DeviceProperties& properties() const override { return properties_; }
  Result<uint64_t> allocate(uint64_t bytes, const std::string& name) override;
  Status free(uint64_t address) override;
  Status upload(uint64_t address, std::span<const std::byte> from) override;
  Status download(std::span<std::byte> to, uint64_t address) override;
  Status fill(uint64_t address, std::byte value, uint64_t bytes) override;
  Status forget(uint64_t address, uint64_t bytes) override;
  Result<uint64_t> make_texture(const TextureConfig& config) override;
  Status free_texture(uint64_t texture) override;
  Result<ModuleId> load_module(const std::string& ptx, const std::string& name) override;
  Status unload_module(ModuleId module) override;
  Result<std::vector<EntryInfo>> entries(ModuleId module) override;
  Result<LaunchReport> launch(ModuleId module, const LaunchConfig& config) override;

  size_t allocation_count() const { return memory_.size(); }
  uint32_t launch_count() const { return launches_; }
  /// Returns addresses and sizes of memory marked as uninitialised, in order.
  const std::vector<std::pair<uint64_t, uint64_t>>& forgotten() const { return forgotten_; }
  /// Returns the addresses of all allocations so far, in order.
  const std::vector<uint64_t>& addresses() const { return addresses_; }

 private:
  DeviceProperties properties_;
  std::map<uint64_t, std::vector<std::byte>> memory_;
  std::vector<uint64_t> addresses_;
  std::vector<std::pair<uint64_t, uint64_t>> forgotten_;
  std::map<uint64_t, float> kept_;  ///< By the address of a; simulates memory that a kernel keeps.
  std::map<ModuleId, std::string> modules_;
  uint32_t launches_ = 0;
  bool lost_ = false;
};

}  // namespace gpuemu
