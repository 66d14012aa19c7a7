#include "common/base/device_list.h"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "common/base/text.h"

namespace gpuemu {
namespace {

/// More than the memory of any GPU.
constexpr uint64_t kEmulatedMemoryBytesMax = uint64_t{1} << 40;
constexpr int kArchitectures[] = {75, 80, 86, 89, 90, 100, 120};
constexpr uint64_t kArchitectureMax = std::ranges::max(kArchitectures);

/// Requires that the whole text is the number.
bool read_number(std::string_view text, uint64_t& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size();
}

bool is_emulated(int sm) {
  return std::ranges::find(kArchitectures, sm) != std::end(kArchitectures);
}

Error no_architecture(std::string_view name) {
  return error(
      ErrorCode::InvalidArgument,
      "no architecture '{}' to emulate, expected sm_75, sm_80, sm_86, sm_89, sm_90, sm_100 "
      "or sm_120",
      name);
}

}  // namespace

Result<int> parse_emulated_architecture(std::string_view name) {
  // A device executes code for its family and for itself only ("sm_90a"), so both names mean sm_90.
  constexpr uint64_t kFirstWithOwnCode = 90, kFirstOfFamily = 100;
  const bool of_family = name.ends_with('f'), of_itself = name.ends_with('a');
  const std::string_view plain = name.substr(0, name.size() - (of_family || of_itself ? 1 : 0));
  uint64_t sm = 0;
  const bool is_known = plain.starts_with("sm_") && read_number(plain.substr(3), sm) &&
                        sm <= kArchitectureMax && is_emulated(static_cast<int>(sm)) &&
                        (!of_itself || sm >= kFirstWithOwnCode) &&
                        (!of_family || sm >= kFirstOfFamily);
  if (!is_known) return no_architecture(name);
  return static_cast<int>(sm);
}

Status check_emulated_architecture(int sm) {
  if (is_emulated(sm)) return ok_status();
  return no_architecture(fmt::format("sm_{}", sm));
}

int nearest_emulated_architecture(int sm) {
  int found = kArchitectures[0];
  for (const int one : kArchitectures) {
    if (one <= sm) found = one;
  }
  return found;
}

Result<EmulatedDevice> parse_emulated_device(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = trimmed(text.substr(0, colon));
  uint64_t mebibytes = 0;
  EmulatedDevice device{GPUEMU_TRY(parse_emulated_architecture(name)), 0};
  if (colon == std::string_view::npos) return device;
  const std::string_view memory = trimmed(text.substr(colon + 1));
  if (!read_number(memory, mebibytes) || mebibytes == 0 ||
      mebibytes > kEmulatedMemoryBytesMax >> 20) {
    return error(ErrorCode::InvalidArgument,
                 "the memory '{}' of {} is not a number of MiB from 1 to {}", memory, name,
                 kEmulatedMemoryBytesMax >> 20);
  }
  device.memory_bytes = mebibytes << 20;
  return device;
}

Result<std::vector<EmulatedDevice>> parse_emulated_devices(std::string_view text) {
  std::vector<EmulatedDevice> out;
  while (true) {
    const size_t comma = text.find(',');
    out.push_back(GPUEMU_TRY(parse_emulated_device(trimmed(text.substr(0, comma)))));
    if (out.size() > kEmulatedDevicesMax) {
      return error(ErrorCode::InvalidArgument, "more than {} devices", kEmulatedDevicesMax);
    }
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace gpuemu
