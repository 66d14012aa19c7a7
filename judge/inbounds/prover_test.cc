#include "judge/inbounds/prover.h"

#include <gtest/gtest.h>

namespace gpuemu::prove {
namespace {

struct Numbers {
  Atoms atoms;
  Poly add(const char* name, Interval range = {}) {
    return Poly::atom(atoms.add({.name = name, .range = range}));
  }
};

TEST(Poly, AddsMultipliesAndTakesApart) {
  Numbers numbers;
  const Poly x = numbers.add("x");
  const Poly y = numbers.add("y");
  const Poly sum = (x + y) * (x - y) + Poly(3);
  EXPECT_EQ(numbers.atoms.text(sum), "x*x - y*y + 3");
  EXPECT_EQ(sum - sum, Poly());
  EXPECT_EQ((Poly(4) * x + Poly(6)).split_by(4).first, x + Poly(1));
  EXPECT_EQ((Poly(4) * x + Poly(6)).split_by(4).second, Poly(2));
  EXPECT_FALSE(sum.linear_in(0));
  EXPECT_EQ((x * y + x).linear_in(0)->factor, y + Poly(1));
  EXPECT_EQ((x * y * Poly(6)).divided_by(x * Poly(2)), y * Poly(3));
}

TEST(Poly, IsBrokenWhereANumberLeaves64Bits) {
  const Poly huge(INT64_MAX);
  EXPECT_TRUE((huge + Poly(1)).is_broken());
  EXPECT_TRUE((huge * Poly(2)).is_broken());
  EXPECT_TRUE((Poly(0) * (huge * Poly(2))).is_broken());
}

TEST(Prover, UsesAGuard) {
  Numbers numbers;
  const Poly n = numbers.add("n", {1, 100000});
  const Poly block = numbers.add("block", {0, Interval::kNone});
  const Poly thread = numbers.add("thread", {0, 255});
  const Poly i = Poly(256) * block + thread;
  Known guarded;
  guarded.facts = {n - Poly(1) - i};
  Prover prover(numbers.atoms);
  EXPECT_TRUE(prover.holds(Poly(4) * n - Poly(4) * i - Poly(4), guarded));
  EXPECT_FALSE(prover.holds(Poly(4) * n - Poly(4) * i - Poly(8), guarded));
  EXPECT_FALSE(prover.holds(Poly(4) * n - Poly(4) * i - Poly(4), {}));
}

TEST(Prover, MultipliesRowsByColumns) {
  Numbers numbers;
  const Poly rows = numbers.add("rows", {1, 64});
  const Poly cols = numbers.add("cols", {1, 4096});
  const Poly row = numbers.add("row", {0, Interval::kNone});
  const Poly col = numbers.add("col", {0, Interval::kNone});
  Known known;
  known.facts = {rows - Poly(1) - row, cols - Poly(1) - col};
  Prover prover(numbers.atoms);
  EXPECT_TRUE(prover.holds(rows * cols - row * cols - col - Poly(1), known));
  EXPECT_FALSE(prover.holds(rows * cols - row * cols - col - Poly(2), known));
}

TEST(Prover, RoundsQuotientsDown) {
  Numbers numbers;
  const Poly n = numbers.add("n", {4, 1000});
  Prover prover(numbers.atoms);
  const Poly quads = numbers.atoms.floor_of(n, 4);
  EXPECT_TRUE(prover.holds(quads - Poly(1), {}));
  EXPECT_FALSE(prover.holds(quads - Poly(2), {}));
  EXPECT_TRUE(prover.holds(n - Poly(4) * quads, {}));
  EXPECT_TRUE(prover.holds(Poly(3) - numbers.atoms.modulo(n, 4), {}));
  EXPECT_FALSE(prover.holds(Poly(2) - numbers.atoms.modulo(n, 4), {}));
}

TEST(Prover, DistinguishesCases) {
  Numbers numbers;
  const Poly n = numbers.add("n", {0, 100});
  const Poly m = numbers.add("m", {0, 100});
  const Poly least = numbers.atoms.extreme_of(n, m, false);
  const Poly most = numbers.atoms.extreme_of(n, m, true);
  Prover prover(numbers.atoms);
  EXPECT_TRUE(prover.holds(n + m - least - most, {}));
  EXPECT_TRUE(prover.holds(least + most - n - m, {}));
  EXPECT_FALSE(prover.holds(least - Poly(1), {}));
  Known known;
  known.unequal = {least};
  EXPECT_TRUE(prover.holds(least - Poly(1), known));
}

// x * f with f of unknown sign proves nothing where x may be 0.
TEST(Prover, DoesNotDivideByWhatMayBeZero) {
  Numbers numbers;
  const Poly x = numbers.add("x", {0, 10});
  const Poly y = numbers.add("y", {-5, 5});
  const Poly a = numbers.add("a");
  Known known;
  known.facts = {x * a};
  Prover prover(numbers.atoms);
  EXPECT_FALSE(prover.holds(x * y * a, known));
  EXPECT_FALSE(prover.holds(a, known));
}

}  // namespace
}  // namespace gpuemu::prove
