// The emulated device. Lock order: `running_`, then `layout_`. `running_` is held by anything that
// accesses memory or runs a kernel, so that only one does at a time. `layout_` protects which
// allocations, modules and textures exist: held exclusively to change them, shared to look them up,
// so that issuing work never waits for a kernel.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "runtime/device/memory_kinds.h"
#include "runtime/emulator/checks/pending_stores.h"
#include "runtime/emulator/emulator.h"
#include "runtime/emulator/machine/cluster_pool.h"
#include "runtime/emulator/memory/fence.h"
#include "runtime/emulator/memory/memory.h"
#include "runtime/emulator/memory/texture.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/ptxas_registers.h"
#include "runtime/emulator/queues/queues.h"
#include "runtime/emulator/redundancy_review.h"
#include "runtime/emulator/shadow/values.h"
#include "runtime/emulator/thread_pool.h"

namespace gpuemu::emulator {

class EmulatorStreams;
struct Launch;

class Emulator final : public Device, public BlankMemory, public SparseMemory {
 public:
  explicit Emulator(const EmulatorOptions& options);
  ~Emulator() override;

  const DeviceProperties& properties() const override { return properties_; }
  Result<MemoryInfo> memory() override;
  Result<Streams*> streams() override;
  Result<uint64_t> allocate(uint64_t bytes, const std::string& name) override;
  Result<uint64_t> allocate_blank(uint64_t bytes, const std::string& name) override;
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
  Result<std::vector<std::string>> managed_variables(ModuleId module) override;
  Result<LaunchReport> launch(ModuleId module, const LaunchConfig& config) override;

  // Called by streams when they reach a piece of work, or poll a value.
  /// Executes a launch that was checked when it was issued. If `touched` is set, it receives the
  /// memory accessed. The launch must then check races of global memory, whose records provide it.
  /// `repetition` must be of the same module, entry and config at each call.
  Result<LaunchReport> launch_checked(ModuleId module, const EntryInfo& entry,
                                      const LaunchConfig& config, Repetition& repetition,
                                      TouchedMemory* touched = nullptr);
  Status upload_now(uint64_t address, std::span<const std::byte> from);
  Status download_now(std::span<std::byte> to, uint64_t address);
  Status copy_now(uint64_t to, uint64_t from, uint64_t bytes);
  Status fill_now(uint64_t address, std::byte value, uint64_t bytes);
  Status check_range(uint64_t address, uint64_t bytes, const char* what);
  /// Reads an integer of 4 or 8 bytes, without waiting; nothing while allocations are being
  /// changed.
  std::optional<uint64_t> number_at(uint64_t address, uint64_t bytes);
  Status check_registers(ModuleId module, const EntryInfo& entry, const LaunchShape& shape) {
    return registers_.check(module, entry, shape, properties_);
  }
  Result<EntryInfo> entry_of_module(ModuleId module, const std::string& name);
  Result<uint64_t> allocate_pinned(uint64_t bytes);
  /// Implements Streams::adopt_memory and release_memory.
  Status adopt(uint64_t address, uint64_t bytes, const std::string& name);
  Status release(uint64_t address, uint64_t bytes);
  /// Returns Unavailable after a fault has lost the device.
  Status ready() const;

 private:
  Result<uint64_t> allocate_buffer(uint64_t bytes, const std::string& name, Memory::Kind kind);
  void lose(const LaunchConfig& config, const LaunchReport& report);
  Result<Program*> program(ModuleId module);
  Result<std::vector<EntryInfo>> entries_of(ModuleId module);
  Result<const EntryInfo*> entry(ModuleId module, const std::string& name);
  /// Why a launch is executed: normally, or as part of a redundancy review.
  struct Purpose {
    Suspicion* suspicion = nullptr;    ///< Collects what a review needs.
    RedundancyReview* look = nullptr;  ///< The review that this execution belongs to.
    Repetition* repetition = nullptr;  ///< Null: the launch is not executed again.
  };
  /// Executes a launch that was checked. The caller holds running_.
  Result<LaunchReport> execute(ModuleId module, const EntryInfo& entry, const LaunchConfig& config,
                               Repetition* repetition, TouchedMemory* touched);
  /// Returns the inputs in `kept`: those of the last execution if they still apply, else new ones.
  Result<const LaunchInputs*> prepare(const Program& found, const EntryInfo& entry,
                                      const LaunchConfig& config, const Checks& checks,
                                      Repetition& kept);
  /// Adds notes of what the launch that has just ended did not check.
  void tell_unchecked(const Launch& run, LaunchReport& report);
  Result<LaunchReport> run(const Program& found, const EntryInfo& entry, const LaunchConfig& config,
                           const Purpose& purpose);
  /// Allocates what a grid's barrier needs, see Launch::workspace.
  Result<uint64_t> allocate_workspace();
  /// Returns whether the launch's races can be reviewed, which is so for modules made by Triton.
  bool may_look_again(ModuleId module, const LaunchConfig& config) const;
  /// Returns the allocations that a launch of such a module can write to.
  std::set<uint64_t> may_write(ModuleId module, const LaunchConfig& config);
  /// Executes the launch again on the memory content `before` it, to explain races in `report`.
  Status review_redundancy(Program& program, const EntryInfo& entry, const LaunchConfig& config,
                           const MemoryCopy& before, Suspicion& suspicion, LaunchReport& report);

  EmulatorOptions options_;
  DeviceProperties properties_;
  FencedMutex running_;  ///< Taken before layout_.
  std::shared_mutex layout_;
  Memory memory_;
  Textures textures_;
  ShadowMemory shadows_;  ///< Shadows of memory, kept for later launches.
  ThreadPool thread_pool_;
  ClusterPool cluster_pool_;
  uint64_t series_ = 0;  ///< The last LaunchInputs::series.
  PendingStores pending_stores_;
  Registers registers_;
  std::map<ModuleId, std::unique_ptr<Program>> modules_;
  /// By name; every launch looks up its entry here.
  std::map<ModuleId, std::map<std::string, EntryInfo, std::less<>>> entries_;
  ModuleId next_module_ = 1;
  /// The entries of modules that Triton made, each with ptx::written_params().
  std::map<ModuleId, std::map<std::string, std::optional<std::vector<uint32_t>>, std::less<>>>
      by_triton_;
  /// Returns every live allocation, by ascending address.
  std::vector<Allocation*> allocations();
  std::set<uint64_t> addresses_;  ///< All allocations, including freed ones, until the next launch.
  std::multiset<uint64_t> adopted_;  ///< Start addresses of memory allocated elsewhere.
  std::string lost_;                 ///< Why the device is lost; written once, before is_lost_.
  std::atomic<bool> is_lost_ = false;
  std::unique_ptr<EmulatorStreams> streams_;
  Queues queues_;  ///< Last, so that its thread ends before the members that it uses are destroyed.
};

}  // namespace gpuemu::emulator
