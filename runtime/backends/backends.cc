// The table of backends, one row each, and the functions that open and list devices.
#include "runtime/backends/backends.h"

#include <algorithm>

#include "common/base/machine_memory.h"
#include "runtime/backends/emulated_backends.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/emulator/emulator.h"
#include "runtime/null/null_device.h"

namespace gpuemu {
namespace {

Result<std::unique_ptr<Device>> open_cuda(const DeviceRequest& request) {
  if (request.index < 0) {
    return error(ErrorCode::InvalidArgument, "device index {}: count from 0", request.index);
  }
  return make_cuda_device(
      {static_cast<uint32_t>(request.index), request.memory_limit_bytes, request.contraction});
}

uint64_t host_memory_bytes() {
  const uint64_t known = machine_memory_bytes();
  return known == 0 ? kNoMemoryLimit : known;
}

Result<std::unique_ptr<Device>> open_emulator(const DeviceRequest& request) {
  const std::vector<EmulatedDevice> devices =
      GPUEMU_TRY(emulated_devices(request.emulated_devices));
  if (request.index < 0 || static_cast<size_t>(request.index) >= devices.size()) {
    return error(ErrorCode::Unavailable,
                 "no emulated device {}: there are {}; GPUEMU_EMULATED_DEVICES lists them",
                 request.index, devices.size());
  }
  const EmulatedDevice& device = devices[static_cast<size_t>(request.index)];
  if (request.sm != 0) GPUEMU_TRY(check_emulated_architecture(request.sm));
  if (request.threads > kEmulatorThreadsMax) {
    return error(ErrorCode::InvalidArgument, "{} threads for the emulator, expected at most {}",
                 request.threads, kEmulatorThreadsMax);
  }
  EmulatorOptions options;
  options.index = request.index;
  options.sm = request.sm != 0 ? request.sm : device.sm;
  options.threads = request.threads;
  const bool limited = request.memory_limit_bytes != kNoMemoryLimit;
  options.memory_limit_bytes = limited ? request.memory_limit_bytes : host_memory_bytes();
  if (device.memory_bytes != 0) {
    options.memory_limit_bytes = std::min(options.memory_limit_bytes, device.memory_bytes);
  }
  options.contraction = request.contraction;
  options.contraction_seed = request.contraction_seed;
  options.schedule_seed = request.schedule_seed;
  options.registers = request.registers;
  options.debugger = request.debugger;
  options.sticky_faults = GPUEMU_TRY(sticky_faults());
  return make_emulator(options);
}

Result<std::unique_ptr<Device>> open_null(const DeviceRequest&) { return make_null_device(); }

Result<std::unique_ptr<Device>> open_auto(const DeviceRequest& request) {
  auto device = open_cuda(request);
  return device ? std::move(device) : open_emulator(request);
}

struct Backend {
  std::string_view name;
  Result<std::unique_ptr<Device>> (*open)(const DeviceRequest&);
};
/// Adding a backend takes a folder under runtime/ and a row here.
constexpr Backend kBackends[] = {
    {"auto", open_auto}, {"cuda", open_cuda}, {"emulator", open_emulator}, {"null", open_null}};

}  // namespace

Result<std::unique_ptr<Device>> open_device(const DeviceRequest& request) {
  const auto found = std::ranges::find(kBackends, request.backend, &Backend::name);
  if (found != std::end(kBackends)) return found->open(request);
  std::string names;
  for (const Backend& backend : kBackends) {
    names += (names.empty() ? "" : ", ") + std::string(backend.name);
  }
  return error(ErrorCode::InvalidArgument, "no backend '{}'; choose one of: {}", request.backend,
               names);
}

Result<std::vector<DeviceProperties>> list_devices(const std::string& emulated,
                                                   uint64_t memory_limit_bytes) {
  std::vector<DeviceProperties> out = cuda_devices();
  const std::vector<EmulatedDevice> devices = GPUEMU_TRY(emulated_devices(emulated));
  for (size_t i = 0; i < devices.size(); ++i) {
    EmulatorOptions options;
    options.index = static_cast<int>(i);
    options.sm = devices[i].sm;
    options.memory_limit_bytes =
        memory_limit_bytes == kNoMemoryLimit ? host_memory_bytes() : memory_limit_bytes;
    if (devices[i].memory_bytes != 0) options.memory_limit_bytes = devices[i].memory_bytes;
    out.push_back(make_emulator(options)->properties());
  }
  return out;
}

}  // namespace gpuemu
