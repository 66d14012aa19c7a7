#include "runtime/device/device_traits.h"

#include <algorithm>

namespace gpuemu {
namespace {
constexpr DeviceTraits kBackends[] = {
    {.backend = "cuda", .is_gpu = true},
    {.backend = kEmulatorBackend,
     .orders_threads = true,
     .follows_rounding = true,
     .survives_faults = true,
     .shares_host_memory = true},
};
}  // namespace

std::span<const DeviceTraits> computing_backends() { return kBackends; }

bool is_computing_backend(std::string_view backend) {
  return std::ranges::find(kBackends, backend, &DeviceTraits::backend) != std::end(kBackends);
}

DeviceTraits device_traits(std::string_view backend) {
  const auto* const found = std::ranges::find(kBackends, backend, &DeviceTraits::backend);
  return found == std::end(kBackends) ? DeviceTraits{.backend = backend} : *found;
}

}  // namespace gpuemu
