#include "common/base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace gpuemu {
namespace {

using Units = std::array<std::pair<std::string_view, uint64_t>, 5>;

constexpr Units kTimeUnits = {
    {{"", 1}, {"s", 1}, {"m", kMinuteSeconds}, {"h", kHourSeconds}, {"d", kDaySeconds}}};
constexpr Units kSizeUnits = {
    {{"", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", uint64_t{1} << 40}}};

std::optional<uint64_t> parse(std::string_view text, const Units& units, uint64_t max) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + digits, number);
  if (failed != std::errc() || end != text.data() + digits) return std::nullopt;
  for (const auto& [name, factor] : units) {
    if (name != text.substr(digits)) continue;
    if (number > max / factor) return std::nullopt;
    return number * factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> parse_size(std::string_view text) {
  return parse(text, kSizeUnits, kSizeMax);
}

std::optional<uint64_t> parse_age(std::string_view text) {
  return parse(text, kTimeUnits, kAgeMax);
}

}  // namespace gpuemu
