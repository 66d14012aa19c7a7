// The interface between gpuemu and whatever executes kernels. Code above this layer sees only this
// interface; `runtime/backends` creates a device by name.
//
// Addresses are 64-bit device addresses. Data moves only through upload, download and the copies of
// stream.h.
//
// Thread safety: every method may be called from any thread at any time. The caller must order
// calls that destroy something with calls that use it: free against a launch that uses the
// allocation, unload_module against a launch of the module.
//
// The methods here are synchronous and use the default stream (stream.h): they wait for earlier
// work in every blocking stream. They cost nothing extra if there is none.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/device_checks.h"
#include "common/base/limits.h"
#include "common/base/result.h"
#include "runtime/device/device_finding.h"
#include "runtime/device/launch_shape.h"
#include "runtime/device/texture.h"
#include "runtime/device/thread_order.h"

namespace gpuemu {

struct DeviceProperties {
  std::string backend;  ///< "emulator", "cuda" or "null".
  std::string name;     ///< "NVIDIA H200", "gpuemu emulator (AVX2)".
  int sm = 80;          ///< 10 * major + minor compute capability.
  int index = 0;        ///< Index among the devices of its backend.
  uint64_t memory_bytes = 0;
  uint64_t memory_free_bytes = 0;  ///< When it was opened; Device::memory() gives the current
                                   ///< value.
  uint32_t multiprocessors = 0;
  uint64_t shared_bytes_per_block_max = 49152;  ///< With opt-in to large shared memory.
  uint64_t shared_bytes_per_multiprocessor = 0;
  uint32_t registers_per_block = 65536;
  uint32_t registers_per_multiprocessor = 65536;
  uint32_t threads_per_multiprocessor = 0;
  uint32_t blocks_per_multiprocessor = 0;
  std::string driver_version;   ///< Empty if there is no driver.
  std::string runtime_version;  ///< Version of the CUDA runtime library; empty if none was found.
  std::vector<std::string> dtypes;  ///< Types that its instructions compute or convert; see
                                    ///< dtypes_of().
  bool checks_bounds = false;  ///< Every access is checked against the bounds of its allocation.
};

/// Returns the types that hardware of this architecture computes or converts: "float64", "float32",
/// "float16", "bfloat16" from sm_80, "float8_e4m3" and "float8_e5m2" from sm_89, and the integers.
std::vector<std::string> dtypes_of(int sm);

struct MemoryInfo {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
};

/// One .param of an entry, as declared in the PTX.
struct KernelParam {
  std::string name;
  uint32_t bytes = 0;
  uint32_t offset = 0;
  bool is_pointer = false;  ///< A 64-bit parameter, which may be a pointer: PTX usually does not
                            ///< say.
};

struct EntryInfo {
  std::string name;
  std::vector<KernelParam> params;
  uint32_t static_shared_bytes = 0;
  std::array<uint32_t, 3> required_block = {0, 0, 0};  ///< .reqntid; zeros when absent.
  std::array<uint32_t, 3> max_block = {0, 0, 0};       ///< .maxntid; zeros when absent.
  std::array<uint32_t, 3> cluster = {0, 0, 0};         ///< .reqnctapercluster; zeros when absent.
  bool needs_cluster = false;                          ///< .explicitcluster
  bool cooperative = false;  ///< Reads the address of the grid barrier, so all blocks must run
                             ///< together.
  bool may_wait_for_host = false;  ///< Reads memory that the host may change during the launch. Set
                                   ///< by the emulator only.
  /// Resource use of the compiled code as the driver reports it; -1 if unknown. The emulator knows
  /// the local memory that PTX declares.
  int registers = -1, local_bytes = -1;
  uint32_t constant_bytes = 0;  ///< Constant variables of its module. Set by the emulator only.
};

struct Profile;       // profile.h
struct ShadowConfig;  // shadow.h
struct ShadowReport;

struct LaunchConfig : LaunchShape {
  std::string entry;
  std::vector<std::vector<std::byte>> args;  ///< One per parameter, each of exactly the parameter's
                                             ///< size.
  uint64_t timeout_ms = 30'000;
  /// Extends the timeout up to four times while other programs use the processors. Leave it false
  /// where a supervisor kills the process after the timeout. Emulator only.
  bool timeout_stretches = false;
  /// Begins the timeout anew when a block of the grid has ended, so that it ends what hangs and not
  /// what is slow. A launch that hangs ends after one to one and a half times the timeout. Emulator
  /// only.
  bool timeout_restarts = false;
  /// Limit per block. A block that executes more counts as an endless loop. Emulator only.
  uint64_t warp_instructions_max = kWarpInstructionsMax;
  bool profile = false;  ///< Collect counters (LaunchReport::profile); slower.
  /// Compute the values without rounding too (LaunchReport::shadow). Runs on one thread, and
  /// cannot be combined with `profile`.
  std::shared_ptr<const ShadowConfig> shadow;
  ThreadOrder thread_order = ThreadOrder::InOrder;  ///< Order in which threads run. Emulator only.
  uint64_t thread_order_seed = 0;                   ///< Seed of the random choices of that order.
  /// Starts blocks in the order of their indices, and the next one only when those in progress have
  /// ended or wait for it. Never runs more blocks at once than a real GPU holds. Emulator only.
  bool in_issue_order = false;
  uint64_t grown_blocks = 0;  ///< Blocks of this launch at a much larger problem size, if known.
  DeviceChecks sanitize = kUsualChecks;  ///< Checks to make. Emulator only.
  /// Does not report it as a finding when a kernel stores a value computed from uninitialised
  /// memory; adds it to LaunchReport::undefined instead, because it matters only if the host reads
  /// the value. Emulator only.
  bool defers_undefined = false;
};

struct LaunchReport {
  std::vector<DeviceFinding> findings;  ///< Empty if nothing went wrong; at most kFindingsMax.
  /// Filled with LaunchConfig::defers_undefined; at most kFindingsMax.
  std::vector<UndefinedStore> undefined;
  uint64_t thread_instructions = 0;  ///< 0 if the device does not count instructions.
  uint64_t elapsed_ns = 0;
  std::vector<std::string> printed;  ///< Lines that the kernel printed with printf.
  /// So many blocks were in progress at once that some may have waited for later ones. A launch
  /// with `in_issue_order` shows whether they did. Emulator only.
  bool blocks_met = false;
  /// Counters, if the launch requested them and the device supports them; else null.
  std::shared_ptr<const Profile> profile;
  /// Exact values beside the rounded ones, if the launch requested them on the emulator; else null.
  std::shared_ptr<const ShadowReport> shadow;
};

using ModuleId = uint64_t;

/// Address and size of a .global or .const variable of a loaded module.
struct ModuleVariable {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

class Streams;  // stream.h

class Device {
 public:
  Device();
  virtual ~Device() = default;

  /// Returns a number that is unique in this process and never reused.
  uint64_t serial() const { return serial_; }
  /// Returns properties that stay constant for the life of the device.
  virtual const DeviceProperties& properties() const = 0;
  virtual Result<MemoryInfo> memory();
  /// Returns the interface to streams, events, graphs and pinned memory. Unsupported if the backend
  /// has none.
  virtual Result<Streams*> streams();

  /// Allocates memory with undefined content; `name` appears in findings. Zero bytes give a unique
  /// address that must not be accessed. ResourceExhausted if memory or the limit is exhausted.
  virtual Result<uint64_t> allocate(uint64_t bytes, const std::string& name) = 0;
  /// InvalidArgument for an address that allocate() did not return or that was freed.
  virtual Status free(uint64_t address) = 0;
  /// Copies host memory to the device. InvalidArgument unless [address, address + size) is inside
  /// one allocation.
  virtual Status upload(uint64_t address, std::span<const std::byte> from) = 0;
  virtual Status download(std::span<std::byte> to, uint64_t address) = 0;
  virtual Status fill(uint64_t address, std::byte value, uint64_t bytes) = 0;
  /// Marks the bytes as uninitialised without changing them: on a device that checks it, a kernel
  /// that reads them before writing them is reported. Has no effect on other devices.
  virtual Status forget(uint64_t address, uint64_t bytes);
  /// Marks part of an allocation as an allocation of its own with its own name in findings, until
  /// undivide(). Kernels may then not cross its bounds; copies and fills may. Serves clients that
  /// sub-allocate. InvalidArgument if the range is not inside one allocation or overlaps another
  /// part. Unsupported if the device does not check kernels.
  virtual Status divide(uint64_t address, uint64_t bytes, const std::string& name);
  virtual Status undivide(uint64_t address);
  /// Returns the bytes of the range whose values were computed from uninitialised memory by
  /// launches with `defers_undefined`, in ascending order of address. Uninitialised memory itself
  /// and copies of it are not included. Does not wait.
  virtual std::vector<UndefinedBytes> undefined_in(uint64_t address, uint64_t bytes);

  /// Creates a texture and returns the handle that kernels take as a .u64 (cudaTextureObject_t).
  /// InvalidArgument if check_texture refuses it or its texels are not inside one allocation. The
  /// allocation must outlive the texture.
  virtual Result<uint64_t> make_texture(const TextureConfig& config) = 0;
  /// InvalidArgument for a handle that make_texture did not return or that was freed.
  virtual Status free_texture(uint64_t texture) = 0;

  /// Loads PTX text; `name` is used in messages. Fails with Compile, giving line and column, for
  /// text that is not valid PTX.
  virtual Result<ModuleId> load_module(const std::string& ptx, const std::string& name) = 0;
  virtual Status unload_module(ModuleId module) = 0;
  /// Returns all entries in the order of their definition.
  virtual Result<std::vector<EntryInfo>> entries(ModuleId module) = 0;
  /// Finds a variable by its PTX name. upload() sets its value and forget() makes it undefined.
  /// NotFound if the module has no such variable, Unsupported if the backend does not support
  /// variables.
  virtual Result<ModuleVariable> variable(ModuleId module, const std::string& name);
  /// Returns the names of the variables that the host may use at their addresses (`__managed__`).
  /// Unsupported as for variable().
  virtual Result<std::vector<std::string>> managed_variables(ModuleId module);

  /// Runs a kernel to its end. A fault in the kernel is a finding in the report, not an error.
  /// Errors: NotFound (no such entry; the message lists those that exist), InvalidArgument (wrong
  /// number or size of arguments, block or grid beyond the limits), Unavailable (the device was
  /// lost to a sticky error).
  virtual Result<LaunchReport> launch(ModuleId module, const LaunchConfig& config) = 0;

 private:
  const uint64_t serial_;
};

}  // namespace gpuemu
