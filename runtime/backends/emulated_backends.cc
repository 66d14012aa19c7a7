#include "runtime/backends/emulated_backends.h"

#include <cstdlib>
#include <string_view>

namespace gpuemu {

Result<std::vector<EmulatedDevice>> emulated_devices(const std::string& listed) {
  if (!listed.empty()) return parse_emulated_devices(listed);
  constexpr const char* kVariable = "GPUEMU_EMULATED_DEVICES";
  const char* text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0') return std::vector<EmulatedDevice>{EmulatedDevice{}};
  auto devices = parse_emulated_devices(text);
  if (!devices) return devices.error().with_context(kVariable);
  return devices;
}

Result<bool> sticky_faults() {
  const char* text = std::getenv("GPUEMU_EMULATOR_FAULTS");
  const std::string_view wanted = text == nullptr ? "" : text;
  if (wanted.empty() || wanted == "continue") return false;
  if (wanted == "sticky") return true;
  return error(ErrorCode::InvalidArgument,
               "GPUEMU_EMULATOR_FAULTS is '{}', expected 'continue' or 'sticky'", wanted);
}

}  // namespace gpuemu
