#include "judge/cases/covering.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace gpuemu {
namespace {

bool is_prime(uint64_t number) {
  for (uint64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number >= 2;
}

}  // namespace

CoveringArray::CoveringArray(std::vector<size_t> choices) : choices_(std::move(choices)) {
  prime_ = std::max<uint64_t>(2, choices_.size());
  for (const size_t count : choices_) {
    GPUEMU_CHECK(count > 0);
    prime_ = std::max<uint64_t>(prime_, count);
  }
  while (!is_prime(prime_)) ++prime_;
}

size_t CoveringArray::choice(uint64_t row, size_t factor) const {
  GPUEMU_CHECK(row < rows() && factor < choices_.size());
  // For factors f != g, the map (shift, step) -> (step + f shift, step + g shift) hits each pair
  // once.
  const uint64_t shift = row / prime_, step = row % prime_;
  return static_cast<size_t>((step + factor * shift) % prime_) % choices_[factor];
}

}  // namespace gpuemu
