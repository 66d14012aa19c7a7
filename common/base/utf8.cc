#include "common/base/utf8.h"

#include <cstdint>

namespace gpuemu {

size_t utf8_length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto follows = [&](size_t i) { return i < text.size() && (at(i) & 0xc0) == 0x80; };
  const uint8_t lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!follows(1) || !follows(2)) return 0;
    const bool overlong = lead == 0xe0 && at(1) < 0xa0;
    const bool surrogate = lead == 0xed && at(1) >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    const bool outside = (lead == 0xf0 && at(1) < 0x90) || (lead == 0xf4 && at(1) >= 0x90);
    return outside ? 0 : 4;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace gpuemu
