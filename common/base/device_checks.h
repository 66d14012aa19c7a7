// The set of checks that a device makes, from device_checks.def.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

enum class DeviceCheck : uint8_t {
#define GPUEMU_DEVICE_CHECK(check, name) check,
#define GPUEMU_INNER_CHECK(check, name) check,
#include "common/base/device_checks.def"
#undef GPUEMU_DEVICE_CHECK
#undef GPUEMU_INNER_CHECK
};

class DeviceChecks {
 public:
  constexpr DeviceChecks() = default;
  constexpr DeviceChecks(std::initializer_list<DeviceCheck> checks) {
    for (const DeviceCheck check : checks) add(check);
  }
  /// Ignores bits that stand for no check.
  static DeviceChecks from_bits(uint32_t bits);

  constexpr void add(DeviceCheck check) { bits_ |= bit(check); }
  constexpr void clear() { bits_ = 0; }
  constexpr bool has(DeviceCheck check) const { return (bits_ & bit(check)) != 0; }
  constexpr uint32_t bits() const { return bits_; }
  bool operator==(const DeviceChecks&) const = default;

 private:
  static constexpr uint32_t bit(DeviceCheck check) {
    return uint32_t{1} << static_cast<uint8_t>(check);
  }
  uint32_t bits_ = 0;
};

/// The checks of a launch that does not select any.
inline constexpr DeviceChecks kUsualChecks{DeviceCheck::Memory, DeviceCheck::Init,
                                           DeviceCheck::Race, DeviceCheck::Sync};

/// Returns for example "race_shared".
std::string_view name_of(DeviceCheck check);
/// Returns the names in the order of device_checks.def.
std::vector<std::string> names_of(const DeviceChecks& checks);
/// InvalidArgument names the first unknown check, and the known ones.
Result<DeviceChecks> device_checks_from_names(const std::vector<std::string>& names);

}  // namespace gpuemu
