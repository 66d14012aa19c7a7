// Compares the fast pass with a slow, obvious one.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "judge/bounds/test_values.h"
#include "judge/verdict/validate.h"

namespace gpuemu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t ordered(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto magnitude = static_cast<int64_t>(bits & 0x7FFFFFFF);
  return (bits >> 31) != 0 ? -magnitude - 1 : magnitude;
}

struct Obvious {
  ErrorStats stats;
  double max_diff = 0, max_rel_diff = 0, sum_ulp = 0;
};

Obvious obvious(const std::vector<float>& output, const std::vector<float>& reference,
                double atol) {
  Obvious result;
  ErrorStats& stats = result.stats;
  std::vector<double> absolute;
  uint64_t relative_count = 0;
  for (size_t i = 0; i < output.size(); ++i) {
    const double o = output[i], r = reference[i];
    const bool finite = std::isfinite(o) && std::isfinite(r);
    const double error = finite ? std::fabs(o - r) : kInfinity;
    absolute.push_back(error);
    if (!(error <= atol)) ++stats.num_exceeding;
    if (r != 0) {
      const double relative = finite ? error / std::fabs(r) : kInfinity;
      stats.max_rel = std::max(stats.max_rel, relative);
      stats.mean_rel += relative;
      ++relative_count;
    }
    if (!std::isnan(o - r)) {
      result.max_diff = std::max(result.max_diff, std::fabs(o - r));
      const double against = r != 0 ? std::fabs(o - r) / std::fabs(r) : std::fabs(o - r);
      if (!std::isnan(against)) result.max_rel_diff = std::max(result.max_rel_diff, against);
    }
    const int64_t distance = std::abs(ordered(output[i]) - ordered(reference[i]));
    const uint64_t ulps = finite ? static_cast<uint64_t>(distance) : ~uint64_t{0};
    stats.max_ulp = std::max(stats.max_ulp, ulps);
    stats.mean_ulp += static_cast<double>(ulps);
    stats.mean_abs += error;
  }
  stats.count = output.size();
  const auto count = static_cast<double>(stats.count);
  stats.mean_abs /= count;
  stats.mean_ulp /= count;
  if (relative_count > 0) stats.mean_rel /= static_cast<double>(relative_count);
  std::sort(absolute.begin(), absolute.end());
  const auto percentile = [&](double p) {
    return absolute[static_cast<size_t>(std::llround(p * (count - 1)))];
  };
  stats.max_abs = absolute.back();
  stats.p50_abs = percentile(0.5);
  stats.p90_abs = percentile(0.9);
  stats.p99_abs = percentile(0.99);
  return result;
}

void expect_close(double actual, double expected, const char* what, double part = 1e-12) {
  if (std::isinf(expected)) {
    EXPECT_EQ(actual, expected) << what;
  } else {
    EXPECT_NEAR(actual, expected, part * std::fabs(expected)) << what;
  }
}

void expect_same(const std::vector<float>& output, const std::vector<float>& reference,
                 double atol) {
  const Tensor left = floats({static_cast<int64_t>(output.size())}, output);
  const Tensor right = floats({static_cast<int64_t>(reference.size())}, reference);
  Comparison comparison = legacy(left, right);
  comparison.policy.tolerance.atol = atol;
  const Verdict verdict = validate(comparison);
  const Obvious expected = obvious(output, reference, atol);
  ASSERT_TRUE(verdict.stats.has_value());
  EXPECT_EQ(verdict.stats->count, expected.stats.count);
  EXPECT_EQ(verdict.stats->num_exceeding, expected.stats.num_exceeding);
  EXPECT_EQ(verdict.stats->max_abs, expected.stats.max_abs);
  EXPECT_EQ(verdict.stats->p50_abs, expected.stats.p50_abs);
  EXPECT_EQ(verdict.stats->p90_abs, expected.stats.p90_abs);
  EXPECT_EQ(verdict.stats->p99_abs, expected.stats.p99_abs);
  EXPECT_EQ(verdict.stats->max_ulp, expected.stats.max_ulp);
  expect_close(verdict.stats->max_rel, expected.stats.max_rel, "max_rel");
  expect_close(verdict.stats->mean_abs, expected.stats.mean_abs, "mean_abs");
  // Quotients of float32 tensors, and sums of two, are rounded to float32: by 2^-24 at most.
  expect_close(verdict.stats->mean_rel, expected.stats.mean_rel, "mean_rel", 0x1p-23);
  expect_close(verdict.stats->mean_ulp, expected.stats.mean_ulp, "mean_ulp");
  EXPECT_EQ(verdict.max_diff, expected.max_diff);
  expect_close(verdict.max_rel_diff, expected.max_rel_diff, "max_rel_diff");
}

struct Recipe {
  const char* name;
  float (*reference)(std::mt19937&);
  float (*output)(float, std::mt19937&);
  double atol;
};

float uniform(std::mt19937& random) {
  return std::uniform_real_distribution<float>(-10, 10)(random);
}

const Recipe kRecipes[] = {
    {"equal", uniform, [](float value, std::mt19937&) { return value; }, 1e-5},
    {"last places", uniform,
     [](float value, std::mt19937& random) {
       return random() % 2 == 0 ? value : std::nextafter(value, 100.0f);
     },
     1e-5},
    {"noise", uniform,
     [](float value, std::mt19937& random) {
       return value + std::uniform_real_distribution<float>(-1e-4f, 1e-4f)(random);
     },
     1e-3},
    {"unrelated", uniform, [](float, std::mt19937& random) { return uniform(random); }, 30},
    {"many zeros", [](std::mt19937& random) { return random() % 3 == 0 ? uniform(random) : 0.0f; },
     [](float value, std::mt19937& random) { return random() % 50 == 0 ? value + 1e-6f : value; },
     1e-5},
    {"far apart",
     [](std::mt19937& random) { return std::ldexp(uniform(random), int(random() % 80) - 40); },
     [](float value, std::mt19937& random) {
       return value + std::ldexp(uniform(random), int(random() % 60) - 50);
     },
     1e15},
    {"some failures", uniform,
     [](float value, std::mt19937& random) { return random() % 997 == 0 ? 0.0f : value; }, 1e-5},
    {"not finite", uniform,
     [](float value, std::mt19937& random) {
       const auto kind = random() % 3000;
       if (kind == 0) return std::numeric_limits<float>::infinity();
       return kind == 1 ? std::numeric_limits<float>::quiet_NaN() : value;
     },
     1e-5},
};

TEST(Scan, AgreesWithAnObviousComputationOnEverySizeAndKindOfData) {
  std::mt19937 random(20240611);
  for (const Recipe& recipe : kRecipes) {
    for (const size_t count : {size_t{1}, size_t{7}, size_t{1024}, size_t{70001}, size_t{131072}}) {
      SCOPED_TRACE(testing::Message() << recipe.name << ", " << count << " elements");
      std::vector<float> output(count), reference(count);
      for (size_t i = 0; i < count; ++i) {
        reference[i] = recipe.reference(random);
        output[i] = recipe.output(reference[i], random);
      }
      expect_same(output, reference, recipe.atol);
    }
  }
}

TEST(Scan, JoinsTheHalvesOfTwoThreads) {
  const size_t count = (size_t{1} << 20) + 333;
  std::mt19937 random(7);
  std::vector<float> output(count), reference(count);
  for (size_t i = 0; i < count; ++i) {
    reference[i] = uniform(random);
    output[i] = std::nextafter(reference[i], 100.0f);
  }
  output[count - 5] = 20;
  expect_same(output, reference, 1e-5);
  const Tensor left = floats({static_cast<int64_t>(count)}, output);
  const Tensor right = floats({static_cast<int64_t>(count)}, reference);
  const Verdict verdict = validate(legacy(left, right));
  ASSERT_EQ(verdict.failures.size(), 1u);
  EXPECT_EQ(verdict.failures[0].index, static_cast<int64_t>(count - 5));
  EXPECT_EQ(verdict.worst_index, static_cast<int64_t>(count - 5));
}

}  // namespace
}  // namespace gpuemu
