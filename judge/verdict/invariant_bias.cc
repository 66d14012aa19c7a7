// `unbiased`: rounding to nearest errs equally in both directions, truncation does not.
//
// Elements whose reference is clearly between two neighbours of the output's format have one
// nearest neighbour, which a correct kernel hits whatever the values are. Misses are counted in
// ulps. The lower and the upper half of the gap have equal weight, so that values that are all in
// one half (x + 0.01 for numbers of few digits) do not look biased.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "judge/verdict/invariant_subject.h"

namespace gpuemu::invariants {
namespace {

/// Limit of the sampled elements, spread over the output.
constexpr size_t kSampleMax = size_t{1} << 16;
/// Positions in the gap, as a fraction of it: where the nearest neighbour is unambiguous, and from
/// where on truncation and rounding differ (upper half) or agree (lower half).
constexpr double kClear = 0.125, kHalf = 0.5;
/// Default limit: half of the bias of truncation.
constexpr double kUlpsAllowed = 0.25;
/// The bias must exceed the limit by this many standard errors: by chance, once in 10^10 cases.
constexpr double kSigmas = 6.5;
/// Minimum variance, that of a coin flip: misses are mostly steps of one ulp, and a few elements
/// that all agree must not count as certain.
constexpr double kVarianceMin = 0.25;

struct Miss {
  double reference = 0;
  double ulps = 0;    ///< Output minus the nearest neighbour.
  double inward = 0;  ///< `ulps`, counted toward zero.
};

/// Keeps one of several equal elements, because only different ones have independent errors.
void keep_different(std::vector<Miss>& misses) {
  std::ranges::sort(misses, {}, &Miss::reference);
  const auto same = [](const Miss& a, const Miss& b) { return a.reference == b.reference; };
  misses.erase(std::unique(misses.begin(), misses.end(), same), misses.end());
}

struct Mean {
  double mean = 0, variance = kVarianceMin, count = 0;
};

Mean mean_of(const std::vector<Miss>& misses, double Miss::* what) {
  Mean made{.count = static_cast<double>(misses.size())};
  if (misses.empty()) return made;
  double sum = 0, squares = 0;
  for (const Miss& miss : misses) sum += miss.*what;
  made.mean = sum / made.count;
  for (const Miss& miss : misses) squares += (miss.*what - made.mean) * (miss.*what - made.mean);
  made.variance = std::max(kVarianceMin, squares / made.count);
  return made;
}

struct Bias {
  double ulps = 0, error = INFINITY;
  bool stands_out(double allowed) const { return std::fabs(ulps) > allowed + kSigmas * error; }
};

class Halves {
 public:
  explicit Halves(const Subject& subject) : subject_(subject) {
    const size_t count = subject.values.size();
    const size_t step = (count + kSampleMax - 1) / kSampleMax;
    for (size_t i = 0; i < count; i += std::max<size_t>(step, 1)) add(i);
    keep_different(lower_);
    keep_different(upper_);
  }

  Bias bias(double Miss::* what) const {
    const Mean low = mean_of(lower_, what), high = mean_of(upper_, what);
    if (low.count == 0 || high.count == 0) return {};
    return {(low.mean + high.mean) / 2,
            std::sqrt(low.variance / low.count + high.variance / high.count) / 2};
  }
  size_t elements() const { return lower_.size() + upper_.size(); }

 private:
  void add(size_t index) {
    const FloatFormat& format = format_of(subject_.comparison.output.dtype);
    const double reference = element(subject_.comparison.reference, index);
    const double value = subject_.values[index];
    if (!std::isfinite(reference) || !std::isfinite(value)) return;
    const double step = ulp_at(format, reference), magnitude = std::fabs(reference) / step;
    const double place = magnitude - std::floor(magnitude);
    const bool low = place > kClear && place < kHalf - kClear;
    const bool high = place > kHalf + kClear && place < 1 - kClear;
    if (!low && !high) return;
    const double nearest = std::copysign(std::nearbyint(magnitude) * step, reference);
    const double ulps = (value - nearest) / step;
    (low ? lower_ : upper_).push_back({reference, ulps, reference < 0 ? ulps : -ulps});
  }

  const Subject& subject_;
  std::vector<Miss> lower_, upper_;
};

/// A reference that is already rounded has no position between neighbours.
bool has_places(const Comparison& comparison) {
  return comparison.has_reference && is_float(comparison.output.dtype) &&
         comparison.output.shape == comparison.reference.shape &&
         comparison.reference.dtype == DType::Float64 && comparison.output.dtype != DType::Float64;
}

}  // namespace

bool can_show_bias(const Subject& subject) {
  if (!has_places(subject.comparison)) return false;
  const Bias bias = Halves(subject).bias(&Miss::inward);
  // A truncating kernel would be detected.
  return kHalf > subject.number("ulps", kUlpsAllowed) + kSigmas * bias.error;
}

Finding check_unbiased(const Subject& subject) {
  if (!has_places(subject.comparison)) return std::nullopt;
  const double allowed = subject.number("ulps", kUlpsAllowed);
  const Halves halves(subject);
  const Bias inward = halves.bias(&Miss::inward), upward = halves.bias(&Miss::ulps);
  const bool towards_zero =
      inward.stands_out(allowed) && std::fabs(inward.ulps) >= std::fabs(upward.ulps);
  if (!towards_zero && !upward.stands_out(allowed)) return std::nullopt;
  const Bias& bias = towards_zero ? inward : upward;
  const char* direction = towards_zero ? (bias.ulps > 0 ? "towards zero" : "away from zero")
                                       : (bias.ulps > 0 ? "upwards" : "downwards");
  return violation(
      subject,
      fmt::format("results are off {} by {:.2f} ulp on average of {} different values (standard "
                  "error {:.3f}), allowed is {}; round to nearest (__float2half_rn, "
                  "__float2bfloat16_rn, cvt.rn) instead of cutting bits off",
                  direction, std::fabs(bias.ulps), halves.elements(), bias.error, allowed));
}

}  // namespace gpuemu::invariants
