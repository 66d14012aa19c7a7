// The project's random numbers: xorshift128+ streams named by (base seed, iteration, label). Every
// draw takes a known number of outputs, so any output can be reached without computing the earlier
// ones.
#pragma once

#include <cstdint>
#include <string_view>

namespace gpuemu {

__extension__ using uint128_for_products = unsigned __int128;

struct RngState {
  uint64_t s0 = 0, s1 = 1;
  bool operator==(const RngState&) const = default;
};

/// Returns the initial state of the stream with this name.
RngState derive_state(uint64_t base_seed, uint64_t iteration, std::string_view label);

/// Returns the state after `outputs` more outputs, with at most 64 products with a bit matrix.
RngState jump(RngState state, uint64_t outputs);

/// Returns the output of `state`, and advances it by one.
inline uint64_t next_output(RngState& state) {
  uint64_t x = state.s0;
  const uint64_t y = state.s1;
  const uint64_t output = x + y;
  x ^= x << 23;
  state.s0 = y;
  state.s1 = x ^ y ^ (x >> 18) ^ (y >> 5);
  return output;
}

/// Returns a number below `n` from one output: the high 64 bits of the 128-bit product.
inline uint64_t scale_below(uint64_t output, uint64_t n) {
  return static_cast<uint64_t>((static_cast<uint128_for_products>(output) * n) >> 64);
}

/// A stream of draws; each takes one output.
class Stream {
 public:
  explicit Stream(RngState state) : state_(state) {}
  Stream(uint64_t base_seed, uint64_t iteration, std::string_view label)
      : state_(derive_state(base_seed, iteration, label)) {}

  uint64_t u64() { return next_output(state_); }
  /// Requires n >= 1.
  uint64_t below(uint64_t n) { return scale_below(u64(), n); }
  /// Returns a number in [lo, hi]. Requires lo <= hi.
  int64_t integer(int64_t lo, int64_t hi);
  double unit64() { return static_cast<double>(u64() >> 11) * 0x1p-53; }
  double unit32() { return static_cast<double>(u64() >> 40) * 0x1p-24; }
  bool negative() { return (u64() >> 63) != 0; }
  bool bernoulli(double probability) { return unit64() < probability; }
  const RngState& state() const { return state_; }

 private:
  RngState state_;
};

}  // namespace gpuemu
