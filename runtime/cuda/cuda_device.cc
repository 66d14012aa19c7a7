// Memory, modules and launches on one GPU, with a timeout for launches.
#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "runtime/cuda/device_impl.h"
#include "runtime/cuda/entry_info.h"
#include "runtime/cuda/pin_rounding.h"
#include "runtime/cuda/streams.h"
#include "runtime/device/fault.h"
#include "runtime/device/launch_check.h"
#include "runtime/ptx/parse.h"

namespace gpuemu::cuda {
namespace {

constexpr size_t kJitLogBytes = 16384;
/// Kernels shorter than this are waited for without sleeping.
constexpr std::chrono::milliseconds kSpinTime{1};
constexpr std::chrono::microseconds kSleepTime{50};

struct Fault {
  int code;
  DeviceFindingKind kind;
};
/// Error codes after which the context is unusable.
constexpr Fault kFaults[] = {
    {kIllegalAddress, DeviceFindingKind::IllegalAddress},
    {kLaunchTimeout, DeviceFindingKind::Timeout},
    {kAssert, DeviceFindingKind::Trap},
    {kHardwareStackError, DeviceFindingKind::StackOverflow},
    {kIllegalInstruction, DeviceFindingKind::Trap},
    {kMisalignedAddress, DeviceFindingKind::Misaligned},
    {kInvalidAddressSpace, DeviceFindingKind::IllegalAddress},
    {kInvalidPc, DeviceFindingKind::Trap},
    {kLaunchFailed, DeviceFindingKind::Trap},
};

const Fault* fault_of(int code) {
  const auto found = std::ranges::find(kFaults, code, &Fault::code);
  return found == std::end(kFaults) ? nullptr : &*found;
}

}  // namespace

CudaDevice::CudaDevice(const Driver& driver, int device, Context context,
                       const CudaOptions& options)
    : driver_(driver),
      device_(device),
      context_(context),
      options_(options),
      streams_(std::make_unique<CudaStreams>(*this)) {}

CudaDevice::~CudaDevice() {
  // A lost context may hold a kernel that never ends, and every call that frees would wait for it.
  // The process ends soon and releases everything.
  if (is_lost_) return;
  driver_.cuCtxSetCurrent(context_);
  streams_->free_all();
  for (const auto& [address, allocation] : allocations_) driver_.cuMemFree_v2(address);
  for (const auto& [id, module] : modules_) driver_.cuModuleUnload(module.handle);
  if (begin_ != nullptr) driver_.cuEventDestroy_v2(begin_);
  if (end_ != nullptr) driver_.cuEventDestroy_v2(end_);
  driver_.cuDevicePrimaryCtxRelease_v2(device_);
}

Status CudaDevice::prepare(DeviceProperties properties) {
  properties_ = std::move(properties);
  GPUEMU_TRY(ready());
  GPUEMU_TRY(check(driver_.cuEventCreate(&begin_, 0), "making an event"));
  GPUEMU_TRY(check(driver_.cuEventCreate(&end_, 0), "making an event"));
  size_t free_bytes = 0, total = 0;
  GPUEMU_TRY(check(driver_.cuMemGetInfo_v2(&free_bytes, &total), "asking for memory"));
  properties_.memory_free_bytes = free_bytes;
  return {};
}

Status CudaDevice::ready() {
  if (is_lost_) {
    const std::shared_lock lock(mutex_);
    return error(ErrorCode::Unavailable,
                 "the CUDA device is lost after {}; start a new worker process", lost_);
  }
  return check(driver_.cuCtxSetCurrent(context_), "making the context current");
}

Status CudaDevice::check(int code, const char* what) {
  if (code == kSuccess) return {};
  const std::string text = driver_.text_of(code);
  if (code == kOutOfMemory) return error(ErrorCode::ResourceExhausted, "{}: {}", what, text);
  const bool forbidden = code >= kCaptureUnsupported && code <= kCaptureWrongThread;
  if (forbidden || code == kInvalidHandle || code == kIllegalState) {
    return error(ErrorCode::InvalidArgument, "{}: {}", what, text);
  }
  if (!lose(code, "")) return error(ErrorCode::Internal, "{}: {}", what, text);
  return error(ErrorCode::Unavailable, "{}: {}; the device is lost, start a new worker process",
               what, text);
}

Result<Streams*> CudaDevice::streams() { return streams_.get(); }

Result<MemoryInfo> CudaDevice::memory() {
  GPUEMU_TRY(ready());
  size_t free_bytes = 0, total = 0;
  GPUEMU_TRY(check(driver_.cuMemGetInfo_v2(&free_bytes, &total), "asking for memory"));
  const std::shared_lock lock(mutex_);
  const uint64_t limit = options_.memory_limit_bytes;
  return MemoryInfo{std::min<uint64_t>(total, limit),
                    std::min<uint64_t>(free_bytes, limit - std::min(limit, allocated_bytes_))};
}

Result<uint64_t> CudaDevice::allocate(uint64_t bytes, const std::string& name) {
  GPUEMU_TRY(ready());
  // The driver refuses zero bytes, but allocate() promises a unique address.
  const uint64_t real = std::max<uint64_t>(bytes, 1);
  {
    const std::lock_guard lock(mutex_);
    const uint64_t limit = options_.memory_limit_bytes;
    if (real > limit || allocated_bytes_ > limit - real) {
      return out_of_memory(name, bytes, {where(), allocated_bytes_, limit}, owners());
    }
    allocated_bytes_ += real;
  }
  uint64_t address = 0;
  const int code = driver_.cuMemAlloc_v2(&address, real);
  {
    const std::lock_guard lock(mutex_);
    if (code == kSuccess) {
      allocations_[address] = {bytes, name};
      return address;
    }
    allocated_bytes_ -= real;
  }
  GPUEMU_TRY(check(code == kOutOfMemory ? kSuccess : code, "allocating"));
  // Other programs use the GPU's memory too.
  size_t free_bytes = 0, total = 0;
  GPUEMU_TRY(check(driver_.cuMemGetInfo_v2(&free_bytes, &total), "asking for memory"));
  const std::shared_lock lock(mutex_);
  return out_of_memory(name, bytes, {where(), total - free_bytes, total}, owners());
}

std::string CudaDevice::where() const {
  return fmt::format("the memory of GPU {}, {}", properties_.index, properties_.name);
}

std::vector<AllocationOwner> CudaDevice::owners() const {
  std::vector<AllocationOwner> out;
  for (const auto& [address, allocation] : allocations_) {
    out.push_back({allocation.name, allocation.bytes, address});
  }
  return out;
}

Status CudaDevice::free(uint64_t address) {
  GPUEMU_TRY(ready());
  {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(address);
    if (found == allocations_.end()) {
      return error(ErrorCode::InvalidArgument, "address {:#x} is not allocated, or already free",
                   address);
    }
    allocated_bytes_ -= std::max<uint64_t>(found->second.bytes, 1);
    allocations_.erase(found);
  }
  // It waits for the device; other threads must not wait for that.
  return check(driver_.cuMemFree_v2(address), "freeing");
}

Status CudaDevice::check_range(uint64_t address, uint64_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto after = allocations_.upper_bound(address);
  if (after != allocations_.begin()) {
    const auto& [base, allocation] = *std::prev(after);
    const uint64_t offset = address - base;
    if (offset <= allocation.bytes && bytes <= allocation.bytes - offset) return {};
  }
  if (foreign_memory_.contains(address, bytes)) return {};
  return error(ErrorCode::InvalidArgument, "{} bytes at {:#x} are not inside one allocation", bytes,
               address);
}

Status CudaDevice::upload(uint64_t address, std::span<const std::byte> from) {
  GPUEMU_TRY(ready());
  GPUEMU_TRY(check_range(address, from.size()));
  if (from.empty()) return {};
  return check(driver_.cuMemcpyHtoD_v2(address, from.data(), from.size()), "uploading");
}

Status CudaDevice::download(std::span<std::byte> to, uint64_t address) {
  GPUEMU_TRY(ready());
  GPUEMU_TRY(check_range(address, to.size()));
  if (to.empty()) return {};
  return check(driver_.cuMemcpyDtoH_v2(to.data(), address, to.size()), "downloading");
}

Status CudaDevice::fill(uint64_t address, std::byte value, uint64_t bytes) {
  GPUEMU_TRY(ready());
  GPUEMU_TRY(check_range(address, bytes));
  if (bytes == 0) return {};
  GPUEMU_TRY(check(driver_.cuMemsetD8_v2(address, std::to_integer<unsigned char>(value), bytes),
                   "filling"));
  // Unlike copies, the driver's fill may return before it is done; non-blocking streams would then
  // not see it.
  return check(driver_.cuStreamSynchronize(nullptr), "filling");
}

Result<ModuleId> CudaDevice::load_module(const std::string& ptx, const std::string& name) {
  GPUEMU_TRY(ready());
  const ptx::Module parsed = GPUEMU_TRY(ptx::parse(ptx, name));
  Loaded loaded{nullptr, name, entries_of(parsed)};
  const bool pinned = options_.contraction == Contraction::Never;
  const std::string text = pinned ? pin_rounding(ptx) : ptx;
  std::string log(kJitLogBytes, '\0');
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  const int code = driver_.cuModuleLoadDataEx(&loaded.handle, text.c_str(), 2, options, values);
  if (code != kSuccess && fault_of(code) == nullptr && code != kOutOfMemory) {
    return error(ErrorCode::Compile, "{}: {}: {}", name, driver_.text_of(code), log.c_str());
  }
  GPUEMU_TRY(check(code, "loading a module"));
  for (EntryInfo& entry : loaded.entries) {
    Function function = nullptr;
    int bytes = 0;
    GPUEMU_TRY(check(driver_.cuModuleGetFunction(&function, loaded.handle, entry.name.c_str()),
                     "finding an entry"));
    GPUEMU_TRY(check(driver_.cuFuncGetAttribute(&bytes, kFunctionSharedBytes, function),
                     "asking for shared memory"));
    entry.static_shared_bytes = static_cast<uint32_t>(bytes);
    GPUEMU_TRY(check(driver_.cuFuncGetAttribute(&entry.registers, kFunctionRegisters, function),
                     "asking for registers"));
    GPUEMU_TRY(check(driver_.cuFuncGetAttribute(&entry.local_bytes, kFunctionLocalBytes, function),
                     "asking for local memory"));
  }
  const std::lock_guard lock(mutex_);
  modules_[next_module_] = std::move(loaded);
  return next_module_++;
}

Result<CudaDevice::Loaded*> CudaDevice::find_module(ModuleId module) {
  const auto found = modules_.find(module);
  if (found == modules_.end()) {
    return error(ErrorCode::InvalidArgument, "no module {}: it was never loaded, or is unloaded",
                 module);
  }
  return &found->second;
}

Status CudaDevice::unload_module(ModuleId module) {
  GPUEMU_TRY(ready());
  Module handle = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const Loaded* loaded = GPUEMU_TRY(find_module(module));
    handle = loaded->handle;
    modules_.erase(module);
  }
  streams_->forget(module);
  GPUEMU_TRY(check(driver_.cuCtxSynchronize(), "waiting for the device"));
  return check(driver_.cuModuleUnload(handle), "unloading a module");
}

Result<std::vector<EntryInfo>> CudaDevice::entries(ModuleId module) {
  const std::shared_lock lock(mutex_);
  const Loaded* loaded = GPUEMU_TRY(find_module(module));
  return loaded->entries;
}

Result<ModuleVariable> CudaDevice::variable(ModuleId module, const std::string& name) {
  constexpr int kNotFound = 500;  // CUDA_ERROR_NOT_FOUND
  GPUEMU_TRY(ready());
  Module handle = nullptr;
  {
    const std::shared_lock lock(mutex_);
    const Loaded* loaded = GPUEMU_TRY(find_module(module));
    handle = loaded->handle;
  }
  ModuleVariable found;
  size_t bytes = 0;
  const int code = driver_.cuModuleGetGlobal_v2(&found.address, &bytes, handle, name.c_str());
  if (code == kNotFound) {
    return error(ErrorCode::NotFound, "module {} has no variable '{}'", module, name);
  }
  GPUEMU_TRY(check(code, "finding a variable"));
  found.bytes = bytes;
  return found;
}

Result<CudaDevice::FoundEntry> CudaDevice::find_entry_of(ModuleId module, const std::string& name) {
  FoundEntry found;
  Module handle = nullptr;
  {
    const std::shared_lock lock(mutex_);
    const Loaded* loaded = GPUEMU_TRY(find_module(module));
    found.info = GPUEMU_TRY(find_entry(loaded->entries, name));
    handle = loaded->handle;
  }
  GPUEMU_TRY(
      check(driver_.cuModuleGetFunction(&found.handle, handle, name.c_str()), "finding an entry"));
  return found;
}

Status CudaDevice::ask_for_shared(const FoundEntry& entry, const LaunchShape& shape) {
  if (shape.dynamic_shared_bytes <= kSharedWithoutOptin) return ok_status();
  const int bytes = static_cast<int>(shape.dynamic_shared_bytes);
  return check(driver_.cuFuncSetAttribute(entry.handle, kFunctionMaxDynamicShared, bytes),
               "asking for shared memory");
}

Result<bool> CudaDevice::is_plain(const FoundEntry& entry, const LaunchShape& shape,
                                  KernelNode& node) {
  const Dim3 cluster = GPUEMU_TRY(cluster_of(entry.info, shape));
  if (entry.info.cooperative || cluster != Dim3{1, 1, 1}) return false;
  GPUEMU_TRY(ask_for_shared(entry, shape));
  node.function = entry.handle;
  const Dim3 &grid = shape.grid, &block = shape.block;
  std::ranges::copy(std::array{grid.x, grid.y, grid.z}, node.grid);
  std::ranges::copy(std::array{block.x, block.y, block.z}, node.block);
  node.shared_bytes = shape.dynamic_shared_bytes;
  return true;
}

Result<int> CudaDevice::launch_on(Stream stream, const FoundEntry& entry, const LaunchShape& shape,
                                  void** arguments) {
  GPUEMU_TRY(ask_for_shared(entry, shape));
  const Dim3 cluster = GPUEMU_TRY(cluster_of(entry.info, shape));
  LaunchAttribute attributes[2];
  unsigned count = 0;
  if (entry.info.cooperative) attributes[count++] = {kAttributeCooperative, 0, {1}};
  // A cluster size that the kernel declares must not be passed again.
  if (entry.info.cluster[0] == 0 && cluster != Dim3{1, 1, 1}) {
    attributes[count++] = {kAttributeCluster, 0, {cluster.x, cluster.y, cluster.z}};
  }
  if (count == 0) {
    return driver_.cuLaunchKernel(entry.handle, shape.grid.x, shape.grid.y, shape.grid.z,
                                  shape.block.x, shape.block.y, shape.block.z,
                                  shape.dynamic_shared_bytes, stream, arguments, nullptr);
  }
  if (driver_.cuLaunchKernelEx == nullptr) {
    return error(ErrorCode::Unavailable,
                 "entry '{}' needs a cluster or a cooperative launch, which this driver does not "
                 "have; update it to one for CUDA 11.8 or later",
                 entry.info.name);
  }
  const LaunchParameters parameters{{shape.grid.x, shape.grid.y, shape.grid.z},
                                    {shape.block.x, shape.block.y, shape.block.z},
                                    shape.dynamic_shared_bytes,
                                    stream,
                                    attributes,
                                    count};
  return driver_.cuLaunchKernelEx(&parameters, entry.handle, arguments, nullptr);
}

Status CudaDevice::refusal(int code, const std::string& entry, const LaunchShape& shape) {
  const uint32_t threads = shape.block.x * shape.block.y * shape.block.z;
  const uint64_t blocks = uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  if (code == kLaunchOutOfResources) {
    return error(ErrorCode::InvalidArgument,
                 "entry '{}' with a block of {} threads needs more registers than a multiprocessor "
                 "has; use a smaller block or __launch_bounds__",
                 entry, threads);
  }
  if (code == kCooperativeTooLarge) {
    return error(ErrorCode::InvalidArgument,
                 "entry '{}' waits for all blocks of its grid, and the device cannot run {} blocks "
                 "of {} threads at once; use a smaller grid",
                 entry, blocks, threads);
  }
  if (code == kInvalidClusterSize) {
    return error(ErrorCode::InvalidArgument,
                 "the device cannot run a cluster of entry '{}' with {} threads and {} bytes of "
                 "dynamic shared memory per block; use a smaller cluster",
                 entry, threads, shape.dynamic_shared_bytes);
  }
  return {};
}

Status CudaDevice::start(const FoundEntry& entry, const LaunchConfig& config) {
  std::vector<std::vector<std::byte>> args = config.args;  // The driver takes non-const pointers.
  std::vector<void*> pointers;
  for (auto& arg : args) pointers.push_back(arg.data());
  GPUEMU_TRY(check(driver_.cuEventRecord(begin_, nullptr), "recording an event"));
  const int code = GPUEMU_TRY(launch_on(nullptr, entry, config, pointers.data()));
  GPUEMU_TRY(refusal(code, config.entry, config));
  GPUEMU_TRY(check(code, "launching"));
  return check(driver_.cuEventRecord(end_, nullptr), "recording an event");
}

int CudaDevice::wait(uint64_t timeout_ms) const {
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    const int code = driver_.cuEventQuery(end_);
    if (code != kNotReady) return code;
    const auto elapsed = std::chrono::steady_clock::now() - begin;
    if (elapsed > std::chrono::milliseconds(timeout_ms)) return kNotReady;
    if (elapsed > kSpinTime) std::this_thread::sleep_for(kSleepTime);
  }
}

DeviceFinding CudaDevice::finding_of(int code, const LaunchConfig& config) const {
  DeviceFinding out;
  out.entry = config.entry;
  if (code == kNotReady) {
    out.kind = DeviceFindingKind::Timeout;
    out.message = fmt::format("entry '{}' ({}) did not end within {} ms", config.entry,
                              geometry_of(config), config.timeout_ms);
    return out;
  }
  const Fault* fault = fault_of(code);
  out.kind = fault == nullptr ? DeviceFindingKind::Trap : fault->kind;
  out.message = fmt::format(
      "entry '{}' ({}) ended with {}; the emulator names the thread and the source line",
      config.entry, geometry_of(config), driver_.text_of(code));
  return out;
}

std::optional<DeviceFinding> CudaDevice::lose(int code, const std::string& entry) {
  const Fault* fault = fault_of(code);
  if (fault == nullptr) return std::nullopt;
  DeviceFinding out;
  out.kind = fault->kind;
  out.entry = entry;
  out.message =
      fmt::format("{}; the emulator names the thread and the source line", driver_.text_of(code));
  const std::lock_guard lock(mutex_);
  if (!is_lost_) lost_ = driver_.text_of(code);
  is_lost_ = true;
  return out;
}

Result<LaunchReport> CudaDevice::launch(ModuleId module, const LaunchConfig& config) {
  GPUEMU_TRY(ready());
  const FoundEntry entry = GPUEMU_TRY(find_entry_of(module, config.entry));
  GPUEMU_TRY(check_launch(entry.info, config, properties_));
  const std::lock_guard one_at_a_time(launch_mutex_);
  GPUEMU_TRY(start(entry, config));
  const int code = wait(config.timeout_ms);
  LaunchReport report;
  if (code != kSuccess) {
    report.findings.push_back(finding_of(code, config));
    const std::lock_guard lock(mutex_);
    lost_ = code == kNotReady ? "a kernel that does not end" : driver_.text_of(code);
    is_lost_ = true;
    return report;
  }
  float milliseconds = 0;
  GPUEMU_TRY(check(driver_.cuEventElapsedTime(&milliseconds, begin_, end_), "reading the clock"));
  report.elapsed_ns = static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6);
  return report;
}

}  // namespace gpuemu::cuda
