// Jumps ahead by powers of the step, as bit matrices.
#include "common/rng/rng.h"

#include <array>
#include <memory>

#include "common/base/check.h"

namespace gpuemu {
namespace {

/// A linear map of the state: the contribution of each of the 128 state bits.
using BitMatrix = std::array<RngState, 128>;

RngState transform(const BitMatrix& map, const RngState& state) {
  RngState result{0, 0};
  for (size_t bit = 0; bit < 64; ++bit) {
    const uint64_t low = 0 - ((state.s0 >> bit) & 1);
    const uint64_t high = 0 - ((state.s1 >> bit) & 1);
    result.s0 ^= (map[bit].s0 & low) ^ (map[64 + bit].s0 & high);
    result.s1 ^= (map[bit].s1 & low) ^ (map[64 + bit].s1 & high);
  }
  return result;
}

/// Entry k maps a state to the one 2^k steps later.
using StepPowers = std::array<BitMatrix, 64>;

std::unique_ptr<const StepPowers> make_powers() {
  auto powers = std::make_unique<StepPowers>();
  for (size_t bit = 0; bit < 128; ++bit) {
    RngState unit{0, 0};
    (bit < 64 ? unit.s0 : unit.s1) = uint64_t{1} << (bit % 64);
    next_output(unit);
    (*powers)[0][bit] = unit;
  }
  for (size_t k = 1; k < powers->size(); ++k) {
    const BitMatrix& half = (*powers)[k - 1];
    for (size_t bit = 0; bit < 128; ++bit) (*powers)[k][bit] = transform(half, half[bit]);
  }
  return powers;
}

}  // namespace

RngState jump(RngState state, uint64_t outputs) {
  static const std::unique_ptr<const StepPowers> kPowers = make_powers();
  for (size_t k = 0; outputs != 0; ++k, outputs >>= 1) {
    if ((outputs & 1) != 0) state = transform((*kPowers)[k], state);
  }
  return state;
}

int64_t Stream::integer(int64_t lo, int64_t hi) {
  GPUEMU_CHECK(lo <= hi);
  const uint64_t count = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) + 1;
  const uint64_t offset = count == 0 ? u64() : below(count);
  return static_cast<int64_t>(static_cast<uint64_t>(lo) + offset);
}

}  // namespace gpuemu
