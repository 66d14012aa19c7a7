// Lanes: a tensor is cut into kLanes contiguous blocks. Lane k starts at the stream's state after
// all elements of the earlier blocks, and the lanes step together as vectors.
#include "common/rng/fill.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "common/base/check.h"
#include "common/numeric/element.h"

#define GPUEMU_INLINE [[gnu::always_inline]] inline

namespace gpuemu {
namespace {

using Kind = Distribution::Kind;

constexpr size_t kLanes = 8;
constexpr size_t kTile = 32;  ///< Elements per lane and round; the tiles stay in the first-level
                              ///< cache.
/// Below this size, jumps cost more than they save.
constexpr size_t kElementsForLanes = 2048;

/// Exact, using operations that every vector unit has (not the conversion of 64-bit integers).
GPUEMU_INLINE double double_below_2_53(uint64_t x) {
  const double high = std::bit_cast<double>((x >> 32) | 0x4530000000000000u);
  const double low = std::bit_cast<double>((x & 0xFFFFFFFFu) | 0x4330000000000000u);
  return (high - (0x1p84 + 0x1p52)) + low;
}

GPUEMU_INLINE double unit(uint64_t output) { return double_below_2_53(output >> 11) * 0x1p-53; }

GPUEMU_INLINE uint64_t count_bits(uint64_t x) {
  x -= (x >> 1) & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  x += x >> 8;
  x += x >> 16;
  return (x + (x >> 32)) & 0x7F;
}

/// Returns `yes` if `condition` holds, else `no`, without a branch.
GPUEMU_INLINE uint64_t choose(bool condition, uint64_t yes, uint64_t no) {
  const uint64_t mask = uint64_t{0} - static_cast<uint64_t>(condition);
  return (yes & mask) | (no & ~mask);
}

GPUEMU_INLINE double power_of_two(int64_t exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

/// scale_below for n below 2^32, with 32-bit products, which vector units have.
GPUEMU_INLINE uint64_t scale_below_32(uint64_t output, uint64_t n) {
  const uint64_t low = (output & 0xFFFFFFFFu) * n;
  return ((output >> 32) * n + (low >> 32)) >> 32;
}

GPUEMU_INLINE double log_uniform_value(const Distribution& d, uint64_t a, uint64_t b) {
  const uint64_t drawn = scale_below_32(b << 1, static_cast<uint64_t>(d.hi - d.lo + 1));
  const int64_t exponent = d.lo + static_cast<int64_t>(drawn);
  const int64_t normal = exponent < -1022 ? -1022 : exponent;
  const double mantissa =
      std::bit_cast<double>((b & (uint64_t{1} << 63)) | (uint64_t{1023} << 52) | (a >> 12));
  return mantissa * power_of_two(normal) * power_of_two(exponent - normal);
}

template <Kind kKind>
GPUEMU_INLINE double value(const Distribution& d, uint64_t a, uint64_t b) {
  if constexpr (kKind == Kind::Uniform) {
    return d.first + unit(a) * (d.second - d.first);
  } else if constexpr (kKind == Kind::Normal) {
    const double bits = double_below_2_53(count_bits(a)) - 32.0;
    return d.first + d.second * ((bits + unit(b) - 0.5) / 4.0);
  } else if constexpr (kKind == Kind::LogUniform) {
    return log_uniform_value(d, a, b);
  } else if constexpr (kKind == Kind::Special) {
    const uint64_t row = scale_below_32(a, static_cast<uint64_t>(d.hi) + 1);
    // The outcome is random and cannot be predicted, so avoid a branch.
    return std::bit_cast<double>(choose(unit(b) < d.first,
                                        std::bit_cast<uint64_t>(double_below_2_53(row)),
                                        std::bit_cast<uint64_t>(-1.0)));
  } else {
    const uint64_t count = static_cast<uint64_t>(d.hi) - static_cast<uint64_t>(d.lo) + 1;
    const uint64_t offset = count == 0 ? a : scale_below(a, count);
    return static_cast<double>(static_cast<int64_t>(static_cast<uint64_t>(d.lo) + offset));
  }
}

/// Destination of elements: raw float64, or rounded to a dtype.
struct Target {
  std::byte* data;
  size_t element_bytes;
  DType dtype;
  bool raw;  ///< float64 as computed.
};

/// Returns the bits of float16_from_double (10 mantissa bits) or bfloat16_from_double (7), without
/// branches so that loops over it can be vectorised.
template <int kMantissa>
GPUEMU_INLINE uint64_t narrow_16(double value) {
  constexpr int kShift = 52 - kMantissa;
  constexpr uint64_t kBias = (1 << (14 - kMantissa)) - 1;
  constexpr uint64_t kInfinity = (2 * kBias + 1) << kMantissa;
  constexpr uint64_t kWideInfinity = uint64_t{0x7FF} << 52;
  const auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t magnitude = bits & INT64_MAX;
  const uint64_t odd = (magnitude >> kShift) & 1;
  const uint64_t rounded = magnitude + ((uint64_t{1} << (kShift - 1)) - 1) + odd;
  const uint64_t normal = (rounded >> kShift) - ((1023 - kBias) << kMantissa);
  // Adding it to a number whose last place is the smallest subnormal makes the hardware round.
  constexpr uint64_t kMagic = (1023 + 52 + 1 - kBias - kMantissa) << 52;
  const double sum = std::bit_cast<double>(magnitude) + std::bit_cast<double>(kMagic);
  const uint64_t subnormal = std::bit_cast<uint64_t>(sum) - kMagic;
  const uint64_t quiet = kInfinity | (uint64_t{1} << (kMantissa - 1)) |
                         ((magnitude >> kShift) & ((1 << kMantissa) - 1));
  // Signed, because vector units do not compare unsigned numbers; the sign bit is 0.
  const auto order = static_cast<int64_t>(magnitude);
  uint64_t narrow = choose(order < int64_t{(1024 - kBias) << 52}, subnormal, normal);
  narrow = choose(order >= int64_t{(1024 + kBias) << 52}, kInfinity, narrow);
  narrow = choose(order > int64_t{kWideInfinity}, quiet, narrow);
  return narrow | ((bits >> 48) & 0x8000);
}

template <int kMantissa>
GPUEMU_INLINE void narrow_all(const double* values, std::array<uint16_t, kTile>& narrow,
                              size_t count) {
  std::array<uint64_t, kTile> wide;
  for (size_t i = 0; i < count; ++i) wide[i] = narrow_16<kMantissa>(values[i]);
  for (size_t i = 0; i < count; ++i) narrow[i] = static_cast<uint16_t>(wide[i]);
}

GPUEMU_INLINE void store(const Target& target, size_t index, const double* values, size_t count) {
  std::byte* to = target.data + index * target.element_bytes;
  if (target.raw || target.dtype == DType::Float64) {
    std::memcpy(to, values, count * sizeof(double));
  } else if (target.dtype == DType::Float32) {
    std::array<float, kTile> narrow;
    for (size_t i = 0; i < count; ++i) narrow[i] = static_cast<float>(values[i]);
    std::memcpy(to, narrow.data(), count * sizeof(float));
  } else if (target.dtype == DType::Float16 || target.dtype == DType::BFloat16) {
    std::array<uint16_t, kTile> narrow;
    if (target.dtype == DType::Float16) {
      narrow_all<10>(values, narrow, count);
    } else {
      narrow_all<7>(values, narrow, count);
    }
    std::memcpy(to, narrow.data(), count * sizeof(uint16_t));
  } else {
    narrow_from_double(target.dtype, {values, count}, {to, count * target.element_bytes});
  }
}

template <Kind kKind>
void fill_plain(RngState state, const Distribution& d, const Target& target, size_t from,
                size_t until) {
  std::array<double, kTile> values;
  for (size_t done = from; done < until; done += kTile) {
    const size_t count = std::min(kTile, until - done);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t a = next_output(state);
      const uint64_t b = next_output(state);
      values[i] = value<kKind>(d, a, b);
    }
    store(target, done, values.data(), count);
  }
}

using Vector = uint64_t __attribute__((vector_size(32)));
constexpr size_t kGroups = kLanes / 4;  ///< Vectors of four lanes.

/// Returns the output by reference: returning a vector would depend on one instruction set.
GPUEMU_INLINE void next_vector(Vector& s0, Vector& s1, Vector& output) {
  Vector x = s0;
  const Vector y = s1;
  output = x + y;
  x ^= x << 23;
  s0 = y;
  s1 = x ^ y ^ (x >> 18) ^ (y >> 5);
}

/// Stores four outputs of each of four lanes, lane after lane.
GPUEMU_INLINE void store_transposed(const Vector (&in)[4], uint64_t* to) {
  const Vector even01 = __builtin_shufflevector(in[0], in[1], 0, 4, 2, 6);
  const Vector odd01 = __builtin_shufflevector(in[0], in[1], 1, 5, 3, 7);
  const Vector even23 = __builtin_shufflevector(in[2], in[3], 0, 4, 2, 6);
  const Vector odd23 = __builtin_shufflevector(in[2], in[3], 1, 5, 3, 7);
  const Vector lane0 = __builtin_shufflevector(even01, even23, 0, 1, 4, 5);
  const Vector lane1 = __builtin_shufflevector(odd01, odd23, 0, 1, 4, 5);
  const Vector lane2 = __builtin_shufflevector(even01, even23, 2, 3, 6, 7);
  const Vector lane3 = __builtin_shufflevector(odd01, odd23, 2, 3, 6, 7);
  std::memcpy(to, &lane0, sizeof lane0);
  std::memcpy(to + kTile, &lane1, sizeof lane1);
  std::memcpy(to + 2 * kTile, &lane2, sizeof lane2);
  std::memcpy(to + 3 * kTile, &lane3, sizeof lane3);
}

/// The states of all lanes, as vectors.
struct LaneStates {
  alignas(32) std::array<uint64_t, kLanes> s0, s1;
};

template <Kind kKind>
GPUEMU_INLINE void fill_blocks(LaneStates& lanes, const Distribution& d, const Target& target,
                               size_t block) {
  Vector s0[kGroups], s1[kGroups];
  std::memcpy(s0, lanes.s0.data(), sizeof s0);
  std::memcpy(s1, lanes.s1.data(), sizeof s1);
  alignas(32) std::array<uint64_t, kLanes * kTile> a, b;
  alignas(32) std::array<double, kTile> values;
  for (size_t done = 0; done < block; done += kTile) {
    for (size_t group = 0; group < kGroups; ++group) {
      for (size_t i = 0; i < kTile; i += 4) {
        Vector first[4], second[4];
        for (size_t j = 0; j < 4; ++j) {
          next_vector(s0[group], s1[group], first[j]);
          next_vector(s0[group], s1[group], second[j]);
        }
        store_transposed(first, a.data() + group * 4 * kTile + i);
        store_transposed(second, b.data() + group * 4 * kTile + i);
      }
    }
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const uint64_t* lane_a = a.data() + lane * kTile;
      const uint64_t* lane_b = b.data() + lane * kTile;
      for (size_t i = 0; i < kTile; ++i) values[i] = value<kKind>(d, lane_a[i], lane_b[i]);
      store(target, lane * block + done, values.data(), kTile);
    }
  }
  std::memcpy(lanes.s0.data(), s0, sizeof s0);
  std::memcpy(lanes.s1.data(), s1, sizeof s1);
}

template <Kind kKind>
[[gnu::target("avx2")]] void fill_blocks_avx2(LaneStates& lanes, const Distribution& d,
                                              const Target& target, size_t block) {
  fill_blocks<kKind>(lanes, d, target, block);
}
template <Kind kKind>
void fill_blocks_portable(LaneStates& lanes, const Distribution& d, const Target& target,
                          size_t block) {
  fill_blocks<kKind>(lanes, d, target, block);
}

template <Kind kKind>
void fill_kind(RngState state, const Distribution& d, const Target& target, size_t count) {
  if (count < kElementsForLanes) return fill_plain<kKind>(state, d, target, 0, count);
  const size_t block = count / kLanes / kTile * kTile;
  LaneStates lanes;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    lanes.s0[lane] = state.s0;
    lanes.s1[lane] = state.s1;
    if (lane + 1 < kLanes) state = jump(state, 2 * block);
  }
  if (__builtin_cpu_supports("avx2")) {
    fill_blocks_avx2<kKind>(lanes, d, target, block);
  } else {
    fill_blocks_portable<kKind>(lanes, d, target, block);
  }
  fill_plain<kKind>({lanes.s0[kLanes - 1], lanes.s1[kLanes - 1]}, d, target, block * kLanes, count);
}

void fill_any(RngState state, const Distribution& d, const Target& target, size_t count) {
  switch (d.kind) {
    case Kind::Uniform:
      return fill_kind<Kind::Uniform>(state, d, target, count);
    case Kind::Normal:
      return fill_kind<Kind::Normal>(state, d, target, count);
    case Kind::LogUniform:
      GPUEMU_CHECK(-1074 <= d.lo && d.lo <= d.hi && d.hi <= 1023);
      return fill_kind<Kind::LogUniform>(state, d, target, count);
    case Kind::Integer:
      return fill_kind<Kind::Integer>(state, d, target, count);
    case Kind::Special:
      GPUEMU_CHECK(0 <= d.hi && d.hi < (int64_t{1} << 32) - 1);
      return fill_kind<Kind::Special>(state, d, target, count);
  }
}

/// Fills integers that float64 cannot represent, one by one and without converting to float64.
void fill_wide_integers(RngState state, const Distribution& d, DType dtype,
                        std::span<std::byte> to) {
  Stream stream(state);
  for (size_t at = 0; at < to.size(); at += byte_size(dtype)) {
    write_from_int64(dtype, stream.integer(d.lo, d.hi), to.data() + at);
    stream.u64();  // b is unused.
  }
}

}  // namespace

double value_of(const Distribution& d, uint64_t a, uint64_t b) {
  switch (d.kind) {
    case Kind::Uniform:
      return value<Kind::Uniform>(d, a, b);
    case Kind::Normal:
      return value<Kind::Normal>(d, a, b);
    case Kind::LogUniform:
      return value<Kind::LogUniform>(d, a, b);
    case Kind::Integer:
      return value<Kind::Integer>(d, a, b);
    case Kind::Special:
      return value<Kind::Special>(d, a, b);
  }
  GPUEMU_UNREACHABLE();
}

void fill(RngState state, const Distribution& d, DType dtype, std::span<std::byte> to) {
  const size_t size = byte_size(dtype);
  GPUEMU_CHECK(to.size() % size == 0);
  constexpr int64_t kExact = int64_t{1} << 53;
  if (d.kind == Kind::Integer && (d.lo < -kExact || d.hi > kExact)) {
    return fill_wide_integers(state, d, dtype, to);
  }
  fill_any(state, d, {to.data(), size, dtype, false}, to.size() / size);
}

void fill_doubles(RngState state, const Distribution& d, std::span<double> to) {
  fill_any(state, d, {std::as_writable_bytes(to).data(), sizeof(double), DType::Float64, true},
           to.size());
}

}  // namespace gpuemu
