// Attention, called as it is declared and executed by the emulator, against float64.
#include <cmath>
#include <limits>

#include "kernels/op_fixture.h"

namespace gpuemu {
namespace {

constexpr DType kF32 = DType::Float32;

struct AttentionCase {
  int64_t queries, keys, dim, v_dim;
  bool causal = false;
  double scale = 0;

  double factor() const { return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(dim)); }
  size_t visible(size_t query) const {
    const auto all = static_cast<size_t>(keys);
    return causal ? std::min(all, query + 1) : all;
  }
};

/// Computes one query's output: the sum of v over the keys that it sees, each with its share.
void attend(const AttentionCase& c, const double* q, const double* k, const double* v,
            size_t visible, double* y) {
  const auto dim = static_cast<size_t>(c.dim), v_dim = static_cast<size_t>(c.v_dim);
  Numbers scores(visible);
  double most = -std::numeric_limits<double>::infinity(), total = 0;
  for (size_t j = 0; j < visible; ++j) {
    for (size_t i = 0; i < dim; ++i) scores[j] += q[i] * k[j * dim + i] * c.factor();
    most = std::max(most, scores[j]);
  }
  for (double& score : scores) total += score = std::exp(score - most);
  for (size_t j = 0; j < visible; ++j) {
    for (size_t i = 0; i < v_dim; ++i) y[i] += scores[j] / total * v[j * v_dim + i];
  }
}

Numbers expected_of(const AttentionCase& c, const Numbers& q, const Numbers& k, const Numbers& v) {
  const auto queries = static_cast<size_t>(c.queries), keys = static_cast<size_t>(c.keys);
  const auto dim = static_cast<size_t>(c.dim), v_dim = static_cast<size_t>(c.v_dim);
  Numbers y(q.size() / dim * v_dim);
  for (size_t row = 0; row < q.size() / dim; ++row) {
    const size_t first_key = row / queries * keys;
    attend(c, &q[row * dim], k.data() + first_key * dim, v.data() + first_key * v_dim,
           c.visible(row % queries), &y[row * v_dim]);
  }
  return y;
}

class Attention : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Variants, Attention, testing::Values("naive", "online"),
                         [](const auto& item) { return std::string(item.param); });

TEST_P(Attention, WeighsTheValuesAtSizesThatNoTileDivides) {
  const AttentionCase cases[] = {{1, 1, 1, 1},
                                 {33, 65, 7, 9},
                                 {65, 33, 9, 7, true},
                                 {3, 40, 128, 5, false, 0.5},
                                 {40, 40, 16, 128, true, -0.25}};
  for (const AttentionCase& c : cases) {
    OpRun op("attention", GetParam());
    op.attribute<int32_t>(c.causal);
    op.attribute(c.scale);
    const Numbers q = op.input(kF32, {2, c.queries, c.dim}), k = op.input(kF32, {2, c.keys, c.dim});
    const Numbers v = op.input(kF32, {2, c.keys, c.v_dim});
    op.output(kF32, {2, c.queries, c.v_dim});
    const Numbers actual = op.run(), expected = expected_of(c, q, k, v);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-4) << i;
  }
}

TEST_P(Attention, DoesNotReadWhatTheMaskHides) {
  const double nan = std::nan("");
  OpRun op("attention", GetParam());
  op.attribute<int32_t>(1);
  op.attribute(1.0);
  op.input(kF32, {3, 1}, {1, 1, 1});
  op.input(kF32, {3, 1}, {0, 0, nan});
  op.input(kF32, {3, 1}, {2, 4, nan});
  op.output(kF32, {3, 1});
  const Numbers y = op.run();
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[1], 3);
  EXPECT_TRUE(std::isnan(y[2]));
}

TEST_P(Attention, TakesNothingOfAKeyThatIsInfinitelyFar) {
  // The first tile of keys has nothing but such keys.
  Numbers k(40, -std::numeric_limits<double>::infinity()), v(40, 7.0);
  k[38] = k[39] = 1;
  v[38] = 3;
  v[39] = 5;
  OpRun op("attention", GetParam());
  op.input(kF32, {1, 1}, {1});
  op.input(kF32, {40, 1}, k);
  op.input(kF32, {40, 1}, v);
  op.output(kF32, {1, 1});
  EXPECT_EQ(op.run()[0], 4);
}

TEST_P(Attention, IsZeroWithoutKeysAndNothingWithoutQueries) {
  for (const int64_t queries : {0, 2}) {
    OpRun op("attention", GetParam());
    op.input(kF32, {2, queries, 3});
    op.input(kF32, {2, 0, 3});
    op.input(kF32, {2, 0, 4});
    op.output(kF32, {2, queries, 4});
    EXPECT_EQ(op.run(), Numbers(static_cast<size_t>(queries) * 8, 0.0));
  }
}

TEST(AttentionChoice, IsNaiveForRowsThatNoTileHolds) {
  const AttentionCase c{5, 6, 129, 3};
  OpRun op("attention");
  const Numbers q = op.input(kF32, {5, 129}), k = op.input(kF32, {6, 129});
  const Numbers v = op.input(kF32, {6, 3});
  op.output(kF32, {5, 3});
  const Numbers actual = op.run(), expected = expected_of(c, q, k, v);
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-4) << i;
}

}  // namespace
}  // namespace gpuemu
