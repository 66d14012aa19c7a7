#include "runtime/emulator/math/dot.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace gpuemu::emulator {
namespace {
using ptx::Type;

/// Bits of the exponent and of the fraction.
struct Layout {
  int exponent = 8, fraction = 23;
};
Layout layout_of(Type type) {
  switch (type) {
    case Type::F16:
      return {5, 10};
    case Type::BF16:
      return {8, 7};
    default:
      return {8, 23};
  }
}

/// One summand: significand * 2^scale; `exponent` is what the unit compares.
struct Term {
  int64_t significand = 0;
  int exponent = 0, scale = 0;
};

int64_t cut(const Term& term, int scale) {
  const int shift = scale - term.scale;
  const int64_t size = std::abs(term.significand);
  const int64_t kept = shift > 62 ? 0 : shift >= 0 ? size >> shift : size << -shift;
  return term.significand < 0 ? -kept : kept;
}

/// sum * 2^scale, cut to f32.
float pack(int64_t sum, int scale) {
  const auto size = static_cast<uint64_t>(std::abs(sum));
  const int width = 64 - std::countl_zero(size);
  const int drop = std::max({width - 24, -149 - scale, 0});
  const double kept = drop > 62 ? 0.0 : static_cast<double>(size >> drop);
  const double value = std::ldexp(kept, scale + drop);
  const float out = value > static_cast<double>(std::numeric_limits<float>::max())
                        ? std::numeric_limits<float>::infinity()
                        : static_cast<float>(value);
  return sum < 0 ? -out : out;
}

/// Keeps track of what is not finite among the terms.
struct Special {
  bool nan = false, plus = false, minus = false;
  void note(bool is_nan, bool infinite, bool negative) {
    nan = nan || is_nan;
    plus = plus || (infinite && !negative);
    minus = minus || (infinite && negative);
  }
  bool any() const { return nan || plus || minus; }
  float value() const {
    if (nan || (plus && minus)) return std::bit_cast<float>(0x7fffffffu);
    return plus ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
  }
};

constexpr size_t kBlockMax = 32;

float add_block(std::span<const Term> terms, const DotModel& model) {
  int largest = std::numeric_limits<int>::min();
  for (const Term& term : terms)
    if (term.significand != 0) largest = std::max(largest, term.exponent);
  if (largest == std::numeric_limits<int>::min()) return 0;
  const int scale = largest - 23 - model.extra_bits;
  int64_t sum = 0;
  for (const Term& term : terms) sum += cut(term, scale);
  return pack(sum, scale);
}
}  // namespace

DotModel dot_model(int sm, Type type) {
  const bool narrow = type == Type::F16 || type == Type::BF16;
  if (sm >= 90) return {narrow ? 16u : type == Type::TF32 ? 8u : 32u, 2};
  if (sm >= 80) return {narrow ? 8u : type == Type::TF32 ? 4u : 16u, 1};
  return {4, 0};
}

Factor factor_of(uint32_t bits, Type type) {
  const Layout layout = layout_of(type);
  if (type == Type::TF32) bits &= ~0x1fffu;  // The unit reads 10 bits of fraction.
  const auto biased = static_cast<int>(bits >> layout.fraction) & ((1 << layout.exponent) - 1);
  const int64_t fraction = bits & ((uint32_t{1} << layout.fraction) - 1);
  const bool top = biased == (1 << layout.exponent) - 1;
  Factor out;
  out.negative = (bits >> (layout.exponent + layout.fraction) & 1) != 0;
  out.nan = top && fraction != 0;
  out.infinite = top && fraction == 0;
  out.exponent = std::max(biased, 1) - ((1 << (layout.exponent - 1)) - 1);
  out.significand = fraction | (biased != 0 ? int64_t{1} << layout.fraction : 0);
  if (out.negative) out.significand = -out.significand;
  return out;
}

float dot_float(std::span<const Factor> a, std::span<const Factor> b, float c, Type type,
                const DotModel& model) {
  const int fraction = layout_of(type).fraction;
  const size_t block = std::min<size_t>(model.block, kBlockMax);
  for (size_t begin = 0; begin < a.size(); begin += block) {
    std::array<Term, kBlockMax + 1> terms;
    size_t used = 0;
    Special special;
    const Factor start = factor_of(std::bit_cast<uint32_t>(c), Type::F32);
    special.note(start.nan, start.infinite, start.negative);
    terms[used++] = {start.significand, start.exponent, start.exponent - 23};
    for (size_t i = begin; i < std::min(a.size(), begin + block); ++i) {
      const Factor &x = a[i], &y = b[i];
      const bool infinite = x.infinite || y.infinite;
      const bool zero = x.significand == 0 || y.significand == 0;
      special.note(x.nan || y.nan || (infinite && zero), infinite, x.negative != y.negative);
      const int exponent = x.exponent + y.exponent;
      terms[used++] = {x.significand * y.significand, exponent, exponent - 2 * fraction};
    }
    c = special.any() ? special.value() : add_block(std::span(terms).first(used), model);
  }
  return c;
}

int32_t integer_element(uint32_t bits, Type type) {
  switch (type) {
    case Type::S8:
      return static_cast<int8_t>(bits);
    case Type::U8:
      return static_cast<uint8_t>(bits);
    default:
      return static_cast<int32_t>(bits);
  }
}

}  // namespace gpuemu::emulator
