#include "judge/inbounds/prover.h"

#include <gtest/gtest.h>

namespace gpuemu::inbounds {
namespace {

struct Numbers {
  Symbols symbols;
  Polynomial add(const char* name, Interval range = {}) {
    return Polynomial::symbol(symbols.add({.name = name, .range = range}));
  }
};

TEST(Polynomial, AddsMultipliesAndTakesApart) {
  Numbers numbers;
  const Polynomial x = numbers.add("x");
  const Polynomial y = numbers.add("y");
  const Polynomial sum = (x + y) * (x - y) + Polynomial(3);
  EXPECT_EQ(numbers.symbols.text(sum), "x*x - y*y + 3");
  EXPECT_EQ(sum - sum, Polynomial());
  EXPECT_EQ((Polynomial(4) * x + Polynomial(6)).split_by(4).first, x + Polynomial(1));
  EXPECT_EQ((Polynomial(4) * x + Polynomial(6)).split_by(4).second, Polynomial(2));
  EXPECT_FALSE(sum.linear_in(0));
  EXPECT_EQ((x * y + x).linear_in(0)->factor, y + Polynomial(1));
  EXPECT_EQ((x * y * Polynomial(6)).divided_by(x * Polynomial(2)), y * Polynomial(3));
}

TEST(Polynomial, IsBrokenWhereANumberLeaves64Bits) {
  const Polynomial huge(INT64_MAX);
  EXPECT_TRUE((huge + Polynomial(1)).is_broken());
  EXPECT_TRUE((huge * Polynomial(2)).is_broken());
  EXPECT_TRUE((Polynomial(0) * (huge * Polynomial(2))).is_broken());
}

TEST(InequalityProver, UsesAGuard) {
  Numbers numbers;
  const Polynomial n = numbers.add("n", {1, 100000});
  const Polynomial block = numbers.add("block", {0, Interval::kNone});
  const Polynomial thread = numbers.add("thread", {0, 255});
  const Polynomial i = Polynomial(256) * block + thread;
  Known guarded;
  guarded.facts = {n - Polynomial(1) - i};
  InequalityProver prover(numbers.symbols);
  EXPECT_TRUE(prover.holds(Polynomial(4) * n - Polynomial(4) * i - Polynomial(4), guarded));
  EXPECT_FALSE(prover.holds(Polynomial(4) * n - Polynomial(4) * i - Polynomial(8), guarded));
  EXPECT_FALSE(prover.holds(Polynomial(4) * n - Polynomial(4) * i - Polynomial(4), {}));
}

TEST(InequalityProver, MultipliesRowsByColumns) {
  Numbers numbers;
  const Polynomial rows = numbers.add("rows", {1, 64});
  const Polynomial cols = numbers.add("cols", {1, 4096});
  const Polynomial row = numbers.add("row", {0, Interval::kNone});
  const Polynomial col = numbers.add("col", {0, Interval::kNone});
  Known known;
  known.facts = {rows - Polynomial(1) - row, cols - Polynomial(1) - col};
  InequalityProver prover(numbers.symbols);
  EXPECT_TRUE(prover.holds(rows * cols - row * cols - col - Polynomial(1), known));
  EXPECT_FALSE(prover.holds(rows * cols - row * cols - col - Polynomial(2), known));
}

TEST(InequalityProver, RoundsQuotientsDown) {
  Numbers numbers;
  const Polynomial n = numbers.add("n", {4, 1000});
  InequalityProver prover(numbers.symbols);
  const Polynomial quads = numbers.symbols.floor_of(n, 4);
  EXPECT_TRUE(prover.holds(quads - Polynomial(1), {}));
  EXPECT_FALSE(prover.holds(quads - Polynomial(2), {}));
  EXPECT_TRUE(prover.holds(n - Polynomial(4) * quads, {}));
  EXPECT_TRUE(prover.holds(Polynomial(3) - numbers.symbols.modulo(n, 4), {}));
  EXPECT_FALSE(prover.holds(Polynomial(2) - numbers.symbols.modulo(n, 4), {}));
}

TEST(InequalityProver, DistinguishesCases) {
  Numbers numbers;
  const Polynomial n = numbers.add("n", {0, 100});
  const Polynomial m = numbers.add("m", {0, 100});
  const Polynomial least = numbers.symbols.extreme_of(n, m, false);
  const Polynomial most = numbers.symbols.extreme_of(n, m, true);
  InequalityProver prover(numbers.symbols);
  EXPECT_TRUE(prover.holds(n + m - least - most, {}));
  EXPECT_TRUE(prover.holds(least + most - n - m, {}));
  EXPECT_FALSE(prover.holds(least - Polynomial(1), {}));
  Known known;
  known.unequal = {least};
  EXPECT_TRUE(prover.holds(least - Polynomial(1), known));
}

// x * f with f of unknown sign proves nothing where x may be 0.
TEST(InequalityProver, DoesNotDivideByWhatMayBeZero) {
  Numbers numbers;
  const Polynomial x = numbers.add("x", {0, 10});
  const Polynomial y = numbers.add("y", {-5, 5});
  const Polynomial a = numbers.add("a");
  Known known;
  known.facts = {x * a};
  InequalityProver prover(numbers.symbols);
  EXPECT_FALSE(prover.holds(x * y * a, known));
  EXPECT_FALSE(prover.holds(a, known));
}

}  // namespace
}  // namespace gpuemu::inbounds
