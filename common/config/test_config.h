// What several tests of the configuration begin with.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "common/config/config.h"

namespace gpuemu {

/// What `toml` says; a test in which it is wrong fails.
inline Config good(const std::string& toml) {
  ConfigResult result = parse_config(toml, "gpuemu.toml");
  EXPECT_TRUE(result.config) << result.text();
  return result.config.value_or(Config{});
}

/// A kernel and an op that uses it; keys of the op can follow.
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
