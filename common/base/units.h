// Parses sizes and durations as users write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuemu {

inline constexpr uint64_t kMinuteSeconds = 60, kHourSeconds = 3600, kDaySeconds = 86'400;
inline constexpr uint64_t kSizeMax = uint64_t{1} << 60;
inline constexpr uint64_t kAgeMax = 36'500 * kDaySeconds;

/// Returns the bytes of "512MiB", "8GiB" or "1024"; nothing for other text or more than kSizeMax.
std::optional<uint64_t> parse_size(std::string_view text);
/// Returns the seconds of "90s", "15m", "36h", "30d" or "90"; nothing for other text or more than
/// kAgeMax.
std::optional<uint64_t> parse_age(std::string_view text);

}  // namespace gpuemu
