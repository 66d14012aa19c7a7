// Tests which shapes follow from index expressions alone.
#include "cli/proposals/index_shapes.h"

#include <gtest/gtest.h>

namespace gpuemu::cli {
namespace {

using Shapes = std::map<std::string, std::vector<std::string>>;

Shapes shapes(const std::string& params, const std::string& body) {
  const std::string source = "__global__ void k(" + params + ") {" + body + "}";
  std::string why;
  const SourceContext context{scan_definitions(source), {}};
  const auto kernel = propose(scan_kernels(source).front(), context, "k.cu", why).front();
  return index_shapes(kernel.body, context.definitions, kernel);
}

TEST(IndexShapes, TakeTheSizesThatAnIndexIsMultipliedBy) {
  const Shapes found =
      shapes("const float* x, const float* w, float* y, int N, int C, int H, int W, int K",
             "int i = blockIdx.x * blockDim.x + threadIdx.x;"
             "if (i >= N * H * W) return;"
             "int col = i % W, row = i / W % H, n = i / (W * H);"
             "for (int c = 0; c < C; ++c) for (int k = 0; k < K; ++k)"
             "  y[i] += x[((n * C + c) * H + row) * W + col] * w[c * K + k];");
  EXPECT_EQ(found, (Shapes{{"x", {"N", "C", "H", "W"}}, {"w", {"C", "K"}}}));
}

TEST(IndexShapes, FollowLocalsAndFlatProducts) {
  const Shapes found =
      shapes("const float* x, const float* m, float* y, int B, int T, int C",
             "int i = blockIdx.x * blockDim.x + threadIdx.x, total = B * T * C;"
             "if (i < total) { int bt = i / C; int b = bt / T, t = bt % T, c = i % C;"
             "  size_t at = (size_t)b * T * C + t * C + c;"
             "  y[at] = x[at] + m[b]; }");
  EXPECT_EQ(found, (Shapes{{"x", {"B", "T", "C"}}, {"y", {"B", "T", "C"}}, {"m", {"B"}}}));
}

TEST(IndexShapes, AreLeftOpenWhereNoSizeBoundsAnAxis) {
  EXPECT_EQ(shapes("const float* x, float* y, int C",
                   "int row = blockIdx.x; y[row] = x[row * C + threadIdx.x];"),
            Shapes());
  EXPECT_EQ(shapes("const int* at, const float* x, float* y, int n, int C",
                   "int i = threadIdx.x; if (i < n) y[i] = x[at[i] * C];"),
            (Shapes{{"at", {"n"}}, {"y", {"n"}}}));
}

}  // namespace
}  // namespace gpuemu::cli
