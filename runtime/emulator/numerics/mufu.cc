#include "runtime/emulator/numerics/mufu.h"

#include <bit>
#include <cmath>
#include <vector>

#include "runtime/emulator/numerics/mufu_tables.h"

namespace gpuemu::emulator::mufu {
static constexpr uint32_t kNan = 0x7fffffff, kInf = 0x7f800000, kSign = 0x80000000,
                          kOne = 0x3f800000;
float value(uint32_t b) { return std::bit_cast<float>(b); }
static uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }
static bool is_nan(uint32_t x) { return (x & ~kSign) > kInf; }
static bool tiny(uint32_t x) { return (x & ~kSign) < 0x00800000; }  // zero or denormal

// ---- the interpolator, shared by all functions -------------------------------------------------
// The squarer: 17-bit x as a folded partial-product array (bit i alone at column 2i, bits i<j
// together at column i+j+1). Partial products in columns below 19 do not exist: no carry from them,
// no rounding.
struct Squarer {
  std::vector<uint16_t> t = std::vector<uint16_t>(1 << 17);
  Squarer() {
    std::vector<uint64_t> sums(1 << 17);
    for (uint32_t x = 1; x < 1u << 17; x++) {
      // The lowest bit i with itself (column 2i) and with the bits j above it (columns i+j+1 >=
      // 19).
      const uint32_t rest = x & (x - 1);
      const int i = std::countr_zero(x);
      const int from = 18 - i > 0 ? 18 - i : 0;
      const uint64_t pairs = uint64_t{rest >> from} << (from + i + 1);
      sums[x] = sums[rest] + pairs + (2 * i >= 19 ? uint64_t{1} << (2 * i) : 0);
      t[x] = static_cast<uint16_t>(sums[x] >> 19);
    }
  }
};
static const Squarer squarer;
// exact integer sum; a, b: the weights of c0 and c2 against c1 (which has the unit of the sum)
static int64_t sum(const Segment& k, uint32_t X, int a, int b, int bias) {
  return (int64_t{k.c0} << a) + int64_t{k.c1} * X + (int64_t{k.c2} * squarer.t[X] << b) + bias;
}
// y: significand in [2^23, 2^24], 2^24 carries into the exponent
static uint32_t pack(uint32_t sign, int32_t exponent, int64_t y) {
  return sign | uint32_t(((exponent + 126) << 23) + int32_t(y));
}
// s > 0 in units of 2^-unit, truncated to 24 significant bits
static uint32_t normalise(uint32_t sign, uint64_t s, int unit) {
  int n = 64 - std::countl_zero(s);
  return pack(sign, n - 1 - unit, n > 24 ? int64_t(s >> (n - 24)) : int64_t(s << (24 - n)));
}

// ---- the MUFU functions (all but tanh read denormals as zero; none returns a denormal, but tanh)
// --
uint32_t rcp_ftz(uint32_t x) {
  uint32_t s = x & kSign, m = x & 0x7fffff;
  int32_t e = int32_t(x >> 23 & 255) - 127;
  if (is_nan(x)) return kNan;
  if (e == -127) return s | kInf;
  if (e == 128) return s;
  int64_t y = sum(kRcp[m >> 16], (m & 0xffff) << 1, 14, 1, 4046) >> 16;  // sum in 2^-40, y in 2^-24
  return -e - 1 < -126 && !(e == 126 && y == 1 << 24) ? s : pack(s, -e - 1, y);
}
uint32_t rsqrt_ftz(uint32_t x) {
  uint32_t s = x & kSign, m = x & 0x7fffff;
  int32_t e = int32_t(x >> 23 & 255) - 127;
  if (is_nan(x)) return kNan;
  if (e == -127) return s | kInf;
  if (s) return kNan;
  if (e == 128) return 0;
  int32_t h = e >> 1;
  if (!(e & 1) && !m) return pack(0, -h, 1 << 23);  // powers of four are exact
  const Segment* table = e & 1 ? kRsqrt2 : kRsqrt1;
  const Segment& k = table[m >> 17];
  return pack(0, -h - 1, sum(k, m & 0x1ffff, 14, 2, -1) >> 16);  // sum in 2^-40
}
// The seeds of f64 read and return the high word: the same sums for 20 bits of fraction.
uint32_t rcp_high(uint32_t x) {
  const uint32_t s = x & kSign, m = (x & 0xfffff) << 3;
  const int32_t e = int32_t(x >> 20 & 2047) - 1023;
  if (e == 1024) return m ? kNan : s;
  if (e == -1023) return s | 0x7ff00000;
  const int64_t y = sum(kRcp[m >> 16], (m & 0xffff) << 1, 14, 1, 4046) >> 19;  // y in 2^-21
  if (e >= 1022 && !(e == 1022 && y == 1 << 21)) return s;
  return s | uint32_t(((-e - 1 + 1022) << 20) + int32_t(y));
}
uint32_t rsqrt_high(uint32_t x) {
  const uint32_t m = (x & 0xfffff) << 3;
  const int32_t e = int32_t(x >> 20 & 2047) - 1023, h = e >> 1;
  if (e == 1024 && m) return kNan;
  if (e == -1023) return (x & kSign) | 0x7ff00000;
  if (x & kSign) return kNan;
  if (e == 1024) return 0;
  if (!(e & 1) && !m) return uint32_t(1023 - h) << 20;
  const Segment& k = (e & 1 ? kRsqrt2 : kRsqrt1)[m >> 17];
  return uint32_t((1021 - h) << 20) + uint32_t(sum(k, m & 0x1ffff, 14, 2, -1) >> 19);
}
uint32_t sqrt_ftz(uint32_t x) {
  uint32_t s = x & kSign, m = x & 0x7fffff;
  int32_t e = int32_t(x >> 23 & 255) - 127;
  if (is_nan(x)) return kNan;
  if (e == -127) return s;
  if (s) return kNan;
  if (e == 128) return kInf;
  int32_t h = e >> 1;
  return pack(0, h,
              e & 1 ? sum(kSqrt2[m >> 17], m & 0x1ffff, 14, 0, -1) >> 16    // sum in 2^-39
                    : sum(kSqrt1[m >> 17], m & 0x1ffff, 15, 1, -1) >> 17);  // sum in 2^-40
}
uint32_t lg2_ftz(uint32_t x) {
  uint32_t s = x & kSign, m = x & 0x7fffff;
  int32_t e = int32_t(x >> 23 & 255) - 127;
  if (is_nan(x)) return kNan;
  if (e == -127) return kSign | kInf;
  if (s) return kNan;
  if (e == 128) return kInf;
  if (x == kOne) return 0;
  int64_t S = sum(kLg2[m >> 17], m & 0x1ffff, 12, 1, 837) + int64_t{e} * (1ll << 38);  // in 2^-38
  S >>= 2;  // kept to 2^-36
  return S < 0 ? normalise(kSign, uint64_t(~S), 36)
               : normalise(0, uint64_t(S), 36);  // magnitude by one's complement
}
uint32_t ex2_ftz(uint32_t x) {
  uint32_t s = x & kSign;
  int32_t e = int32_t(x >> 23 & 255) - 127, m = int32_t((x & 0x7fffff) | 0x800000);
  if (is_nan(x)) return kNan;
  if (e >= 7) return s ? 0 : kInf;
  int32_t f = e >= 0 ? m << e : e > -24 ? m >> -e : 0;  // |x| in 2^-23, truncated
  int32_t n = f >> 23;
  int64_t y = 1 << 23;
  if (!(f & 0x7fffff)) {
    if (s) n = -n;
  }  // no fraction: an exact power of two
  else {
    if (s) f = ~f;  // negative: one's complement
    n = f >> 23;
    uint32_t g = uint32_t(f) & 0x7fffff;
    y = sum(kEx2[g >> 17], g & 0x1ffff, 13, 0, -2078) >> 15;  // sum in 2^-38
  }
  return n < -126 ? 0 : pack(0, n, y);
}
static uint32_t mufu_sincos(uint32_t p, uint32_t quarter) {  // p in turns; 0: sine, 1: cosine
  if ((p & ~kSign) >= kInf) return kNan;
  int32_t e = int32_t(p >> 23 & 255) - 125;
  uint64_t m = (p & 0x7fffff) | 0x800000;
  uint32_t n =
      e <= -24 || e > 24
          ? 0
          : uint32_t(e < 0 ? m >> -e : m << e);  // |p| in 2^-25, truncated; top bits fall off
  uint32_t quad = ((n >> 23) + quarter) & 3, g = n & 0x7fffff;
  uint32_t sign = (quad & 2) << 30 ^ (quarter ? 0 : p & kSign);
  if (quad & 1) g ^= 0x7fffff;                            // mirrored by one's complement
  int64_t S = sum(kSin[g >> 17], g & 0x1ffff, 11, 0, 0);  // in 2^-37
  return S == 0 ? sign : normalise(sign, uint64_t(S), 37);
}
uint32_t tanh(uint32_t x) {
  static const int bits[11] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3},
                   first[11] = {0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43};
  uint32_t s = x & kSign, m = x & 0x7fffff;
  int32_t e = int32_t(x >> 23 & 255) - 127;
  if (is_nan(x)) return kNan;
  if (e < -8) return x;  // denormals too
  if (e >= 3) return s | kOne;
  int n = bits[e + 8];                  // 2^n segments in this binade
  uint32_t X = m >> (6 - n) & 0x1ffff;  // the lowest 6-n bits are not used
  return normalise(s, uint64_t(sum(kTanh[first[e + 8] + (m >> (23 - n))], X, 17, 0, 0)), 41);
}

// ---- the instruction sequences that ptxas emits for the PTX instructions
// -----------------------------
uint32_t rcp(uint32_t x) {
  float k = tiny(x) ? 0x1p24f : value(x & ~kSign) > 0x1p126f ? 0.25f : 1.f;
  return bits(value(rcp_ftz(bits(value(x) * k))) * k);
}
uint32_t rsqrt(uint32_t x) {
  return tiny(x) ? bits(value(rsqrt_ftz(bits(value(x) * 0x1p24f))) * 0x1p12f) : rsqrt_ftz(x);
}
uint32_t sqrt(uint32_t x) {
  return tiny(x) ? bits(value(sqrt_ftz(bits(value(x) * 0x1p24f))) * 0x1p-12f) : sqrt_ftz(x);
}
uint32_t lg2(uint32_t x) {
  return tiny(x) ? bits(value(lg2_ftz(bits(value(x) * 0x1p24f))) - 24.f) : lg2_ftz(x);
}
uint32_t ex2(uint32_t x) {
  if (!(value(x) < -126.f)) return ex2_ftz(x);
  float y = value(ex2_ftz(bits(value(x) * 0.5f)));
  return bits(y * y);
}
static uint32_t turns(uint32_t x) {  // FMUL.RZ by 0x3e22f983, about 1/(2 pi)
  const double d = double{value(x)} * double{value(0x3e22f983)};
  const auto r = static_cast<float>(d);
  return std::fabs(double{r}) > std::fabs(d) ? bits(r) - 1 : bits(r);
}
uint32_t sin(uint32_t x) { return mufu_sincos(turns(x), 0); }  // with and without .ftz
uint32_t cos(uint32_t x) { return mufu_sincos(turns(x), 1); }

}  // namespace gpuemu::emulator::mufu
