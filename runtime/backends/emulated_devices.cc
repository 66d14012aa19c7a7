#include "runtime/backends/emulated_devices.h"

#include <cstdlib>

namespace gpuemu {

Result<std::vector<EmulatedDevice>> emulated_devices() {
  constexpr const char* kVariable = "GPUEMU_EMULATED_DEVICES";
  const char* text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0') return std::vector<EmulatedDevice>{EmulatedDevice{}};
  auto devices = parse_emulated_devices(text);
  if (!devices) return devices.error().with_context(kVariable);
  return devices;
}

}  // namespace gpuemu
