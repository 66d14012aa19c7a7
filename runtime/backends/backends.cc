// The table of backends.
#include "runtime/backends/backends.h"

#include <algorithm>

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

Result<std::unique_ptr<Device>> open_emulator(const DeviceRequest& request) {
  EmulatorOptions options;
  options.sm = request.sm;
  options.threads = request.threads;
  options.memory_limit_bytes = request.memory_limit_bytes;
  options.contraction = request.contraction;
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
/// A new backend is a folder and a row.
constexpr Backend kBackends[] = {
    {"auto", open_auto}, {"cuda", open_cuda}, {"emulator", open_emulator}, {"null", open_null}};

}  // namespace

Result<std::unique_ptr<Device>> open_device(const DeviceRequest& request) {
  const auto found = std::ranges::find(kBackends, request.backend, &Backend::name);
  if (found != std::end(kBackends)) return found->open(request);
  std::string names;
  for (const Backend& backend : kBackends)
    names += (names.empty() ? "" : ", ") + std::string(backend.name);
  return error(ErrorCode::InvalidArgument, "no backend '{}'; choose one of: {}", request.backend,
               names);
}

std::vector<DeviceProperties> list_devices() {
  std::vector<DeviceProperties> out = cuda_devices();
  out.push_back(make_emulator({})->properties());
  return out;
}

}  // namespace gpuemu
