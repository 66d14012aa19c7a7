#include "common/base/device_checks.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

namespace gpuemu {
namespace {

constexpr auto kCheckNames = std::to_array<std::string_view>({
#define GPUEMU_DEVICE_CHECK(check, name) name,
#define GPUEMU_INNER_CHECK(check, name) name,
#include "common/base/device_checks.def"
#undef GPUEMU_DEVICE_CHECK
#undef GPUEMU_INNER_CHECK
});

}  // namespace

DeviceChecks DeviceChecks::from_bits(uint32_t bits) {
  DeviceChecks made;
  made.bits_ = bits & ((uint32_t{1} << kCheckNames.size()) - 1);
  return made;
}

std::string_view name_of(DeviceCheck check) { return kCheckNames[static_cast<size_t>(check)]; }

std::vector<std::string> names_of(const DeviceChecks& checks) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kCheckNames.size(); ++i) {
    if (checks.has(static_cast<DeviceCheck>(i))) names.emplace_back(kCheckNames[i]);
  }
  return names;
}

Result<DeviceChecks> device_checks_from_names(const std::vector<std::string>& names) {
  DeviceChecks made;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(kCheckNames, name);
    if (found == kCheckNames.end()) {
      return error(ErrorCode::InvalidArgument, "no check is called '{}'; there are {}", name,
                   fmt::join(kCheckNames, ", "));
    }
    made.add(static_cast<DeviceCheck>(found - kCheckNames.begin()));
  }
  return made;
}

}  // namespace gpuemu
