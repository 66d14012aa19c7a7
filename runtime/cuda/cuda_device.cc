// Memory, modules and launches on one GPU, and the watch over a launch.
#include <algorithm>
#include <chrono>
#include <thread>

#include "common/base/limits.h"
#include "runtime/cuda/device_impl.h"
#include "runtime/cuda/entry_info.h"
#include "runtime/cuda/pin_rounding.h"
#include "runtime/device/launch_check.h"
#include "runtime/ptx/parse.h"

namespace gpuemu::cuda {
namespace {

constexpr size_t kJitLogBytes = 16384;
/// Kernels under a millisecond are waited for without sleeping.
constexpr std::chrono::milliseconds kSpinTime{1};
constexpr std::chrono::microseconds kSleepTime{50};
/// Dynamic shared memory above this must be asked for.
constexpr uint32_t kSharedWithoutOptin = 49152;

struct Fault {
  int code;
  const char* kind;
};
/// After these the context is of no more use.
constexpr Fault kFaults[] = {
    {kIllegalAddress, "illegal_address"},
    {kLaunchTimeout, "timeout"},
    {kAssert, "trap"},
    {kHardwareStackError, "stack_overflow"},
    {kIllegalInstruction, "trap"},
    {kMisalignedAddress, "misaligned"},
    {kInvalidAddressSpace, "illegal_address"},
    {kInvalidPc, "trap"},
    {kLaunchFailed, "trap"},
};

const Fault* fault_of(int code) {
  const auto found = std::ranges::find(kFaults, code, &Fault::code);
  return found == std::end(kFaults) ? nullptr : &*found;
}

}  // namespace

CudaDevice::CudaDevice(const Driver& driver, int device, Context context,
                       const CudaOptions& options)
    : driver_(driver), device_(device), context_(context), options_(options) {}

CudaDevice::~CudaDevice() {
  // A lost context may hold a kernel that never ends; every call that frees would wait for it. The
  // process ends and takes everything with it.
  if (!lost_.empty()) return;
  driver_.cuCtxSetCurrent(context_);
  for (const auto& [address, allocation] : allocations_) driver_.cuMemFree_v2(address);
  for (const auto& [id, module] : modules_) driver_.cuModuleUnload(module.handle);
  if (begin_ != nullptr) driver_.cuEventDestroy_v2(begin_);
  if (end_ != nullptr) driver_.cuEventDestroy_v2(end_);
  if (stream_ != nullptr) driver_.cuStreamDestroy_v2(stream_);
  driver_.cuDevicePrimaryCtxRelease_v2(device_);
}

Status CudaDevice::prepare(DeviceProperties properties) {
  properties_ = std::move(properties);
  GPUEMU_TRY(ready());
  GPUEMU_TRY(check(driver_.cuStreamCreate(&stream_, 0), "making a stream"));
  GPUEMU_TRY(check(driver_.cuEventCreate(&begin_, 0), "making an event"));
  GPUEMU_TRY(check(driver_.cuEventCreate(&end_, 0), "making an event"));
  size_t free_bytes = 0, total = 0;
  GPUEMU_TRY(check(driver_.cuMemGetInfo_v2(&free_bytes, &total), "asking for memory"));
  properties_.memory_free_bytes = free_bytes;
  return {};
}

Status CudaDevice::ready() {
  if (!lost_.empty()) {
    return error(ErrorCode::Unavailable,
                 "the CUDA device is lost after {}; start a new worker process", lost_);
  }
  return check(driver_.cuCtxSetCurrent(context_), "making the context current");
}

Status CudaDevice::check(int code, const char* what) {
  if (code == kSuccess) return {};
  const std::string text = driver_.text_of(code);
  if (code == kOutOfMemory) return error(ErrorCode::ResourceExhausted, "{}: {}", what, text);
  if (fault_of(code) == nullptr) return error(ErrorCode::Internal, "{}: {}", what, text);
  lost_ = text;
  return error(ErrorCode::Unavailable, "{}: {}; the device is lost, start a new worker process",
               what, text);
}

Result<uint64_t> CudaDevice::allocate(uint64_t bytes, const std::string& name) {
  GPUEMU_TRY(ready());
  // The driver refuses zero bytes; a unique address is promised.
  const uint64_t real = std::max<uint64_t>(bytes, 1);
  if (real > options_.memory_limit_bytes || allocated_bytes_ > options_.memory_limit_bytes - real) {
    return error(ErrorCode::ResourceExhausted, "'{}' of {} bytes: {} of the limit of {} are taken",
                 name, bytes, allocated_bytes_, options_.memory_limit_bytes);
  }
  uint64_t address = 0;
  const int code = driver_.cuMemAlloc_v2(&address, real);
  if (code == kOutOfMemory) {
    return error(ErrorCode::ResourceExhausted, "'{}' of {} bytes: the memory of {} is out", name,
                 bytes, properties_.name);
  }
  GPUEMU_TRY(check(code, "allocating"));
  allocations_[address] = {bytes, name};
  allocated_bytes_ += real;
  return address;
}

Status CudaDevice::free(uint64_t address) {
  GPUEMU_TRY(ready());
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) {
    return error(ErrorCode::InvalidArgument, "address {:#x} is not allocated, or already free",
                 address);
  }
  GPUEMU_TRY(check(driver_.cuMemFree_v2(address), "freeing"));
  allocated_bytes_ -= std::max<uint64_t>(found->second.bytes, 1);
  allocations_.erase(found);
  return {};
}

Status CudaDevice::check_range(uint64_t address, uint64_t bytes) const {
  const auto after = allocations_.upper_bound(address);
  if (after != allocations_.begin()) {
    const auto& [base, allocation] = *std::prev(after);
    const uint64_t offset = address - base;
    if (offset <= allocation.bytes && bytes <= allocation.bytes - offset) return {};
  }
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
  return check(driver_.cuMemsetD8_v2(address, std::to_integer<unsigned char>(value), bytes),
               "filling");
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
  }
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
  const Loaded* loaded = GPUEMU_TRY(find_module(module));
  GPUEMU_TRY(check(driver_.cuModuleUnload(loaded->handle), "unloading a module"));
  modules_.erase(module);
  return {};
}

Result<std::vector<EntryInfo>> CudaDevice::entries(ModuleId module) {
  const Loaded* loaded = GPUEMU_TRY(find_module(module));
  return loaded->entries;
}

Result<int> CudaDevice::launch_on_stream(Function function, const EntryInfo& entry,
                                         const LaunchConfig& config, void** arguments) const {
  const Dim3 cluster = GPUEMU_TRY(cluster_of(entry, config));
  LaunchAttribute attributes[2];
  unsigned count = 0;
  if (entry.cooperative) attributes[count++] = {kAttributeCooperative, 0, {1}};
  // A cluster that the kernel declares must not be given again.
  if (entry.cluster[0] == 0 && cluster != Dim3{1, 1, 1})
    attributes[count++] = {kAttributeCluster, 0, {cluster.x, cluster.y, cluster.z}};
  if (count == 0)
    return driver_.cuLaunchKernel(function, config.grid.x, config.grid.y, config.grid.z,
                                  config.block.x, config.block.y, config.block.z,
                                  config.dynamic_shared_bytes, stream_, arguments, nullptr);
  if (driver_.cuLaunchKernelEx == nullptr)
    return error(ErrorCode::Unavailable,
                 "entry '{}' needs a cluster or a cooperative launch, which this driver does not "
                 "have; update it to one for CUDA 11.8 or later",
                 config.entry);
  const LaunchParameters parameters{{config.grid.x, config.grid.y, config.grid.z},
                                    {config.block.x, config.block.y, config.block.z},
                                    config.dynamic_shared_bytes,
                                    stream_,
                                    attributes,
                                    count};
  return driver_.cuLaunchKernelEx(&parameters, function, arguments, nullptr);
}

Status CudaDevice::refusal(int code, const LaunchConfig& config) {
  const uint32_t threads = config.block.x * config.block.y * config.block.z;
  const uint64_t blocks = uint64_t{config.grid.x} * config.grid.y * config.grid.z;
  if (code == kLaunchOutOfResources)
    return error(ErrorCode::InvalidArgument,
                 "entry '{}' with a block of {} threads needs more registers than a multiprocessor "
                 "has; use a smaller block or __launch_bounds__",
                 config.entry, threads);
  if (code == kCooperativeTooLarge)
    return error(ErrorCode::InvalidArgument,
                 "entry '{}' waits for all blocks of its grid, and the device cannot run {} blocks "
                 "of {} threads at once; use a smaller grid",
                 config.entry, blocks, threads);
  if (code == kInvalidClusterSize)
    return error(ErrorCode::InvalidArgument,
                 "the device cannot run a cluster of entry '{}' with {} threads and {} bytes of "
                 "dynamic shared memory per block; use a smaller cluster",
                 config.entry, threads, config.dynamic_shared_bytes);
  return {};
}

Status CudaDevice::start(Function function, const EntryInfo& entry, const LaunchConfig& config) {
  if (config.dynamic_shared_bytes > kSharedWithoutOptin) {
    const int bytes = static_cast<int>(config.dynamic_shared_bytes);
    GPUEMU_TRY(check(driver_.cuFuncSetAttribute(function, kFunctionMaxDynamicShared, bytes),
                     "asking for shared memory"));
  }
  std::vector<std::vector<std::byte>> args = config.args;  // The driver wants them writable.
  std::vector<void*> pointers;
  for (auto& arg : args) pointers.push_back(arg.data());
  GPUEMU_TRY(check(driver_.cuEventRecord(begin_, stream_), "recording an event"));
  const int code = GPUEMU_TRY(launch_on_stream(function, entry, config, pointers.data()));
  GPUEMU_TRY(refusal(code, config));
  GPUEMU_TRY(check(code, "launching"));
  return check(driver_.cuEventRecord(end_, stream_), "recording an event");
}

int CudaDevice::wait(uint64_t timeout_ms) const {
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    const int code = driver_.cuStreamQuery(stream_);
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
    out.kind = "timeout";
    out.message =
        fmt::format("entry '{}' did not end within {} ms", config.entry, config.timeout_ms);
    return out;
  }
  const Fault* fault = fault_of(code);
  out.kind = fault == nullptr ? "trap" : fault->kind;
  out.message =
      fmt::format("entry '{}' ended with {}; the emulator names the thread and the source line",
                  config.entry, driver_.text_of(code));
  return out;
}

Result<LaunchReport> CudaDevice::launch(ModuleId module, const LaunchConfig& config) {
  GPUEMU_TRY(ready());
  const Loaded* loaded = GPUEMU_TRY(find_module(module));
  const EntryInfo entry = GPUEMU_TRY(find_entry(loaded->entries, config.entry));
  GPUEMU_TRY(check_launch(entry, config, properties_));
  Function function = nullptr;
  GPUEMU_TRY(check(driver_.cuModuleGetFunction(&function, loaded->handle, config.entry.c_str()),
                   "finding an entry"));
  GPUEMU_TRY(start(function, entry, config));
  const int code = wait(config.timeout_ms);
  LaunchReport report;
  if (code != kSuccess) {
    report.findings.push_back(finding_of(code, config));
    lost_ = code == kNotReady ? "a kernel that does not end" : driver_.text_of(code);
    return report;
  }
  float milliseconds = 0;
  GPUEMU_TRY(check(driver_.cuEventElapsedTime(&milliseconds, begin_, end_), "reading the clock"));
  report.elapsed_ns = static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6);
  return report;
}

}  // namespace gpuemu::cuda
