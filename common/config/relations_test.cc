// Relations between runs among an op's invariants.
#include <gtest/gtest.h>

#include "common/config/config.h"

namespace gpuemu {
namespace {

TEST(Relations, StandAmongTheInvariantsAndMayBeGivenSeveralTimes) {
  const ConfigResult result = parse_config(R"toml(
[[kernels]]
name = "k"
source = "k.cu"
launches = [{ entry = "k", grid = "n", block = 32, args = ["x", "y", "i32:n"] }]
[[ops]]
name = "op"
reference = "op.py"
kernel = "k"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"], dtype = "f16" }]
dims = { n = [1, 9] }
[ops.invariants]
finite = true
odd = false
scale_equivariant = [{ factor = 2 }, { factor = 0.25, exact = false }]
pad_invariant = { dim = "n", fill = -1e300 }
config_invariant = { block = 64, grid = "min(n, 8)" }
)toml",
                                           "gpuemu.toml");
  ASSERT_TRUE(result.config) << result.text();
  const OpConfig& op = result.config->ops[0];
  ASSERT_EQ(op.invariants.size(), 5u);
  EXPECT_EQ(op.invariants_off, std::vector<std::string>{"odd"});
  EXPECT_EQ(op.invariants[1].numbers.at("factor"), 2);
  EXPECT_EQ(op.invariants[2].numbers.at("exact"), 0);
  EXPECT_EQ(op.invariants[3].numbers.at("fill"), -1e300);
  EXPECT_EQ(op.invariants[4].strings.at("block"), "64");
  EXPECT_EQ(op.invariants[4].strings.at("grid"), "min(n, 8)");
}

}  // namespace
}  // namespace gpuemu
