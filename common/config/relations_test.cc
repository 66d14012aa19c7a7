// Relations between runs among an op's invariants.
#include <gtest/gtest.h>

#include "common/config/test_config.h"

namespace gpuemu {
namespace {

TEST(Relations, StandAmongTheInvariantsAndMayBeGivenSeveralTimes) {
  const Config config = good(std::string(kOneKernel) + R"toml(
[ops.invariants]
finite = true
odd = false
scale_equivariant = [{ factor = 2 }, { factor = 0.25, exact = false }]
pad_invariant = { dim = "n", fill = -1e300 }
config_invariant = { block = 64, grid = "min(n, 8)" }
)toml");
  const OpConfig& op = config.ops.at(0);
  ASSERT_EQ(op.invariants.size(), 5u);
  EXPECT_EQ(op.invariants_off, std::vector{InvariantKind::Odd});
  EXPECT_EQ(op.invariants[1].numbers.at("factor"), 2);
  EXPECT_EQ(op.invariants[2].numbers.at("exact"), 0);
  EXPECT_EQ(op.invariants[3].numbers.at("fill"), -1e300);
  EXPECT_EQ(op.invariants[4].strings.at("block"), "64");
  EXPECT_EQ(op.invariants[4].strings.at("grid"), "min(n, 8)");
}

}  // namespace
}  // namespace gpuemu
