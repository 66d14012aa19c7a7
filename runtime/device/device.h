// The narrow interface between gpuemu and whatever executes kernels. Everything above sees only
// this; `runtime/backends` makes one by name.
//
// Addresses are 64-bit device addresses. Data moves with upload, download and the copies of
// stream.h only.
//
// Every method may be called from any thread at any time. Calls that change what others use (free
// and launch of one allocation, unload_module and launch of one module) need the caller's order.
// What is declared here is synchronous and belongs to the default stream (stream.h): it waits for
// the work issued before in all streams that are not non-blocking. Without such work it costs
// nothing.
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
  int index = 0;        ///< Among the devices of its backend.
  uint64_t memory_bytes = 0;
  uint64_t memory_free_bytes = 0;  ///< When it was opened; Device::memory() says what is free now.
  uint32_t multiprocessors = 0;
  uint64_t shared_bytes_per_block_max = 49152;  ///< With opt-in.
  uint64_t shared_bytes_per_multiprocessor = 0;
  uint32_t registers_per_block = 65536;
  uint32_t registers_per_multiprocessor = 65536;
  uint32_t threads_per_multiprocessor = 0;
  uint32_t blocks_per_multiprocessor = 0;
  std::string driver_version;   ///< Empty when there is no driver.
  std::string runtime_version;  ///< Version of the CUDA runtime library found; empty without one.
  std::vector<std::string> dtypes;  ///< What its instructions compute or convert; dtypes_of().
  bool checks_bounds = false;       ///< Every access is checked against its allocation.
};

/// What a device of this architecture computes or converts in hardware: "float64" ... "float16",
/// "bfloat16" from sm_80, "float8_e4m3" and "float8_e5m2" from sm_89, the integers.
std::vector<std::string> dtypes_of(int sm);

struct MemoryInfo {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
};

/// One .param of an entry, as the PTX declares it.
struct KernelParam {
  std::string name;
  uint32_t bytes = 0;
  uint32_t offset = 0;
  bool is_pointer = false;  ///< A 64-bit parameter (PTX does not say more in general).
};

struct EntryInfo {
  std::string name;
  std::vector<KernelParam> params;
  uint32_t static_shared_bytes = 0;
  std::array<uint32_t, 3> required_block = {0, 0, 0};  ///< .reqntid; zeros when absent.
  std::array<uint32_t, 3> max_block = {0, 0, 0};       ///< .maxntid; zeros when absent.
  std::array<uint32_t, 3> cluster = {0, 0, 0};         ///< .reqnctapercluster; zeros when absent.
  bool needs_cluster = false;                          ///< .explicitcluster
  bool cooperative = false;  ///< Asks where the barrier of the grid is: all blocks run together.
  bool may_wait_for_host = false;  ///< Reads memory that the host may change meanwhile. Emulator.
  /// What the compiled code uses, where the driver tells; -1 where nothing does.
  int registers = -1, local_bytes = -1;
};

struct Profile;       // profile.h
struct ShadowConfig;  // shadow.h
struct ShadowReport;

struct LaunchConfig : LaunchShape {
  std::string entry;
  std::vector<std::vector<std::byte>> args;  ///< One per parameter, exactly its size.
  uint64_t timeout_ms = 30'000;
  /// Extends the timeout, at most four times, while other programs use the processors. Leave it
  /// false where somebody kills the process after the timeout. Emulator.
  bool timeout_stretches = false;
  /// Per block; beyond it the kernel counts as a runaway. The emulator counts.
  uint64_t warp_instructions_max = kWarpInstructionsMax;
  bool profile = false;  ///< Count what it does (LaunchReport::profile); slower.
  /// Follow the values without rounding (LaunchReport::shadow), on one thread; not with a profile.
  std::shared_ptr<const ShadowConfig> shadow;
  ThreadOrder thread_order = ThreadOrder::InOrder;  ///< Followed by the emulator alone.
  uint64_t thread_order_seed = 0;                   ///< What the order draws follows from it.
  /// Blocks begin in the order of their numbers, and another one only when those in progress have
  /// ended or wait for it; more than a real part holds are never in progress. Of the emulator.
  bool in_issue_order = false;
  uint64_t grown_blocks = 0;  ///< Blocks of the same launch for much larger sizes, where known.
  DeviceChecks sanitize = kUsualChecks;  ///< Made by the emulator alone.
  /// A value that the kernel computes from memory that nothing wrote and stores is no finding but
  /// part of LaunchReport::undefined: it matters where the host gets it. Of the emulator.
  bool defers_undefined = false;
};

struct LaunchReport {
  std::vector<DeviceFinding> findings;  ///< Empty when nothing went wrong. At most kFindingsMax.
  /// With LaunchConfig::defers_undefined; at most kFindingsMax.
  std::vector<UndefinedStore> undefined;
  uint64_t thread_instructions = 0;  ///< 0 where the device does not count.
  uint64_t elapsed_ns = 0;
  std::vector<std::string> printed;  ///< Lines of device printf.
  /// So many blocks were in progress together that some may wait for later ones: a launch
  /// in_issue_order tells. Of the emulator.
  bool blocks_met = false;
  /// Counts, if the launch asked for them and the device counts; else nullptr.
  std::shared_ptr<const Profile> profile;
  /// Exact values beside rounded ones, if the launch asked and the emulator ran it; else nullptr.
  std::shared_ptr<const ShadowReport> shadow;
};

using ModuleId = uint64_t;

/// Where a .global or .const variable of a loaded module lies.
struct ModuleVariable {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

class Streams;  // stream.h

class Device {
 public:
  Device();
  virtual ~Device() = default;

  /// Unique in this process, also after the device is gone.
  uint64_t serial() const { return serial_; }
  /// Does not change.
  virtual const DeviceProperties& properties() const = 0;
  virtual Result<MemoryInfo> memory();
  /// Streams, events, graphs and pinned memory. Unsupported where the backend has none.
  virtual Result<Streams*> streams();

  /// `name` appears in findings. Zero bytes give a unique address that must not be accessed.
  /// ResourceExhausted when memory or the limit is out. The content is undefined.
  virtual Result<uint64_t> allocate(uint64_t bytes, const std::string& name) = 0;
  /// InvalidArgument for an address that allocate did not return or that is already free.
  virtual Status free(uint64_t address) = 0;
  /// InvalidArgument when [address, address + size) is not inside one allocation.
  virtual Status upload(uint64_t address, std::span<const std::byte> from) = 0;
  virtual Status download(std::span<std::byte> to, uint64_t address) = 0;
  virtual Status fill(uint64_t address, std::byte value, uint64_t bytes) = 0;
  /// The bytes stay and count as never written: a kernel that reads them before it writes them is
  /// found, where the device checks that. Does nothing elsewhere.
  virtual Status forget(uint64_t address, uint64_t bytes);
  /// Says that a client uses a part of an allocation as one of its own, with that name in findings,
  /// until undivide(). Kernels may not leave it then; copies and fills may. InvalidArgument where
  /// it is not inside one allocation or overlaps another part. Unsupported where kernels are not
  /// checked.
  virtual Status divide(uint64_t address, uint64_t bytes, const std::string& name);
  virtual Status undivide(uint64_t address);
  /// Returns the bytes of the range that hold values which launches with `defers_undefined`
  /// computed from memory that nothing wrote, in the order of their addresses. That memory itself
  /// and copies of it are not among them. Does not wait.
  virtual std::vector<UndefinedBytes> undefined_in(uint64_t address, uint64_t bytes);

  /// The handle that kernels take as a .u64 (cudaTextureObject_t). InvalidArgument for a texture
  /// that check_texture refuses or whose texels are not inside one allocation, which has to live as
  /// long as the texture.
  virtual Result<uint64_t> make_texture(const TextureConfig& config) = 0;
  /// InvalidArgument for what make_texture did not return or what is already free.
  virtual Status free_texture(uint64_t texture) = 0;

  /// PTX text. Compile error with line and column for text that is not PTX. `name` is used in
  /// messages.
  virtual Result<ModuleId> load_module(const std::string& ptx, const std::string& name) = 0;
  virtual Status unload_module(ModuleId module) = 0;
  /// All entries in order of their appearance.
  virtual Result<std::vector<EntryInfo>> entries(ModuleId module) = 0;
  /// By its PTX name; upload() writes it, forget() makes it undefined. NotFound where the module
  /// has none of that name, Unsupported where the backend has no variables.
  virtual Result<ModuleVariable> variable(ModuleId module, const std::string& name);

  /// Runs to its end. A faulting kernel is a report with findings, not an error. Errors: NotFound
  /// (no such entry; the message lists those there are), InvalidArgument (argument count or size,
  /// block or grid beyond the limits), Unavailable (the device is lost: a sticky error).
  virtual Result<LaunchReport> launch(ModuleId module, const LaunchConfig& config) = 0;

 private:
  const uint64_t serial_;
};

}  // namespace gpuemu
