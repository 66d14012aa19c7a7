// Tests the shapes that are derived from the elements that runs touch.
#include "cli/proposals/fit.h"

#include <functional>

#include <gtest/gtest.h>

namespace gpuemu::cli {
namespace {

TEST(FitShape, KnowsElementsThatEachBlockHas) {
  EXPECT_TRUE(is_per_block("out", "out[blockIdx.x * BINS + i] = bins[i];"));
  EXPECT_FALSE(is_per_block("out", "out[blockIdx.x * blockDim.x + threadIdx.x] = 0;"));
  EXPECT_FALSE(is_per_block("out", "out[i] = 0;"));
}

TEST(FitShape, FindsTheProductThatAllReachesHave) {
  const auto reaches = [](const std::function<int64_t(int64_t, int64_t)>& elements) {
    std::vector<Reach> all;
    for (const auto& [a, b] : {std::pair(5, 300), std::pair(37, 11), std::pair(130, 67)}) {
      all.push_back({{{"a", a}, {"b", b}}, static_cast<uint64_t>(elements(a, b))});
    }
    return all;
  };
  const std::vector<std::string> dims = {"a", "b"};
  using Shape = std::vector<std::string>;
  EXPECT_EQ(fit_shape(reaches([](auto a, auto b) { return a * b; }), dims), (Shape{"a", "b"}));
  EXPECT_EQ(fit_shape(reaches([](auto, auto b) { return b; }), dims), Shape{"b"});
  EXPECT_EQ(fit_shape(reaches([](auto a, auto) { return a + 1; }), dims), Shape{"a + 1"});
  EXPECT_EQ(fit_shape(reaches([](auto a, auto b) { return a * b * 3; }), dims),
            (Shape{"a", "b", "3"}));
  EXPECT_EQ(fit_shape(reaches([](auto a, auto b) { return a * (b / 2); }), dims),
            (Shape{"a", "b / 2"}));
  EXPECT_EQ(fit_shape(reaches([](auto, auto) { return 256; }), dims), Shape{"256"});
  EXPECT_EQ(fit_shape(reaches([](auto a, auto b) { return a * a * b; }), dims),
            (Shape{"a", "a", "b"}));
  EXPECT_EQ(fit_shape(reaches([](auto a, auto) { return (a + 31) / 32 * 18; }), dims),
            (Shape{"cdiv(a, 32)", "18"}));
  EXPECT_NE(fit_shape(reaches([](auto a, auto) { return (a + 31) / 32 * 32; }), dims),
            (Shape{"cdiv(a, 32)", "32"}));
  EXPECT_EQ(fit_shape(reaches([](auto a, auto) { return a * a - 1; }), dims), (Shape{"a", "a"}))
      << "all but the last corner";
  EXPECT_EQ(fit_shape(reaches([](auto a, auto) { return (a / 2) * (a / 2); }), dims),
            (Shape{"a / 2", "a / 2"}));
  EXPECT_EQ(fit_shape(reaches([](auto a, auto b) { return (a + b - 1) / b; }), dims),
            Shape{"cdiv(a, b)"});
  EXPECT_FALSE(fit_shape(reaches([](auto a, auto b) { return a * a + b; }), dims));
  EXPECT_FALSE(fit_shape(reaches([](auto, auto) { return 0; }), dims));
}

TEST(FitShape, PutsTheDimThatOthersAreMultipliedByInside) {
  const char* body = "sum += A[row * K + k] * B[k * N + col]; C[row * N + col] = sum;";
  using Dims = std::vector<std::string>;
  EXPECT_EQ(nested({"M", "N", "K"}, "A", body), (Dims{"M", "N", "K"}));
  EXPECT_EQ(nested({"N", "K"}, "B", body), (Dims{"K", "N"}));
}

}  // namespace
}  // namespace gpuemu::cli
