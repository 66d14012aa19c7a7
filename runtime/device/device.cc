// Default implementations of the optional methods of Device.
#include "runtime/device/device.h"

#include <atomic>

#include "common/numeric/dtype.h"
#include "runtime/device/memory_kinds.h"
#include "runtime/device/stream.h"

namespace gpuemu {
namespace {

uint64_t next_serial() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace

Device::Device() : serial_(next_serial()) {}

Result<MemoryInfo> Device::memory() {
  return MemoryInfo{properties().memory_bytes, properties().memory_free_bytes};
}

Result<ModuleVariable> Device::variable(ModuleId /*module*/, const std::string& name) {
  return error(ErrorCode::Unsupported, "this device has no variables, '{}' is asked for", name);
}

Result<std::vector<std::string>> Device::managed_variables(ModuleId /*module*/) {
  return error(ErrorCode::Unsupported, "this device has no managed variables");
}

Status Device::forget(uint64_t, uint64_t) { return ok_status(); }

namespace {
Error no_parts() {
  return error(ErrorCode::Unsupported, "this device does not check what kernels access");
}
}  // namespace

Status Device::divide(uint64_t, uint64_t, const std::string&) { return no_parts(); }
Status Device::undivide(uint64_t) { return no_parts(); }

std::vector<UndefinedBytes> Device::undefined_in(uint64_t, uint64_t) { return {}; }

Result<Streams*> Device::streams() {
  return error(ErrorCode::Unsupported,
               "backend '{}' has no streams; choose backend \"emulator\" or \"cuda\"",
               properties().backend);
}

std::vector<std::string> dtypes_of(int sm) {
  std::vector<std::string> out;
  for (size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype != DType::BFloat16 || sm >= 80) out.emplace_back(name_of(dtype));
  }
  if (sm >= 89) {
    out.emplace_back("float8_e4m3");
    out.emplace_back("float8_e5m2");
  }
  return out;
}

BlankMemory* blank_memory_of(Device& device) { return dynamic_cast<BlankMemory*>(&device); }
SparseMemory* sparse_memory_of(Device& device) { return dynamic_cast<SparseMemory*>(&device); }

}  // namespace gpuemu
