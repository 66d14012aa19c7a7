// The emulated device. `running_` is held by whatever touches memory or runs a kernel, so that one
// thing happens at a time; `layout_` by who changes which allocations, modules and textures there
// are, and shared by who only looks, so that nobody who issues work waits for a kernel.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "runtime/device/sparse.h"
#include "runtime/emulator/emulator.h"
#include "runtime/emulator/machine/program.h"
#include "runtime/emulator/memory/fence.h"
#include "runtime/emulator/memory/memory.h"
#include "runtime/emulator/memory/texture.h"
#include "runtime/emulator/ptxas_registers.h"
#include "runtime/emulator/queues/queues.h"
#include "runtime/emulator/redundancy_review.h"
#include "runtime/emulator/shadow/values.h"
#include "runtime/emulator/thread_pool.h"

namespace gpuemu::emulator {

class EmulatorStreams;

class Emulator final : public Device, public SparseMemory {
 public:
  explicit Emulator(const EmulatorOptions& options);
  ~Emulator() override;

  const DeviceProperties& properties() const override { return properties_; }
  Result<MemoryInfo> memory() override;
  Result<Streams*> streams() override;
  Result<uint64_t> allocate(uint64_t bytes, const std::string& name) override;
  Result<uint64_t> allocate_sparse(uint64_t bytes, const std::string& name,
                                   std::span<const std::byte> pattern) override;
  Status free(uint64_t address) override;
  Status upload(uint64_t address, std::span<const std::byte> from) override;
  Status download(std::span<std::byte> to, uint64_t address) override;
  Status fill(uint64_t address, std::byte value, uint64_t bytes) override;
  Status forget(uint64_t address, uint64_t bytes) override;
  Status divide(uint64_t address, uint64_t bytes, const std::string& name) override;
  Status undivide(uint64_t address) override;
  std::vector<UndefinedBytes> undefined_in(uint64_t address, uint64_t bytes) override;
  Result<uint64_t> make_texture(const TextureConfig& config) override;
  Status free_texture(uint64_t texture) override;
  Result<ModuleId> load_module(const std::string& ptx, const std::string& name) override;
  Status unload_module(ModuleId module) override;
  Result<std::vector<EntryInfo>> entries(ModuleId module) override;
  Result<ModuleVariable> variable(ModuleId module, const std::string& name) override;
  Result<LaunchReport> launch(ModuleId module, const LaunchConfig& config) override;

  // What streams do when they get there, and look at when they are told to.
  /// With `touched` the launch has to check races of global memory: they tell what it touches.
  Result<LaunchReport> launch_now(ModuleId module, const LaunchConfig& config,
                                  TouchedMemory* touched = nullptr);
  Status upload_now(uint64_t address, std::span<const std::byte> from);
  Status download_now(std::span<std::byte> to, uint64_t address);
  Status copy_now(uint64_t to, uint64_t from, uint64_t bytes);
  Status fill_now(uint64_t address, std::byte value, uint64_t bytes);
  Status check_range(uint64_t address, uint64_t bytes, const char* what);
  /// The number of 4 or 8 bytes; nothing while what is allocated changes. Does not wait.
  std::optional<uint64_t> number_at(uint64_t address, uint64_t bytes);
  Status check_registers(ModuleId module, const EntryInfo& entry, const LaunchShape& shape) {
    return registers_.check(module, entry, shape, properties_);
  }
  Result<EntryInfo> entry_of_module(ModuleId module, const std::string& name);
  Result<uint64_t> allocate_pinned(uint64_t bytes);
  /// Streams::adopt_memory and release_memory.
  Status adopt(uint64_t address, uint64_t bytes, const std::string& name);
  Status release(uint64_t address, uint64_t bytes);
  /// Unavailable once a fault has lost the device.
  Status ready() const;

 private:
  void lose(const LaunchConfig& config, const LaunchReport& report);
  Result<Program*> program(ModuleId module);
  Result<std::vector<EntryInfo>> entries_of(ModuleId module);
  Result<const EntryInfo*> entry(ModuleId module, const std::string& name);
  /// What a run is for, beside its results.
  struct Purpose {
    Suspicion* suspicion = nullptr;    ///< Gathers what a second look needs.
    RedundancyReview* look = nullptr;  ///< It is that look.
  };
  Result<LaunchReport> run(const Program& found, const EntryInfo& entry, const LaunchConfig& config,
                           const Purpose& purpose);
  /// Whether the races of a launch may be looked at again: those of modules that Triton made.
  bool may_look_again(ModuleId module, const LaunchConfig& config) const;
  /// Executes the launch again on what memory held `before` it, to explain races of `report`.
  Status review_redundancy(Program& program, const EntryInfo& entry, const LaunchConfig& config,
                           const MemoryCopy& before, Suspicion& suspicion, LaunchReport& report);

  EmulatorOptions options_;
  DeviceProperties properties_;
  FencedMutex running_;  ///< Before layout_ where both are taken.
  std::shared_mutex layout_;
  Memory memory_;
  Textures textures_;
  ShadowMemory shadows_;  ///< What launches with shadows stored, for those that follow.
  ThreadPool thread_pool_;
  Registers registers_;
  std::map<ModuleId, std::unique_ptr<Program>> modules_;
  /// By name; every launch asks for its entry.
  std::map<ModuleId, std::map<std::string, EntryInfo, std::less<>>> entries_;
  ModuleId next_module_ = 1;
  std::set<ModuleId> by_triton_;  ///< Modules that Triton made.
  /// Every live allocation, in the order of their addresses.
  std::vector<Allocation*> allocations();
  std::set<uint64_t> addresses_;     ///< All allocations, freed ones too, until the next launch.
  std::multiset<uint64_t> adopted_;  ///< Where the memory of others begins.
  std::string lost_;                 ///< Why; written once, before is_lost_.
  std::atomic<bool> is_lost_ = false;
  std::unique_ptr<EmulatorStreams> streams_;
  Queues queues_;  ///< Last: its thread ends before what the work uses.
};

}  // namespace gpuemu::emulator
