#include "runtime/emulator/numerics/dot.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace gpuemu::emulator {
namespace {
using ptx::Type;

constexpr uint32_t kNan32 = 0x7fffffff, kInfinity32 = 0x7f800000, kNan16 = 0x7fff,
                   kInfinity16 = 0x7c00;

/// Widths of exponent and fraction in bits.
struct Layout {
  int exponent = 8, fraction = 23;
};
Layout layout_of(Type type) {
  switch (type) {
    case Type::F16:
      return {5, 10};
    case Type::BF16:
      return {8, 7};
    case Type::E4M3:
      return {4, 3};
    case Type::E5M2:
      return {5, 2};
    default:
      return {8, 23};
  }
}

/// A summand: significand * 2^scale. The unit aligns terms by `exponent`.
struct Term {
  int64_t significand = 0;
  int exponent = 0, scale = 0;
};

int64_t cut(const Term& term, int scale) {
  const int shift = scale - term.scale;
  const int64_t size = std::abs(term.significand);
  const int64_t kept = shift > 62 || size == 0 ? 0 : shift >= 0 ? size >> shift : size << -shift;
  return term.significand < 0 ? -kept : kept;
}

/// A sum in units of 2^scale, or a non-finite value.
struct Sum {
  int64_t value = 0;
  int scale = 0;
  bool nan = false, infinite = false, negative = false;
};

/// Truncates to f32, or to fewer bits.
uint32_t pack_float(const Sum& sum, int kept_bits) {
  if (sum.nan) return kNan32;
  if (sum.infinite) return kInfinity32 | static_cast<uint32_t>(sum.negative) << 31;
  const auto size = static_cast<uint64_t>(std::abs(sum.value));
  const int width = 64 - std::countl_zero(size);
  const int drop = std::max({width - kept_bits, -149 - sum.scale, 0});
  const double kept = drop > 62 ? 0.0 : static_cast<double>(size >> drop);
  const double value = std::ldexp(kept, sum.scale + drop);
  const float out = value > static_cast<double>(std::numeric_limits<float>::max())
                        ? std::numeric_limits<float>::infinity()
                        : static_cast<float>(value);
  if (out == 0) return 0;  // Never -0.
  return std::bit_cast<uint32_t>(sum.value < 0 ? -out : out);
}

/// Rounds to the nearest f16, ties to even.
uint32_t pack_half(const Sum& sum) {
  if (sum.nan) return kNan16;
  if (sum.infinite) return kInfinity16 | static_cast<uint32_t>(sum.negative) << 15;
  const auto size = static_cast<uint64_t>(std::abs(sum.value));
  const uint32_t sign = sum.value < 0 ? 0x8000 : 0;
  const int width = 64 - std::countl_zero(size);
  const int last = std::max(width + sum.scale - 11, -24);  // Exponent of the last bit kept.
  const int drop = last - sum.scale;
  if (drop > 62) return 0;
  uint64_t kept = drop > 0 ? size >> drop : size << -drop;
  if (drop > 0) {
    const uint64_t rest = size & ((uint64_t{1} << drop) - 1), half = uint64_t{1} << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0;
  }
  // A subnormal has no implicit leading one to remove, and a carry moves into the exponent by
  // itself.
  const uint64_t bits = kept + (kept == 0 ? 0 : static_cast<uint64_t>(last + 24) << 10);
  if (bits == 0) return 0;  // Never -0.
  return sign | static_cast<uint32_t>(std::min<uint64_t>(bits, kInfinity16));
}

constexpr size_t kBlockMax = 32;

/// Adds `c` and one block of products.
Sum add_block(std::span<const Factor> a, std::span<const Factor> b, const Factor& c,
              const DotModel& model) {
  std::array<Term, kBlockMax + 1> terms;
  bool nan = c.nan, plus = c.infinite && !c.negative, minus = c.infinite && c.negative;
  int largest = std::numeric_limits<int>::min();
  terms[0] = {c.significand, c.exponent, c.scale};
  if (c.significand != 0) largest = c.exponent;
  for (size_t i = 0; i < a.size(); ++i) {
    const Factor &x = a[i], &y = b[i];
    const int64_t product = x.significand * y.significand;
    terms[i + 1] = {product, x.exponent + y.exponent, x.scale + y.scale};
    if (x.nan || y.nan || x.infinite || y.infinite) {
      const bool zero = (x.significand == 0 && !x.infinite) || (y.significand == 0 && !y.infinite);
      nan = nan || x.nan || y.nan || zero;
      (x.negative != y.negative ? minus : plus) = true;
    } else if (product != 0) {
      largest = std::max(largest, terms[i + 1].exponent);
    }
  }
  if (nan || (plus && minus)) return {.nan = true};
  if (plus || minus) return {.infinite = true, .negative = minus};
  if (largest == std::numeric_limits<int>::min()) return {};
  Sum sum{.scale = largest - 23 - model.extra_bits};
  for (const Term& term : std::span(terms).first(a.size() + 1)) sum.value += cut(term, sum.scale);
  return sum;
}

template <typename Pack>
uint32_t dot(std::span<const Factor> a, std::span<const Factor> b, uint32_t c, Type type,
             const DotModel& model, const Pack& pack) {
  const size_t block = std::min<size_t>(model.block, kBlockMax);
  for (size_t begin = 0; begin < a.size(); begin += block) {
    const size_t count = std::min(block, a.size() - begin);
    c = pack(
        add_block(a.subspan(begin, count), b.subspan(begin, count), factor_of(c, type), model));
  }
  return c;
}
}  // namespace

DotModel dot_model(int sm, Type type, DotUnit unit) {
  const bool narrow = type == Type::F16 || type == Type::BF16;
  const bool eight = type == Type::E4M3 || type == Type::E5M2;
  if (sm >= 90) {
    // Measured on an H200, 2026-11-21. wmma with tf32 uses the older unit of half the depth.
    if (unit == DotUnit::Wgmma && eight) return {32, -10, 14};
    if (unit == DotUnit::Wmma && type == Type::TF32) return {4, 2};
    return {narrow || eight ? 16u : 8u, 2};
  }
  // From publications; not measured here.
  if (sm >= 80) return {narrow || eight ? 8u : 4u, 1};
  return {4, 0};
}

Factor factor_of(uint32_t bits, Type type) {
  const Layout layout = layout_of(type);
  if (type == Type::TF32) bits &= ~0x1fffu;  // The unit reads 10 bits of the fraction.
  const auto biased = static_cast<int>(bits >> layout.fraction) & ((1 << layout.exponent) - 1);
  const int64_t fraction = bits & ((uint32_t{1} << layout.fraction) - 1);
  const bool top = biased == (1 << layout.exponent) - 1;
  Factor out;
  out.negative = (bits >> (layout.exponent + layout.fraction) & 1) != 0;
  out.nan = type == Type::E4M3 ? top && fraction == 7 : top && fraction != 0;
  out.infinite = type != Type::E4M3 && top && fraction == 0;
  out.exponent = std::max(biased, 1) - ((1 << (layout.exponent - 1)) - 1);
  out.scale = out.exponent - layout.fraction;
  out.significand = fraction | (biased != 0 ? int64_t{1} << layout.fraction : 0);
  if (out.negative) out.significand = -out.significand;
  return out;
}

uint32_t dot_float(std::span<const Factor> a, std::span<const Factor> b, uint32_t c,
                   const DotModel& model) {
  return dot(a, b, c, Type::F32, model,
             [&](const Sum& sum) { return pack_float(sum, model.kept_bits); });
}
uint32_t dot_half(std::span<const Factor> a, std::span<const Factor> b, uint32_t c,
                  const DotModel& model) {
  return dot(a, b, c, Type::F16, model, pack_half);
}

uint32_t half_from_fp8(uint32_t bits, Type type) {
  const uint32_t sign = (bits & 0x80) << 8, size = bits & 0x7f;
  if (type == Type::E5M2) return size > 0x7c ? kNan16 : sign | size << 8;
  if (size == 0x7f) return kNan16;
  if (size >= 8) return sign | ((size << 7) + (8u << 10));
  if (size == 0) return sign;
  const auto width = static_cast<uint32_t>(std::bit_width(size));  // For a subnormal: size * 2^-9.
  return sign | (width + 5) << 10 | (size << (11 - width) & 0x3ff);
}

}  // namespace gpuemu::emulator
