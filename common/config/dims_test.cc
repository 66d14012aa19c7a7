// Tests `dims` and the ranges of tensors.
#include <algorithm>

#include <gtest/gtest.h>

#include "common/config/test_config.h"

namespace gpuemu {
namespace {

OpConfig with_dims(const std::string& dims) {
  const Config config = good("[[ops]]\nname = \"a\"\nreference = \"a\"\ndims = { " + dims + " }\n");
  return config.ops.at(0);
}

const DimSpec& dim(const OpConfig& op, const std::string& name) {
  return *std::ranges::find(op.dims, name, &DimSpec::name);
}

TEST(Dims, ASizeMayNeedAnotherValueOfAnAttributeThanTheFirst) {
  const Config config = good(R"([[kernels]]
name = "k"
source = "k.cu"
outputs = [{ name = "y", shape = ["n - skip"] }]
dims = { n = [4, 8] }
attrs = { skip = { type = "int32", values = [9, 1] } }
launches = [{ entry = "k", grid = "n - skip", block = 32, args = ["y"] }]
)");
  EXPECT_EQ(config.kernels.size(), 1u);
}

std::string told_of(const std::string& more) {
  const std::string head = "[[ops]]\nname = \"a\"\nreference = \"a\"\n";
  return parse_config(head + more + "\n", "gpuemu.toml").text();
}

TEST(Dims, ARequirementThatNoSizeMeetsIsAnError) {
  const std::string never = "no sizes in dims satisfy it";
  EXPECT_NE(told_of("dims = { n = [1, 300] }\nrequire = \"n > 400\"").find(never),
            std::string::npos);
  EXPECT_NE(told_of("dims = { n = [1, 9], m = [20, 30], k = \"n + 1\" }\nrequire = \"k >= m\"")
                .find(never),
            std::string::npos);
  EXPECT_EQ(told_of("dims = { n = [1, 300] }\nrequire = \"n > 299\""), "");
  EXPECT_EQ(told_of("dims = { n = [2, 9], k = \"n - 8\" }\nrequire = \"k > 0\""), "");
  EXPECT_EQ(told_of("dims = { n = [1, 1000000] }\nrequire = \"n == 777777\""), "")
      << "too many to try";
}

TEST(Dims, DistinctValuesAreIntegersWithARange) {
  const auto input = [](const std::string& more) {
    return told_of("dims = { n = [1, 9] }\ninputs = [{ name = \"i\", shape = [\"n\"], " + more +
                   " }]");
  };
  EXPECT_EQ(input(R"(dtype = "int32", range = [0, "n - 1"], distinct = true, sorted = true)"), "");
  EXPECT_NE(input(R"(dtype = "int32", distinct = true)").find("needs a range"), std::string::npos);
  EXPECT_NE(input(R"(dtype = "float32", range = [0, 9], distinct = true)").find("integers"),
            std::string::npos);
  EXPECT_EQ(input(R"(dtype = "float32", sorted = true)"), "");
}

TEST(Dims, OfTwoSizesMayBeASet) {
  const OpConfig op = with_dims("a = { values = [64, 128] }, b = { range = [1, 9] }");
  EXPECT_TRUE(dim(op, "a").is_set);
  EXPECT_EQ(dim(op, "a").values, (std::vector<int64_t>{64, 128}));
  EXPECT_FALSE(dim(op, "b").is_set);
}

TEST(Dims, MayBeMultiplesAndPowersOfTwo) {
  const OpConfig op = with_dims(
      "a = { range = [10, 100], multiple_of = 32 }, b = { range = [3, 70], power_of_two = true }, "
      "c = { range = [0, 64], multiple_of = 16, power_of_two = true }");
  EXPECT_EQ(dim(op, "a").values, (std::vector<int64_t>{32, 64, 96}));
  EXPECT_EQ(dim(op, "b").values, (std::vector<int64_t>{4, 8, 16, 32, 64}));
  EXPECT_EQ(dim(op, "c").values, (std::vector<int64_t>{16, 32, 64}));
}

TEST(Dims, WithVeryManyMultiplesKeepTheLeastOnesAndTheEnd) {
  const OpConfig op = with_dims("a = { range = [4, 4000000], multiple_of = 4 }");
  const std::vector<int64_t>& sizes = dim(op, "a").values;
  EXPECT_EQ(sizes.size(), 4096u);
  EXPECT_TRUE(std::ranges::is_sorted(sizes));
  EXPECT_EQ(std::ranges::adjacent_find(sizes), sizes.end());
  EXPECT_EQ(sizes[0], 4);
  EXPECT_EQ(sizes[2047], 4 * 2048);
  EXPECT_EQ(sizes.back(), 4000000);
  EXPECT_TRUE(std::ranges::all_of(sizes, [](int64_t size) { return size % 4 == 0; }));
}

TEST(Dims, ThatFollowFromOthersStandBehindThem) {
  const OpConfig op = with_dims("c = \"b + 1\", b = \"2 * a\", a = [1, 9]");
  ASSERT_EQ(op.derived_dims.size(), 2u);
  EXPECT_EQ(op.derived_dims[0].name, "b");
  Scope scope{.integers = {{"a", 3}}};
  ASSERT_TRUE(add_derived_dims(op, scope).ok());
  EXPECT_EQ(scope.integers.at("c"), 7);
}

TEST(Dims, ThatHaveNoValueSayWhich) {
  const OpConfig op = with_dims("b = \"8 / a\", a = [0, 9]");
  Scope scope{.integers = {{"a", 0}}};
  const Status added = add_derived_dims(op, scope);
  ASSERT_FALSE(added.ok());
  EXPECT_NE(added.error().message.find("dim 'b'"), std::string::npos) << added.error().message;
}

TEST(Outputs, MayHaveATolerance) {
  const Config config = good(
      "[[ops]]\nname = \"a\"\nreference = \"ref.py:twice\"\ntolerances = { f32 = 1 }\n"
      "outputs = [{ name = \"y\", shape = [1] }, { name = \"z\", shape = [1], tolerance = { rtol = "
      "2 } }]\n");
  const OpConfig& op = config.ops[0];
  EXPECT_EQ(config.tolerance_for(op, DType::Float32, "y").atol, 1);
  EXPECT_EQ(config.tolerance_for(op, DType::Float32, "z").rtol, 2);
  EXPECT_TRUE(op.reference.ends_with("/ref.py")) << op.reference;
  EXPECT_EQ(op.reference_function, "twice");
}

TEST(Ranges, MayEndWhereSizesSay) {
  const Config config = good(
      "[[ops]]\nname = \"a\"\nreference = \"a\"\ndims = { v = [5, 80], n = \"v + 1\" }\n"
      "inputs = [{ name = \"x\", shape = [\"n\"], dtype = \"i32\", range = [\"-v\", \"n - 2\"] "
      "}]\n");
  const TensorSpec& input = config.ops[0].inputs[0];
  ASSERT_TRUE(input.range && input.range_low && input.range_high);
  // The widest of all cases.
  EXPECT_EQ(input.range->first, -80);
  EXPECT_EQ(input.range->second, 79);
}

}  // namespace
}  // namespace gpuemu
