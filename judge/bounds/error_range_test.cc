// Tolerances that enclose errors.
#include "judge/bounds/error_range.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "judge/bounds/comparison.h"

namespace gpuemu {
namespace {

Tensor doubles(const std::vector<double>& values) {
  Tensor tensor = make_tensor(DType::Float64, {static_cast<int64_t>(values.size())});
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

ErrorRange envelope_of(const std::vector<double>& outputs, const std::vector<double>& references) {
  const Tensor output = doubles(outputs), reference = doubles(references);
  Comparison comparison;
  comparison.output = view_of(output);
  comparison.reference = view_of(reference);
  ErrorRange envelope;
  add_errors(comparison, envelope);
  return envelope;
}

TEST(Envelope, KeepsTheLargestErrorOfEachMagnitude) {
  const ErrorRange envelope =
      envelope_of({1.5, 3.25, 3, 0.125, NAN, 8}, {1, 3, 2.9, 0, 1, INFINITY});
  EXPECT_EQ(envelope.elements, 4u);
  EXPECT_EQ(envelope.largest.at(0), 0.5);
  EXPECT_EQ(envelope.largest.at(1), 0.25);
  EXPECT_EQ(envelope.largest_at_zero, 0.125);
}

TEST(Envelope, RelativeErrorsGiveARelativeTolerance) {
  std::vector<double> outputs, references;
  for (int e = -20; e < 20; ++e) {
    references.push_back(std::ldexp(1.0, e));
    outputs.push_back(std::ldexp(1.0 + 1e-6, e));
  }
  const EnclosingTolerance found = enclose(envelope_of(outputs, references), 2);
  EXPECT_NEAR(found.rtol, 2e-6, 2e-7);
  EXPECT_LT(found.atol, 1e-10);
}

TEST(Envelope, AbsoluteErrorsGiveAnAbsoluteTolerance) {
  std::vector<double> outputs, references;
  for (int e = -10; e < 3; ++e) {
    references.push_back(std::ldexp(1.0, e));
    outputs.push_back(references.back() + 1e-3);
  }
  const EnclosingTolerance found = enclose(envelope_of(outputs, references), 2);
  EXPECT_NEAR(found.atol, 2e-3, 2e-4);
  EXPECT_LT(found.rtol, 1e-6);
}

TEST(Envelope, NoErrorGivesNoTolerance) {
  const EnclosingTolerance found = enclose(envelope_of({1, 2, 0}, {1, 2, 0}), 2);
  EXPECT_EQ(found.atol, 0);
  EXPECT_EQ(found.rtol, 0);
}

TEST(Envelope, EveryErrorLiesWithinWhateverItsForm) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> outputs, references;
    for (int i = 0; i < 30; ++i) {
      const double reference = std::ldexp(1.0 + static_cast<double>(random() % 1000) / 1000,
                                          static_cast<int>(random() % 40) - 20);
      references.push_back(random() % 10 == 0 ? 0 : reference);
      outputs.push_back(references.back() + std::ldexp(1.0, -static_cast<int>(random() % 50)));
    }
    const EnclosingTolerance found = enclose(envelope_of(outputs, references), 2);
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_LE(2 * std::fabs(outputs[i] - references[i]) * (1 - 1e-9),
                found.atol + found.rtol * std::fabs(references[i]))
          << "round " << round;
    }
  }
}

TEST(Envelope, MergesAsIfAllWereOne) {
  ErrorRange one = envelope_of({1.5, 0.1}, {1, 0});
  one.merge(envelope_of({1.75, 5}, {1, 4}));
  EXPECT_EQ(one.elements, 4u);
  EXPECT_EQ(one.largest.at(0), 0.75);
  EXPECT_EQ(one.largest.at(2), 1);
}

}  // namespace
}  // namespace gpuemu
