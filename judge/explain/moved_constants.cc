#include "judge/explain/moved_constants.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "common/rng/rng.h"

namespace gpuemu {
namespace {

/// Hex digits of a float32 in PTX, after "0f", as in 0f3F666666.
constexpr size_t kDigits = 8;

float moved(float value, uint64_t draw) {
  constexpr float kUnit = 0x1p-24F;
  const uint32_t bits = std::bit_cast<uint32_t>(value) & ~(uint32_t{1} << 31);
  const bool is_down = Stream(bits, draw, "constants/moved").negative();
  const bool is_rest_of_one = std::fabs(value) < 0.5F && std::fmod(value, kUnit) == 0;
  if (is_rest_of_one) return value + (is_down == (value > 0) ? -kUnit : kUnit);
  return std::nextafter(value, is_down ? 0.0F : std::copysign(INFINITY, value));
}

bool is_in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

bool was_rounded(float value) {
  constexpr uint32_t kBeyondTenBits = (1U << 14) - 1;
  return std::isfinite(value) && value != std::trunc(value) &&
         (std::bit_cast<uint32_t>(value) & kBeyondTenBits) != 0;
}

std::string with_moved_constants(const std::string& ptx, uint64_t draw) {
  std::string made = ptx;
  for (size_t at = made.find("0f"); at != std::string::npos; at = made.find("0f", at + 2)) {
    const size_t first = at + 2, last = first + kDigits;
    if (last > made.size() || (at > 0 && is_in_word(made[at - 1]))) continue;
    uint32_t bits = 0;
    const auto read = std::from_chars(made.data() + first, made.data() + last, bits, 16);
    const auto value = std::bit_cast<float>(bits);
    if (read.ptr != made.data() + last || !was_rounded(value)) continue;
    made.replace(first, kDigits,
                 fmt::format("{:08X}", std::bit_cast<uint32_t>(moved(value, draw))));
  }
  return made;
}

}  // namespace gpuemu
