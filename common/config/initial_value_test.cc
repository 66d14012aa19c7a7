// Tests `init` for outputs and scratch memory: how it is read, and the bytes that it denotes.
#include "common/config/initial_value.h"

#include <cmath>

#include <gtest/gtest.h>

#include "common/config/test_config.h"
#include "common/numeric/element.h"

namespace gpuemu {
namespace {

std::string kernel_with(const std::string& output, const std::string& more = "") {
  return R"([[kernels]]
name = "k"
source = "k.cu"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"], )" +
         output + R"( }]
dims = { n = [4, 8] }
launches = [{ entry = "k", grid = "n", block = 32, args = ["x", "y"] }]
)" + more;
}

TensorSpec output_of(const std::string& output) {
  return good(kernel_with(output)).ops.at(0).outputs.at(0);
}

double begins(const std::string& init, DType dtype, const Scope& scope = {}) {
  const auto element = initial_element(output_of("init = " + init), dtype, scope);
  EXPECT_TRUE(element) << element.error().message;
  return element ? read_as_double(dtype, element->data()) : NAN;
}

std::string errors_of(const std::string& output, const std::string& more = "") {
  return parse_config(kernel_with(output, more), "gpuemu.toml").text();
}

TEST(InitialValue, IsANumberOfTheTypeOrAnExpression) {
  EXPECT_EQ(begins("0", DType::Int32), 0);
  EXPECT_EQ(begins("-1", DType::Int64), -1);
  EXPECT_EQ(begins("0.5", DType::Float16), 0.5);
  EXPECT_EQ(begins("2.0", DType::UInt8), 2);
  EXPECT_EQ(begins("-inf", DType::Float32), -INFINITY);
  EXPECT_EQ(begins("3.4028235e38", DType::Float32), 3.4028234663852886e38);
  EXPECT_TRUE(std::isnan(begins("nan", DType::Float32)));
  Scope scope;
  scope.integers["n"] = 7;
  EXPECT_EQ(begins("\"n - 1\"", DType::Float64, scope), 6);
}

TEST(InitialValue, ANegativeNumberOfAnUnsignedTypeWrapsAsInC) {
  EXPECT_EQ(begins("-1", DType::UInt32), 4294967295.0);
  EXPECT_EQ(begins("-1", DType::UInt8), 255);
}

TEST(InitialValue, WithoutTheKeyThereIsNone) {
  const auto element = initial_element(output_of("align = 256"), DType::Float32, {});
  ASSERT_TRUE(element);
  EXPECT_TRUE(element->empty());
}

TEST(InitialValue, WhatTheTypeCannotHoldIsAnErrorOfTheFile) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(errors_of("dtype = \"int8\", init = 200"),
      "kernels[0].outputs[0].init: 'y' begins with 200, expected a whole number from -128 to 127 "
      "for int8");
  has(errors_of("dtype = \"uint8\", init = -200"), "-1 has all bits set");
  has(errors_of("dtype = \"int32\", init = 0.5"),
      "'y' begins with 0.5, expected a whole number from -2147483648 to");
  has(errors_of("dtype = \"float16\", init = 1e6"),
      "'y' begins with 1000000, expected a number from -65504 to 65504");
  has(errors_of("init = \"rows\""), "unknown name 'rows'");
  has(errors_of("init = [0]"), "expected a number such as 0");
  has(errors_of("inout = true, init = 0"), "an inout output begins with the values of its input");
}

TEST(InitialValue, OfScratchMemoryIsReadAndCheckedToo) {
  const std::string scratch =
      "scratch = [{ name = \"t\", shape = [\"1\"], dtype = \"int32\", init = ";
  const Config config = good(kernel_with("align = 256", scratch + "0 }]\n"));
  EXPECT_TRUE(config.kernels.at(0).scratch.at(0).init);
  EXPECT_NE(errors_of("align = 256", scratch + "0.5 }]\n").find("scratch[0].init"),
            std::string::npos);
}

}  // namespace
}  // namespace gpuemu
