#include "runtime/emulator/shadow/arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

// Compiled for processors with FMA as well; the variant is chosen at program start. Sanitizers
// cannot run before that choice.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(GPUEMU_PORTABLE_ONLY)
#define GPUEMU_CLONES __attribute__((target_clones("arch=haswell", "default")))
#else
#define GPUEMU_CLONES
#endif

namespace gpuemu::emulator {
namespace {

#define GPUEMU_LANES(expression_of_lane)           \
  for (uint32_t lane = 0; lane < kLanes; ++lane) { \
    expression_of_lane;                            \
  }

inline DoubleDouble at(const Lanes& of, uint32_t lane) { return {of.high[lane], of.low[lane]}; }
inline void put(Lanes& to, uint32_t lane, DoubleDouble value, double propagated,
                const Operation& by) {
  to.high[lane] = value.high;
  to.low[lane] = value.low;
  to.bound[lane] = propagated + by.unit * std::fabs(value.high) + by.absolute;
}

using Three = std::array<Lanes, 3>;

/// Returns the smallest distance from 0 that a divisor may have. For a scale of one subnormal unit,
/// rounding may change half of it.
inline double least_of(double divisor, double bound) {
  const double size = std::fabs(divisor);
  return std::max(size - bound, kLeastLeft * size);
}

GPUEMU_CLONES void add_lanes(const Operation& by, const Three& in, Lanes& out){
    GPUEMU_LANES(put(out, lane, add(at(in[0], lane), at(in[1], lane)),
                     in[0].bound[lane] + in[1].bound[lane], by))} GPUEMU_CLONES
    void subtract_lanes(const Operation& by, const Three& in, Lanes& out) {
  GPUEMU_LANES(put(out, lane, add(at(in[0], lane), negated(at(in[1], lane))),
                   in[0].bound[lane] + in[1].bound[lane], by))
}
inline double product_bound(const Lanes& a, const Lanes& b, uint32_t lane) {
  return std::fabs(a.high[lane]) * b.bound[lane] + std::fabs(b.high[lane]) * a.bound[lane] +
         a.bound[lane] * b.bound[lane];
}
GPUEMU_CLONES void multiply_lanes(const Operation& by, const Three& in, Lanes& out){GPUEMU_LANES(
    put(out, lane, multiply(at(in[0], lane), at(in[1], lane)), product_bound(in[0], in[1], lane),
        by))} GPUEMU_CLONES void fused_lanes(const Operation& by, const Three& in, Lanes& out){
    GPUEMU_LANES(put(out, lane, add(multiply(at(in[0], lane), at(in[1], lane)), at(in[2], lane)),
                     product_bound(in[0], in[1], lane) + in[2].bound[lane], by))} GPUEMU_CLONES
    void divide_lanes(const Operation& by, const Three& in, Lanes& out) {
  GPUEMU_LANES(const DoubleDouble value = divide(at(in[0], lane), at(in[1], lane));
               put(out, lane, value,
                   (in[0].bound[lane] + std::fabs(value.high) * in[1].bound[lane]) /
                       least_of(in[1].high[lane], in[1].bound[lane]),
                   by))
}

template <typename Function>
void each_lane(const Operation& by, Lanes& out, const Function& function) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const auto [value, propagated] = function(lane);
    put(out, lane, value, propagated, by);
  }
}

struct Valued {
  DoubleDouble value;
  double bound = 0;
};

/// Computes e^x - 1, for x of a few roundings at most.
double grown(double x) {
  constexpr double kCubeIsLost = 0x1p-27;  // Below it x^3 is lost beside the first two terms.
  return x < kCubeIsLost ? x + x * x / 2 : std::expm1(x);
}

/// Computes a function of one operand; the nearest double is exact enough.
Valued elementary(Meaning meaning, DoubleDouble x, double bound) {
  const double at = x.high;
  switch (meaning) {
    case Meaning::Ex2: {
      const double y = std::exp2(at), z = y + kept(y, y * (x.low * std::numbers::ln2));
      return {{z, 0}, bound == 0 ? 0 : z * grown(bound * std::numbers::ln2)};
    }
    case Meaning::Lg2: {
      const double y = std::log2(at);
      const double slope = 1 / (at * std::numbers::ln2);
      return {{y + kept(y, kept(slope, x.low * slope)), 0},
              bound == 0 ? 0 : std::fabs(slope) * bound};
    }
    case Meaning::Sin:
      return {{std::sin(at), 0}, bound};
    case Meaning::Cos:
      return {{std::cos(at), 0}, bound};
    default: {
      const double y = std::tanh(at);
      return {{y, 0}, (1 - y * y) * bound + bound * bound};
    }
  }
}

Valued rooted(Meaning meaning, DoubleDouble x, double bound) {
  constexpr DoubleDouble kOne{1, 0};
  if (meaning == Meaning::Rcp) {
    const DoubleDouble y = divide(kOne, x);
    return {y, bound == 0 ? 0 : std::fabs(y.high) * bound / least_of(x.high, bound)};
  }
  const DoubleDouble root = square_root(x);
  if (meaning == Meaning::Sqrt) return {root, bound == 0 ? 0 : bound / (2 * root.high)};
  const DoubleDouble y = divide(kOne, root);
  return {y, bound == 0 ? 0 : std::fabs(y.high) * bound / (2 * std::fabs(x.high))};
}

/// Handles min and max: the larger (smaller) operand, and a number rather than NaN.
Valued extreme(const Operation& by, const Three& in, uint32_t lane) {
  const DoubleDouble a = at(in[0], lane), b = at(in[1], lane);
  const bool takes_b =
      std::isnan(a.high) ||
      (!std::isnan(b.high) && (by.meaning == Meaning::Max ? less(a, b) : less(b, a)));
  return {takes_b ? b : a, std::max(in[0].bound[lane], in[1].bound[lane])};
}

bool is_root(Meaning meaning) {
  return meaning == Meaning::Rcp || meaning == Meaning::Sqrt || meaning == Meaning::Rsqrt;
}
}  // namespace

void clamp(Lanes& out) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (out.high[lane] >= 0 && out.high[lane] <= 1) continue;
    out.high[lane] = out.high[lane] > 1 ? 1 : 0;
    out.low[lane] = 0;
  }
}

double least_far(Format format) {
  constexpr double kFar = 0x1p-8, kCoarseUnits = 16;
  return std::max(kFar, kCoarseUnits * unit_of(format));
}

void compute(const Operation& by, const std::array<Lanes, 3>& in, Lanes& out) {
  switch (by.meaning) {
    case Meaning::Add:
      add_lanes(by, in, out);
      break;
    case Meaning::Sub:
      subtract_lanes(by, in, out);
      break;
    case Meaning::Mul:
      multiply_lanes(by, in, out);
      break;
    case Meaning::Fma:
      fused_lanes(by, in, out);
      break;
    case Meaning::Div:
      divide_lanes(by, in, out);
      break;
    case Meaning::Min:
    case Meaning::Max:
      each_lane(by, out, [&](uint32_t lane) { return extreme(by, in, lane); });
      break;
    case Meaning::Neg:
      each_lane(by, out,
                [&](uint32_t lane) { return Valued{negated(at(in[0], lane)), in[0].bound[lane]}; });
      break;
    case Meaning::Abs:
      each_lane(by, out, [&](uint32_t lane) {
        const DoubleDouble x = at(in[0], lane);
        return Valued{x.high < 0 ? negated(x) : x, in[0].bound[lane]};
      });
      break;
    case Meaning::CopySign:  // The sign comes from the first operand.
      each_lane(by, out, [&](uint32_t lane) {
        const DoubleDouble x = at(in[1], lane);
        const bool turn = std::signbit(in[0].high[lane]) != std::signbit(x.high);
        return Valued{turn ? negated(x) : x, in[1].bound[lane]};
      });
      break;
    case Meaning::Convert:
      each_lane(by, out, [&](uint32_t lane) { return Valued{at(in[0], lane), in[0].bound[lane]}; });
      break;
    default:
      each_lane(by, out, [&](uint32_t lane) {
        return is_root(by.meaning) ? rooted(by.meaning, at(in[0], lane), in[0].bound[lane])
                                   : elementary(by.meaning, at(in[0], lane), in[0].bound[lane]);
      });
  }
  if (by.saturates) clamp(out);
}

namespace {
/// Returns the derivative of a function of one operand.
double slope_of(Meaning meaning, double x, double y) {
  switch (meaning) {
    case Meaning::Neg:
      return -1;
    case Meaning::Abs:
      return x < 0 ? -1 : 1;
    case Meaning::Sqrt:
      return y == 0 ? 0 : 1 / (2 * y);
    case Meaning::Rsqrt:
      return -y / (2 * x);
    case Meaning::Rcp:
      return -y * y;
    case Meaning::Ex2:
      return y * std::numbers::ln2;
    case Meaning::Lg2:
      return 1 / (x * std::numbers::ln2);
    case Meaning::Sin:
      return std::cos(x);
    case Meaning::Cos:
      return -std::sin(x);
    case Meaning::Tanh:
      return 1 - y * y;
    default:
      return 1;
  }
}
}  // namespace

void differentiate(const Operation& by, const std::array<Lanes, 3>& in, const Lanes& out,
                   Slopes& slopes) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const double a = in[0].high[lane], b = in[1].high[lane], y = out.high[lane];
    const bool second = by.meaning == Meaning::Max ? a < b : b < a;
    std::array<double, 3> of = {slope_of(by.meaning, a, y), 0, 0};
    if (by.meaning == Meaning::Add) of = {1, 1, 0};
    if (by.meaning == Meaning::Sub) of = {1, -1, 0};
    if (by.meaning == Meaning::Mul) of = {b, a, 0};
    if (by.meaning == Meaning::Fma) of = {b, a, 1};
    if (by.meaning == Meaning::Div) of = {1 / b, -y / b, 0};
    if (by.meaning == Meaning::Min || by.meaning == Meaning::Max) {
      of = {second ? 0.0 : 1.0, second ? 1.0 : 0.0, 0};
    }
    if (by.meaning == Meaning::CopySign) of = {0, y == b ? 1.0 : -1.0, 0};
    for (size_t i = 0; i < of.size(); ++i) slopes[i][lane] = of[i];
  }
}

GPUEMU_CLONES void fetch_floats(const uint32_t* bits, const Plane* plane, Lanes& to) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    to.computed[lane] = static_cast<double>(std::bit_cast<float>(bits[lane]));
  }
  if (plane == nullptr) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      to.high[lane] = to.computed[lane];
      to.low[lane] = to.bound[lane] = 0;
      to.node[lane] = 0;
    }
    return;
  }
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const bool live = plane->held[lane] == Held::Four && plane->bits[lane] == bits[lane];
    to.high[lane] = live ? plane->high[lane] : to.computed[lane];
    to.low[lane] = live ? plane->low[lane] : 0;
    to.bound[lane] = live ? plane->bound[lane] : 0;
    to.node[lane] = live ? plane->node[lane] : 0;
  }
}

GPUEMU_CLONES void fetch_doubles(const uint64_t* bits, const Plane* plane, Lanes& to) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    to.computed[lane] = std::bit_cast<double>(bits[lane]);
    const bool live = plane != nullptr && plane->held[lane] == Held::Eight &&
                      (plane->bits[lane] | uint64_t{plane->bits_high[lane]} << 32) == bits[lane];
    to.high[lane] = live ? plane->high[lane] : to.computed[lane];
    to.low[lane] = live ? plane->low[lane] : 0;
    to.bound[lane] = live ? plane->bound[lane] : 0;
    to.node[lane] = live ? plane->node[lane] : 0;
  }
}

GPUEMU_CLONES uint32_t far_off(const Lanes& result, double least, uint32_t mask) {
  uint32_t far = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const double gap = std::fabs((result.computed[lane] - result.high[lane]) - result.low[lane]);
    // Written so that a lane counts if either is NaN or infinite, also if both are infinite.
    far |= static_cast<uint32_t>(!(gap <= least * std::fabs(result.high[lane]))) << lane;
  }
  return far & mask;
}

}  // namespace gpuemu::emulator
