// One GPU and its primary context. Created by open_device.cc.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver_api.h"
#include "runtime/device/allocation_owners.h"
#include "runtime/device/foreign_memory.h"

namespace gpuemu::cuda {

class CudaStreams;

/// Larger dynamic shared memory requires opt-in.
inline constexpr uint32_t kSharedWithoutOptin = 49152;

class CudaDevice final : public Device {
 public:
  /// `context` is the retained primary context of `device`; it is released with this object.
  CudaDevice(const Driver& driver, int device, Context context, const CudaOptions& options);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  /// Must be called once before anything else.
  Status prepare(DeviceProperties properties);

  const DeviceProperties& properties() const override { return properties_; }
  Result<MemoryInfo> memory() override;
  Result<Streams*> streams() override;
  Result<uint64_t> allocate(uint64_t bytes, const std::string& name) override;
  Status free(uint64_t address) override;
  Status upload(uint64_t address, std::span<const std::byte> from) override;
  Status download(std::span<std::byte> to, uint64_t address) override;
  Status fill(uint64_t address, std::byte value, uint64_t bytes) override;
  Result<uint64_t> make_texture(const TextureConfig& config) override;
  Status free_texture(uint64_t texture) override;
  Result<ModuleId> load_module(const std::string& ptx, const std::string& name) override;
  Status unload_module(ModuleId module) override;
  Result<std::vector<EntryInfo>> entries(ModuleId module) override;
  Result<ModuleVariable> variable(ModuleId module, const std::string& name) override;
  Result<LaunchReport> launch(ModuleId module, const LaunchConfig& config) override;

  // --- Used by the streams ---
  struct FoundEntry {
    Function handle = nullptr;
    EntryInfo info;
  };
  const Driver& driver() const { return driver_; }
  /// Makes the context current. Fails with Unavailable if the device is lost.
  Status ready();
  /// Converts the code of a call that must not fail. Sticky codes lose the device.
  Status check(int code, const char* what);
  Status check_range(uint64_t address, uint64_t bytes) const;
  /// Registers memory that was allocated elsewhere, for check_range().
  void know_foreign(uint64_t address, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    foreign_memory_.add(address, bytes);
  }
  bool forget_foreign(uint64_t address, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    return foreign_memory_.remove(address, bytes);
  }
  bool is_context(Context context) const { return context == context_; }
  Result<FoundEntry> find_entry_of(ModuleId module, const std::string& name);
  /// Returns whether a launch uses only grid, block and shared memory; `node` then describes it.
  Result<bool> is_plain(const FoundEntry& entry, const LaunchShape& shape, KernelNode& node);
  /// Launches and returns the driver's code. `arguments` point to one value each.
  Result<int> launch_on(Stream stream, const FoundEntry& entry, const LaunchShape& shape,
                        void** arguments);
  /// Returns the error of a launch that failed with this code.
  static Status refusal(int code, const std::string& entry, const LaunchShape& shape);
  /// Returns the finding of a sticky code, and marks the device as lost; nothing for other codes.
  std::optional<DeviceFinding> lose(int code, const std::string& entry);

 private:
  struct Allocation {
    uint64_t bytes = 0;
    std::string name;
  };
  struct Loaded {
    Module handle = nullptr;
    std::string name;
    std::vector<EntryInfo> entries;
  };

  // For out-of-memory messages; the caller holds the mutex.
  std::string where() const;
  std::vector<AllocationOwner> owners() const;
  Result<Loaded*> find_module(ModuleId module);
  /// Opts in to more dynamic shared memory than every kernel may use.
  Status ask_for_shared(const FoundEntry& entry, const LaunchShape& shape);
  Status start(const FoundEntry& entry, const LaunchConfig& config);
  /// Returns kSuccess, a sticky error, or kNotReady after `timeout_ms`.
  int wait(uint64_t timeout_ms) const;
  DeviceFinding finding_of(int code, const LaunchConfig& config) const;

  const Driver driver_;
  const int device_;
  const Context context_;
  const CudaOptions options_;
  DeviceProperties properties_;
  std::mutex launch_mutex_;  ///< Guards the two events of synchronous launches.
  Event begin_ = nullptr, end_ = nullptr;
  mutable std::shared_mutex mutex_;  ///< Guards the members below.
  std::map<uint64_t, Allocation> allocations_;
  ForeignMemory foreign_memory_;
  uint64_t allocated_bytes_ = 0;
  std::set<uint64_t> textures_;
  std::map<ModuleId, Loaded> modules_;
  ModuleId next_module_ = 1;
  std::atomic<bool> is_lost_ = false;
  std::string lost_;  ///< Why the device is lost; empty while it works.
  std::unique_ptr<CudaStreams> streams_;
};

}  // namespace gpuemu::cuda
