#include "runtime/emulator/jit/lane_tests.h"

namespace gpuemu::emulator {
namespace {
using Words = std::array<uint32_t, 16>;

constexpr uint8_t kFirstOrDifferent = 0xf6;      ///< Truth table for vpternlogd: a | (b ^ c).
constexpr uint32_t kHalf32 = 64, kHalf64 = 128;  ///< In the frame.

/// Returns the distances of lanes from the first lane of a row, beginning with lane `first`.
Words counted(uint32_t first, uint32_t stride) {
  Words words{};
  for (uint32_t i = 0; i < words.size(); ++i) words[i] = (first + i) * stride;
  return words;
}
/// Returns the distances as 64-bit values, which take two words each.
Words counted64(uint32_t first, uint32_t stride) {
  Words words{};
  for (uint32_t i = 0; i < words.size(); i += 2) words[i] = (first + i / 2) * stride;
  return words;
}

Xbyak::Xmm lowest_of(const Vector& lanes) { return Xbyak::Xmm(lanes.getIdx()); }
}  // namespace

Xbyak::Address LaneTests::part(uint32_t index) const {
  return e_.in_frame(of_.offset + index * kPartBytes);
}

void LaneTests::jump_if_any(const Xbyak::Label& out) const {
  e_.kortestw(e_.k7, e_.k0);
  e_.jnz(out, kNear);
}

void LaneTests::first32(const Xbyak::Reg32& to, uint32_t half) const {
  if (e_.is_avx512()) return e_.vmovd(to, lowest_of(lanes(half)));
  e_.mov(to, e_.in_frame(of_.offset + half * kHalf32));
}

void LaneTests::first64(const Xbyak::Reg64& to, uint32_t half) const {
  if (e_.is_avx512()) return e_.vmovq(to, lowest_of(lanes(2 * half)));
  e_.mov(to, e_.in_frame(of_.offset + half * kHalf64));
}

void LaneTests::rows32(uint32_t stride, const Xbyak::Label& others) const {
  if (e_.is_avx512()) {
    for (uint32_t half = 0; half < 2; ++half) {
      const Vector from_first = e_.scratch(2 + half);
      e_.vpbroadcastd(from_first, lowest_of(lanes(half)));
      e_.vpsubd(from_first, lanes(half), from_first);
      e_.vpcmpd(half == 0 ? e_.k7 : e_.k0, from_first, e_.constant(counted(0, stride)), kNotEqual);
    }
    return jump_if_any(others);
  }
  const Xbyak::Ymm first = e_.ymm0, expected = e_.ymm1, differ = e_.ymm2;
  for (uint32_t i = 0; i < kParts32; ++i) {
    const Xbyak::Ymm& to = i == 0 ? differ : expected;
    if (i % 2 == 0) e_.vpbroadcastd(first, part(i));
    e_.vpaddd(to, first, e_.constant(counted(i % 2 * 8, stride)));
    e_.vpxor(to, to, part(i));
    if (i != 0) e_.vpor(differ, differ, expected);
  }
  e_.vptest(differ, differ);
  e_.jnz(others, kNear);
}

void LaneTests::rows64(uint32_t stride, bool by_halves, const Xbyak::Label& others) const {
  const uint32_t parts = e_.is_avx512() ? of_.vectors.count : kParts64;
  const uint32_t in_row = by_halves ? parts / 2 : parts;
  const auto row = [&](uint32_t i) {
    return e_.constant(counted64(i % in_row * kLanes / parts, stride));
  };
  if (e_.is_avx512()) {
    const Vector first = e_.scratch(0), apart = e_.scratch(1), here = e_.scratch(2);
    for (uint32_t i = 0; i < parts; ++i) {
      const Vector& from_row = i == 0 ? apart : here;
      if (i % in_row == 0) e_.vpbroadcastq(first, lowest_of(lanes(i)));
      e_.vpsubq(from_row, lanes(i), first);
      if (i == 0) {
        e_.vpxorq(apart, apart, row(i));
      } else {
        e_.vpternlogq(apart, here, row(i), kFirstOrDifferent);
      }
    }
    e_.vptestmq(e_.k7, apart, apart);
    e_.kortestw(e_.k7, e_.k7);
    return e_.jnz(others, kNear);
  }
  const Xbyak::Ymm first = e_.ymm0, expected = e_.ymm1, differ = e_.ymm2;
  for (uint32_t i = 0; i < parts; ++i) {
    const Xbyak::Ymm& to = i == 0 ? differ : expected;
    if (i % in_row == 0) e_.vpbroadcastq(first, part(i));
    e_.vpaddq(to, first, row(i));
    e_.vpxor(to, to, part(i));
    if (i != 0) e_.vpor(differ, differ, expected);
  }
  e_.vptest(differ, differ);
  e_.jnz(others, kNear);
}

void LaneTests::inside32(uint32_t low, uint32_t alignment, const Xbyak::Label& out) const {
  if (e_.is_avx512()) {
    const Vector first = e_.scratch(0), second = e_.scratch(1), all = e_.scratch(2);
    e_.vpaddd(first, lanes(0), e_.splat(low));
    e_.vpaddd(second, lanes(1), e_.splat(low));
    e_.vpbroadcastd(all, e_.eax);
    e_.vpcmpud(e_.k7, first, all, kGreater);
    e_.vpcmpud(e_.k0, second, all, kGreater);
    jump_if_any(out);
    e_.vpord(all, first, second);
    e_.vptestmd(e_.k7, all, e_.splat(alignment - 1));
    e_.kxorw(e_.k0, e_.k0, e_.k0);
    return jump_if_any(out);
  }
  const Xbyak::Ymm limit = e_.ymm0, here = e_.ymm1, beyond = e_.ymm2, odd = e_.ymm3, more = e_.ymm4;
  e_.vmovd(e_.xmm0, e_.eax);
  e_.vpbroadcastd(limit, e_.xmm0);
  e_.vpxor(beyond, beyond, beyond);
  e_.vpxor(odd, odd, odd);
  for (uint32_t i = 0; i < kParts32; ++i) {
    e_.vmovdqa(here, part(i));
    e_.vpaddd(here, here, e_.splat(low));
    e_.vpor(odd, odd, here);
    e_.vpmaxud(more, here, limit);
    e_.vpxor(more, more, limit);
    e_.vpor(beyond, beyond, more);
  }
  e_.vpand(odd, odd, e_.splat(alignment - 1));
  e_.vpor(beyond, beyond, odd);
  e_.vptest(beyond, beyond);
  e_.jnz(out, kNear);
}

void LaneTests::inside64(const Xbyak::Label& out) const {
  if (e_.is_avx512()) {
    const Vector add = e_.scratch(0), here = e_.scratch(2), limit = e_.scratch(3);
    e_.vpbroadcastq(limit, e_.rdx);
    e_.vpbroadcastq(add, e_.rcx);
    e_.kxorw(e_.k0, e_.k0, e_.k0);
    for (uint32_t i = 0; i < of_.vectors.count; ++i) {
      e_.vpaddq(here, lanes(i), add);
      e_.vpcmpuq(e_.k7, here, limit, kGreater);
      e_.korw(e_.k0, e_.k0, e_.k7);
    }
    return jump_if_any(out);
  }
  // Compares as signed numbers, from the lowest one on.
  const Xbyak::Ymm add = e_.ymm0, here = e_.ymm1, beyond = e_.ymm2, limit = e_.ymm3;
  e_.vmovq(e_.xmm0, e_.rcx);
  e_.vpbroadcastq(add, e_.xmm0);
  e_.vpxor(add, add, e_.splat64(kSign64));  // Adds 2^63.
  e_.vmovq(e_.xmm3, e_.rdx);
  e_.vpbroadcastq(limit, e_.xmm3);
  e_.vpxor(limit, limit, e_.splat64(kSign64));
  e_.vpxor(beyond, beyond, beyond);
  for (uint32_t i = 0; i < kParts64; ++i) {
    e_.vpaddq(here, add, part(i));
    e_.vpcmpgtq(here, here, limit);
    e_.vpor(beyond, beyond, here);
  }
  e_.vptest(beyond, beyond);
  e_.jnz(out, kNear);
}

void LaneTests::aligned64(uint32_t alignment, const Xbyak::Label& out) const {
  if (e_.is_avx512()) {
    const Vector first = e_.scratch(0), apart = e_.scratch(1), here = e_.scratch(2);
    e_.vpbroadcastq(first, lowest_of(lanes(0)));
    e_.vpxord(apart, apart, apart);
    for (uint32_t i = 0; i < of_.vectors.count; ++i) {
      e_.vpsubq(here, lanes(i), first);
      e_.vporq(apart, apart, here);
    }
    e_.vptestmq(e_.k7, apart, e_.splat64(alignment - 1));
    e_.kortestw(e_.k7, e_.k7);
    return e_.jnz(out, kNear);
  }
  const Xbyak::Ymm first = e_.ymm0, here = e_.ymm1, apart = e_.ymm2;
  e_.vpbroadcastq(first, part(0));
  e_.vpxor(apart, apart, apart);
  for (uint32_t i = 0; i < kParts64; ++i) {
    e_.vpxor(here, first, part(i));
    e_.vpor(apart, apart, here);
  }
  e_.vptest(apart, e_.splat64(alignment - 1));
  e_.jnz(out, kNear);
}

}  // namespace gpuemu::emulator
