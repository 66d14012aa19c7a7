// Helpers for tests of the configuration.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "common/config/config.h"

namespace gpuemu {

/// Parses `toml`; the test fails if it is invalid.
inline Config good(const std::string& toml) {
  ConfigResult result = parse_config(toml, "gpuemu.toml");
  EXPECT_TRUE(result.config) << result.text();
  return result.config.value_or(Config{});
}

/// A kernel and an op that uses it; further keys of the op can be appended.
inline constexpr char kOneKernel[] = R"(
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
)";

}  // namespace gpuemu
