// The vector forms of a scan, with one thread and with two, against the scan element by element:
// random tensors of every pair of float types.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "common/numeric/element.h"
#include "judge/bounds/float_format.h"
#include "judge/bounds/test_values.h"
#include "judge/scan/scan.h"
#include "judge/scan/scan_block.h"

namespace gpuemu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr DType kFloats[] = {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};
constexpr size_t kSizes[] = {1, 7, 8, 511, 512, 513, 1029, 4096, 9001, 16383, 16384, 20011};

/// Kinds of element ranges. Most contain nothing special, so that every kind of block occurs.
enum class Mood {
  Equal,
  OneUlp,
  Noise,
  SameError,
  Zeros,
  Wild,
  Subnormal,
  Huge,
  TooHuge,
  NotFinite
};

struct Source {
  std::mt19937_64 random;

  uint64_t below(uint64_t limit) { return random() % limit; }
  double unit() { return static_cast<double>(random() >> 11) * 0x1p-53; }
  double centred() { return 2 * unit() - 1; }

  Mood mood() {
    constexpr Mood kMoods[] = {Mood::Equal,     Mood::OneUlp, Mood::OneUlp,  Mood::Noise,
                               Mood::Noise,     Mood::Zeros,  Mood::Wild,    Mood::SameError,
                               Mood::Subnormal, Mood::Huge,   Mood::TooHuge, Mood::NotFinite};
    return kMoods[below(std::size(kMoods))];
  }

  double reference(Mood mood, DType dtype) {
    const FloatLimits limits = float_limits(dtype);
    switch (mood) {
      case Mood::Zeros:
        return below(3) == 0 ? centred() : (below(2) == 0 ? 0.0 : -0.0);
      case Mood::Wild:
        return std::ldexp(centred(), static_cast<int>(below(40)) - 20);
      case Mood::Subnormal:
        return limits.min_subnormal * std::floor(centred() * 50);
      case Mood::Huge:
        return limits.max * centred();
      case Mood::TooHuge:
        return limits.max * (1 + centred() * 4 * limits.ulp_of_one) * (below(9) == 0 ? 1e9 : 1);
      case Mood::NotFinite:
        return special(centred());
      default:
        return 4 * centred();
    }
  }
  double output(Mood mood, double reference, DType dtype) {
    const FloatLimits limits = float_limits(dtype);
    switch (mood) {
      case Mood::Equal:
        return reference;
      case Mood::Zeros:
        return below(20) == 0 ? centred() * 1e-6 : reference;
      case Mood::Noise:
        return reference * (1 + centred() * 8 * limits.ulp_of_one);
      case Mood::SameError:
        return reference + 4 * limits.ulp_of_one;
      case Mood::Wild:
        return reference * (below(10) == 0 ? 8 * centred() : 1 + centred() * 0.01);
      case Mood::TooHuge:
        return limits.max * unit();
      case Mood::Subnormal:
        return reference + limits.min_subnormal * static_cast<double>(below(3));
      case Mood::NotFinite:
        return special(reference);
      default:
        return reference * (1 + static_cast<double>(below(3)) * limits.ulp_of_one);
    }
  }
  double special(double otherwise) {
    constexpr double kValues[] = {kInfinity, -kInfinity, kNan, 0.0};
    const uint64_t which = below(200);
    return which < std::size(kValues) ? kValues[which] : otherwise;
  }
};

struct Sample {
  Tensor output, reference;
  std::vector<double> scale;
};

Sample random_sample(Source& source, DType output, DType reference, size_t count) {
  const auto columns = static_cast<int64_t>(count % 8 == 0 ? 8 : 1);
  const Shape shape{static_cast<int64_t>(count) / columns, columns};
  Sample sample{make_tensor(output, shape), make_tensor(reference, shape), {}};
  std::vector<double> outputs(count), references(count);
  Mood mood = source.mood();
  for (size_t i = 0; i < count; ++i) {
    if (i % 256 == 0 && source.below(2) == 0) mood = source.mood();
    references[i] = source.reference(mood, output);
    const double rounded = round_to(reference, references[i]);
    outputs[i] = source.output(mood, rounded, output);
    sample.scale.push_back(source.below(500) == 0 ? kNan : source.unit());
  }
  narrow_from_double(output, outputs, sample.output.data);
  narrow_from_double(reference, references, sample.reference.data);
  return sample;
}

Comparison random_comparison(Source& source, const Sample& sample) {
  constexpr double kTolerances[] = {0, 1e-30, 1e-6, 1e-3, 1, 1e30, kInfinity};
  constexpr ErrorScale kScales[] = {ErrorScale::Auto, ErrorScale::Elementwise, ErrorScale::Tanh,
                                    ErrorScale::Softmax};
  Comparison comparison = legacy(sample.output, sample.reference);
  comparison.reference_is_wide = true;
  ValidationPolicy& policy = comparison.policy;
  policy.tolerance.atol = kTolerances[source.below(std::size(kTolerances))];
  policy.tolerance.rtol = kTolerances[source.below(5)];
  if (source.below(4) == 0) policy.tolerance.ulp = source.below(6);
  policy.tolerance.automatic = source.below(2) == 0;
  policy.error_scale = kScales[source.below(std::size(kScales))];
  policy.input_abs_max = 3;
  policy.ftz_ok = source.below(2) == 0;
  if (source.below(4) == 0) policy.accumulate_length = 1000;
  if (source.below(3) == 0) comparison.scale = sample.scale;
  if (source.below(3) != 0) policy.nan_policy = static_cast<NanPolicy>(source.below(3));
  return comparison;
}

/// Equal but for the order and the rounding of sums.
void expect_near(double actual, double expected, double part, const char* what) {
  if (std::isfinite(expected)) {
    EXPECT_NEAR(actual, expected, part * std::fabs(expected)) << what;
  } else {
    EXPECT_EQ(actual, expected) << what;
  }
}

void expect_same(const Comparison& comparison, const ScanOptions& options) {
  const Judge judge(comparison);
  ErrorStats stats, expected;
  const Scan slow = scan_floats(judge, {}, expected);
  const Scan scan = scan_floats(judge, options, stats);
  for (size_t i = 0; i < kFaultCount; ++i) {
    ASSERT_EQ(scan.faults[i].count(), slow.faults[i].count()) << "fault " << i;
    if (scan.faults[i].count() == 0) continue;
    EXPECT_EQ(scan.faults[i].first(), slow.faults[i].first());
    EXPECT_EQ(scan.faults[i].pattern(scan.grid), slow.faults[i].pattern(slow.grid));
  }
  EXPECT_EQ(scan.bound_ratio_max, slow.bound_ratio_max);
  EXPECT_EQ(scan.worst_index, slow.worst_index);
  EXPECT_EQ(scan.max_diff, slow.max_diff);
  EXPECT_EQ(scan.max_rel_diff, slow.max_rel_diff);
  EXPECT_EQ(stats.count, expected.count);
  EXPECT_EQ(stats.num_exceeding, expected.num_exceeding);
  EXPECT_EQ(stats.max_abs, expected.max_abs);
  EXPECT_EQ(stats.p50_abs, expected.p50_abs);
  EXPECT_EQ(stats.p90_abs, expected.p90_abs);
  EXPECT_EQ(stats.p99_abs, expected.p99_abs);
  EXPECT_EQ(stats.max_rel, expected.max_rel);
  EXPECT_EQ(stats.max_ulp, expected.max_ulp);
  expect_near(stats.mean_abs, expected.mean_abs, 1e-12, "mean_abs");
  // float_block rounds quotients and sums of two to float32, each by at most 2^-24.
  expect_near(stats.mean_rel, expected.mean_rel, 0x1p-23, "mean_rel");
  expect_near(stats.mean_ulp, expected.mean_ulp, 1e-12, "mean_ulp");
}

/// Returns the mean of order_number() over the elements; over all of them if there are few.
double mean_of_order_numbers(const Comparison& comparison, size_t count) {
  const FloatFormat& format = format_of(comparison.output.dtype);
  double sum = 0;
  size_t finite = 0;
  for (size_t i = 0; i < count; ++i) {
    const double output = element(comparison.output, i),
                 reference = element(comparison.reference, i);
    if (!std::isfinite(output) || !std::isfinite(reference)) continue;
    ++finite;
    sum += static_cast<double>(order_number(format, output)) -
           static_cast<double>(order_number(format, reference));
  }
  return finite == 0 ? 0 : sum / static_cast<double>(finite);
}

TEST(ScanProperty, TheMeanOfSignedUnitsIsThatOfTheOrderOfTheFormat) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const DType reference : {DType::Float32, DType::Float64}) {
      for (const size_t size : {size_t{7}, size_t{8}, size_t{1029}, size_t{4096}}) {
        Source source{std::mt19937_64(seed)};
        const Sample sample = random_sample(source, DType::Float32, reference, size);
        const Comparison comparison = random_comparison(source, sample);
        ErrorStats stats;
        const Scan scan = scan_floats(Judge(comparison), fastest_scan(), stats);
        const double expected = scan.max_ulp > 0 ? mean_of_order_numbers(comparison, size) : 0;
        ASSERT_EQ(stats.mean_signed_ulp, expected) << "seed " << seed << ", " << size;
      }
    }
  }
}

TEST(ScanProperty, FindsTheSameWithVectorsAndThreadsAsElementByElement) {
  if (!has_vector_blocks()) GTEST_SKIP() << "this processor runs the scan element by element only";
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds; ++round) {
    for (const DType output : kFloats) {
      for (const DType reference : kFloats) {
        for (const size_t size : kSizes) {
          const uint64_t seed = std::bit_cast<uint64_t>(std::array<uint16_t, 4>{
              static_cast<uint16_t>(round), static_cast<uint16_t>(output),
              static_cast<uint16_t>(reference), static_cast<uint16_t>(size)});
          Source source{std::mt19937_64(seed)};
          const Sample sample = random_sample(source, output, reference, size);
          const Comparison comparison = random_comparison(source, sample);
          SCOPED_TRACE(testing::Message()
                       << "seed " << seed << ": " << name_of(output) << " against "
                       << name_of(reference) << ", " << size << " elements");
          expect_same(comparison, {true, ~size_t{0}});
          expect_same(comparison, {true, 1024});
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(ScanProperty, TakesErrorsOfFloatsFarApartFromFloat64) {
  // A difference of floats more than a factor of two apart may not be a float.
  std::mt19937_64 random(7);
  std::vector<float> outputs(8192), references(8192);
  for (size_t i = 0; i < outputs.size(); ++i) {
    references[i] = std::uniform_real_distribution<float>(1, 2)(random);
    outputs[i] = references[i] * std::uniform_real_distribution<float>(0.1f, 4)(random);
  }
  outputs[0] = 1e6f;  // From here on no block raises a maximum.
  const Tensor output = floats({8192}, outputs), reference = floats({8192}, references);
  for (const double rtol : {0.0, 1e-6}) {
    Comparison comparison = legacy(output, reference);
    comparison.policy.tolerance = {false, 1e7, rtol, {}};
    expect_same(comparison, {has_vector_blocks(), ~size_t{0}});
  }
}

}  // namespace
}  // namespace gpuemu
