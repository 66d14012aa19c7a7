// Checks reads reported by libraries that work on device memory in place, such as gpuemu.torch.
#include "bindings/libcuda/calls/host_reads.h"

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "bindings/libcuda/interface/abi.h"
#include "bindings/libcuda/process.h"
#include "runtime/emulator/memory/fence.h"

namespace gpuemu::libcuda {
namespace {

/// Returns a copy of the name that lives as long as the process.
const char* kept(const char* name) {
  static std::mutex mutex;
  static std::set<std::string> names;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

struct Elements {
  int dims = 0;
  const int64_t* sizes = nullptr;
  const int64_t* strides = nullptr;  ///< In bytes.
  uint64_t bytes = 0;                ///< Size of an element.
};

/// Finds the undefined bytes of the elements, one dimension after the other. Checks the innermost
/// dimension at once if its elements are adjacent.
void find(Device& device, const Elements& of, int dim, uint64_t address,
          std::vector<UndefinedBytes>& found) {
  const bool innermost = dim + 1 >= of.dims;
  const bool dense = innermost && (of.dims == 0 || of.strides[dim] == int64_t(of.bytes));
  if (dense) {
    const uint64_t count = of.dims == 0 ? 1 : static_cast<uint64_t>(of.sizes[dim]);
    const auto more = device.undefined_in(address, count * of.bytes);
    found.insert(found.end(), more.begin(), more.end());
    return;
  }
  for (int64_t i = 0; i < of.sizes[dim]; ++i) {
    const uint64_t at = address + static_cast<uint64_t>(i * of.strides[dim]);
    if (!innermost) {
      find(device, of, dim + 1, at, found);
      continue;
    }
    const auto more = device.undefined_in(at, of.bytes);
    found.insert(found.end(), more.begin(), more.end());
  }
}

}  // namespace
}  // namespace gpuemu::libcuda

GPUEMU_DRIVER_API void gpuemu_host_uses_device_memory() {
  gpuemu::emulator::Fence::instance().remove();
}

GPUEMU_DRIVER_API int gpuemu_keeps_undefined() {
  gpuemu::libcuda::Process* const driver = gpuemu::libcuda::process();
  return driver != nullptr && driver->recorder.undefined().any() ? 1 : 0;
}

GPUEMU_DRIVER_API void gpuemu_reads(const char* what, uint64_t address, int dims,
                                    const int64_t* sizes, const int64_t* strides, uint64_t bytes) {
  using gpuemu::libcuda::call_site;
  using gpuemu::libcuda::find;
  using gpuemu::libcuda::kept;
  using gpuemu::libcuda::process;
  gpuemu::libcuda::Process* const driver = process();
  if (driver == nullptr) return;
  const auto in = driver->allocations.holding(address);
  if (in == nullptr) return;
  std::vector<gpuemu::UndefinedBytes> found;
  find(*driver->devices[static_cast<size_t>(in->device)]->device, {dims, sizes, strides, bytes}, 0,
       address, found);
  if (found.empty()) return;
  driver->recorder.undefined().host_gets(in->device, found, *call_site(kept(what)),
                                         driver->recorder);
}
