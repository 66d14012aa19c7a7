// Discovers GPUs and opens one.
#include <algorithm>

#include <dlfcn.h>

#include "runtime/cuda/device_impl.h"

namespace gpuemu {
namespace {

using cuda::Driver;
using cuda::kSuccess;

/// More GPUs than one host has; protects against a wrong count from a driver.
constexpr int kDevicesMax = 16;

struct Found {
  Driver driver;
  int count = 0;
};

Result<Found> find_devices() {
  Found found{GPUEMU_TRY(cuda::load_driver()), 0};
  int code = found.driver.cuInit(0);
  if (code == kSuccess) code = found.driver.cuDeviceGetCount(&found.count);
  if (code != kSuccess) {
    return error(ErrorCode::Unavailable,
                 "the CUDA driver does not start: {}; choose backend \"emulator\"",
                 found.driver.text_of(code));
  }
  found.count = std::clamp(found.count, 0, kDevicesMax);
  return found;
}

int attribute(const Driver& driver, int what, int device, int otherwise) {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, what, device) == kSuccess ? value : otherwise;
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// Returns the version of the newest CUDA runtime that the loader finds. Other programs need it.
std::string runtime_version() {
  for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
    void* library = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) continue;
    const auto ask = reinterpret_cast<int (*)(int*)>(::dlsym(library, "cudaRuntimeGetVersion"));
    int version = 0;
    const bool known = ask != nullptr && ask(&version) == 0;
    ::dlclose(library);
    if (known) return version_text(version);
  }
  return "";
}

DeviceProperties describe(const Driver& driver, int device) {
  DeviceProperties out;
  out.backend = "cuda";
  out.index = device;
  char name[256] = {};
  if (driver.cuDeviceGetName(name, static_cast<int>(sizeof(name)) - 1, device) == kSuccess) {
    out.name = name;
  }
  out.sm =
      10 * attribute(driver, cuda::kMajor, device, 0) + attribute(driver, cuda::kMinor, device, 0);
  size_t bytes = 0;
  if (driver.cuDeviceTotalMem_v2(&bytes, device) == kSuccess) out.memory_bytes = bytes;
  out.multiprocessors =
      static_cast<uint32_t>(attribute(driver, cuda::kMultiprocessorCount, device, 0));
  out.shared_bytes_per_block_max =
      static_cast<uint64_t>(attribute(driver, cuda::kSharedOptin, device, 49152));
  const auto number = [&](int what) {
    return static_cast<uint32_t>(attribute(driver, what, device, 0));
  };
  out.shared_bytes_per_multiprocessor = number(cuda::kSharedPerMultiprocessor);
  out.registers_per_block = number(cuda::kRegistersPerBlock);
  out.registers_per_multiprocessor = number(cuda::kRegistersPerMultiprocessor);
  out.threads_per_multiprocessor = number(cuda::kThreadsPerMultiprocessor);
  out.blocks_per_multiprocessor = number(cuda::kBlocksPerMultiprocessor);
  int version = 0;
  if (driver.cuDriverGetVersion(&version) == kSuccess) out.driver_version = version_text(version);
  out.runtime_version = runtime_version();
  out.dtypes = dtypes_of(out.sm);
  return out;
}

}  // namespace

std::vector<DeviceProperties> cuda_devices() {
  std::vector<DeviceProperties> out;
  const auto found = find_devices();
  for (int i = 0; found && i < found->count; ++i) {
    int device = 0;
    if (found->driver.cuDeviceGet(&device, i) == kSuccess) {
      out.push_back(describe(found->driver, device));
    }
  }
  return out;
}

uint32_t cuda_device_count() {
  const auto found = find_devices();
  return found ? static_cast<uint32_t>(found->count) : 0;
}

Result<std::unique_ptr<Device>> make_cuda_device(const CudaOptions& options) {
  const Found found = GPUEMU_TRY(find_devices());
  if (options.index >= static_cast<uint32_t>(found.count)) {
    return error(ErrorCode::Unavailable,
                 "no CUDA device {}: there are {}; choose backend \"emulator\"", options.index,
                 found.count);
  }
  int device = 0;
  cuda::Context context = nullptr;
  int code = found.driver.cuDeviceGet(&device, static_cast<int>(options.index));
  if (code == kSuccess) code = found.driver.cuDevicePrimaryCtxRetain(&context, device);
  if (code != kSuccess) {
    return error(ErrorCode::Unavailable,
                 "CUDA device {} cannot be used: {}; choose backend \"emulator\"", options.index,
                 found.driver.text_of(code));
  }
  auto out = std::make_unique<cuda::CudaDevice>(found.driver, device, context, options);
  GPUEMU_TRY(out->prepare(describe(found.driver, device)));
  return std::unique_ptr<Device>(std::move(out));
}

}  // namespace gpuemu
