#include "runtime/emulator/memory/lane_clock.h"

#include <algorithm>
#include <bit>

namespace gpuemu::emulator {

LaneClock::Some& LaneClock::some() {
  if (some_ == nullptr) some_ = std::make_unique<Some>();
  return *some_;
}

void LaneClock::order_all(uint32_t lanes) {
  Some& all = some();
  const auto event = static_cast<int16_t>(++counts_.now);
  Events joined{};
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const Events& one = all.known[static_cast<size_t>(std::countr_zero(left))];
    for (size_t i = 0; i < joined.size(); ++i) joined[i] = std::max(joined[i], one[i]);
  }
  for (size_t i = 0; i < joined.size(); ++i) {
    if ((lanes >> i & 1) != 0) joined[i] = event;
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    all.known[static_cast<size_t>(std::countr_zero(left))] = joined;
  }
}

void LaneClock::order_reads(uint32_t lanes) {
  Some& all = some();
  const auto event = static_cast<int16_t>(++counts_.now);
  for (size_t i = 0; i < all.met.size(); ++i) {
    if ((lanes >> i & 1) != 0) all.met[i] = event;
  }
}

uint32_t LaneClock::unknown(uint32_t lane, uint32_t others, uint32_t event) const {
  const Events& known = some_->known[lane];
  uint32_t out = 0;
  for (uint32_t left = others; left != 0; left &= left - 1) {
    if (known[static_cast<size_t>(std::countr_zero(left))] <= static_cast<int32_t>(event)) {
      out |= left & (0 - left);
    }
  }
  return out;
}

}  // namespace gpuemu::emulator
