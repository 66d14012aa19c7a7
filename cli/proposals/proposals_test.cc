// Tests the proposals for the text of a kernel.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/proposals/propose.h"
#include "cli/proposals/tails.h"

namespace gpuemu::cli {
namespace {

std::vector<ProposedKernel> proposed(const std::string& source, std::string& why) {
  SourceContext context{scan_definitions(source), scan_launches(source)};
  for (HostLaunch& launch : context.launches) launch.file = "k.cu";
  std::vector<ProposedKernel> all;
  for (const SourceKernel& kernel : scan_kernels(source)) {
    for (ProposedKernel& one : propose(kernel, context, "k.cu", why)) {
      all.push_back(std::move(one));
    }
  }
  return all;
}

ProposedKernel only(const std::string& source) {
  std::string why;
  const auto all = proposed(source, why);
  EXPECT_EQ(all.size(), 1u) << why;
  return all.empty() ? ProposedKernel() : all.front();
}

TEST(Propose, TakesConstPointersForInputsIntegersForDimsAndRealsForAttrs) {
  const auto kernel = only(
      "extern \"C\" __global__ void scale(const float* __restrict__ x, float *y, int n, float "
      "factor = 2.0f) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }");
  EXPECT_EQ(kernel.params[0].role, ParamRole::Input);
  EXPECT_EQ(kernel.params[1].role, ParamRole::Output);
  EXPECT_EQ(kernel.params[2].role, ParamRole::Dim);
  EXPECT_EQ(kernel.params[3].role, ParamRole::Attr);
  EXPECT_EQ(kernel.launch().grid, std::vector<std::string>{"cdiv(n, 256)"});
}

TEST(Propose, TakesAPointerThatIsConstItselfForWhatIsWritten) {
  const auto kernel =
      only("__global__ void grey(const uchar4* const in, unsigned char* const out, int n) {}");
  EXPECT_EQ(kernel.params[0].role, ParamRole::Input);
  EXPECT_EQ(kernel.params[1].role, ParamRole::Output);
  // Even if everything is const, something is written.
  const auto all_const = only("__global__ void k(const float* x, const float* y, int n) {}");
  EXPECT_EQ(all_const.params[1].role, ParamRole::Output);
}

TEST(Propose, GivesNumbersOfTheTemplatesTypeTheTypeOfTheLaunch) {
  const auto open =
      only("template <typename T> __global__ void axpy(T a, const T* x, T* y, int n) {}");
  EXPECT_EQ(open.entry, "axpy<float>");
  EXPECT_EQ(open.params[0].tag, "f32");
  EXPECT_EQ(open.dtypes, std::vector<std::string>{"float32"});
  const auto wide = only(
      "template <typename T> __global__ void axpy(T a, const T* x, T* y, int n) {}\n"
      "void run(double a, double* x, double* y, int n) { axpy<double><<<1, 32>>>(a, x, y, n); }");
  EXPECT_EQ(wide.entry, "axpy<double>");
  EXPECT_EQ(wide.params[0].tag, "f64");
}

TEST(Propose, TakesFunctionTemplatesForArgumentsOfTemplates) {
  const auto kernel = only(R"(
template <typename T> __device__ T silu(const T& x) { return x; }
template <typename T, T (*ACT)(const T&)> __global__ void act(T* out, const T* in, int d) {}
void run(float* out, float* in, int d) { act<float, silu<float>><<<1, 32>>>(out, in, d); })");
  EXPECT_EQ(kernel.entry, "act<{ctype}, silu<float>>");
}

TEST(Propose, KeepsTheGridOfALaunchWhoseBlockOnlyTheProgramKnows) {
  const auto kernel = only(R"(
__global__ void norm(float* out, const float* in, int tokens, int hidden) {
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) out[blockIdx.x * hidden + i] = in[i];
}
void run(float* out, const float* in, int tokens, int hidden) {
  dim3 grid(tokens);
  dim3 block(hidden < 1024 ? hidden : 1024);
  norm<<<grid, block>>>(out, in, tokens, hidden);
})");
  EXPECT_EQ(kernel.launch().grid, std::vector<std::string>{"tokens"});
  EXPECT_EQ(kernel.launch().block, std::vector<std::string>{"256"});
  const auto limited = only(R"(
__global__ void norm(float* out, const float* in, int n1, int n2) {}
void run(float* out, const float* in, int n1, int n2) {
  const dim3 threads(32, 1, 1);
  const dim3 blocks(1, n1 < 65535 ? n1 : 65535, 1);
  norm<<<blocks, threads>>>(out, in, n1, n2);
})");
  EXPECT_EQ(limited.launch().grid, (std::vector<std::string>{"1", "min(n1, 65535)"}));
  EXPECT_EQ(limited.launch().block, std::vector<std::string>{"32"});
  // Without a launch, the size that the body does not read counts the rows.
  EXPECT_EQ(kernel.launches.back().grid, std::vector<std::string>{"tokens"});
}

TEST(Propose, TakesSizesThatHostCodeComputesFromOthers) {
  const auto kernel = only(R"(
__global__ void turn(float* q, int stride, int tiles, int tile, int heads, int size) {}
void run(float* q, int rows, int heads, int size, int n) {
  const int Bc = 32;
  const int Tc = (heads + Bc - 1) / Bc;
  turn<<<rows, Bc>>>(q, heads * size, Tc, Bc, heads, size);
})");
  const std::map<std::string, std::string> expected = {
      {"stride_", "heads * size"}, {"tile", "32"}, {"tiles", "cdiv(heads, 32)"}};
  EXPECT_EQ(kernel.launch().follows, expected);
  // The sizes that an example chooses are ignored.
  const auto sample = only(R"(
__global__ void add(float* x, int n, int m) {}
int main() { int n = 50000; add<<<(n + 255) / 256, 256>>>(x, n, n); })");
  EXPECT_TRUE(sample.launch().follows.empty());
}

TEST(Propose, NotesWhetherHostCodeLaunchesSizesThatAreRoundedUp) {
  const auto launched = [](const std::string& host) {
    return only("__global__ void twice(const float* x, float* y, int n) {}\n" + host);
  };
  const std::string launch = "twice<<<(n + 255) / 256, 256>>>(x, y, n);";
  const std::string head = "void run(const float* x, float* y, int n) { ";
  EXPECT_EQ(launched(head + launch + "}").rounded_up.at("n"), "k.cu:2");
  for (const std::string& ensured : {head + "assert (n % 256 == 0); " + launch + "}",
                                     head + "if (n % 512 != 0) { throw 1; } " + launch + "}"}) {
    const auto kernel = launched(ensured);
    EXPECT_TRUE(kernel.rounded_up.empty() && kernel.sample_blocks.empty()) << ensured;
    EXPECT_EQ(kernel.whole_blocks.at("n"), "k.cu:2") << ensured;
  }
  // A number that is passed is no check.
  const auto sample = launched("int main() { const int n = 1 << 20; float *x, *y; " + launch + "}");
  EXPECT_EQ(sample.sample_blocks.at("n"), "k.cu:2");
  EXPECT_TRUE(sample.rounded_up.empty() && sample.whole_blocks.empty());
  for (const std::string& open :
       {head + "assert (n % 32 == 0); " + launch + "}",
        head + "assert (m % 256 == 0); " + launch + "}",
        std::string("int main() { const int n = 50000; float *x, *y; ") + launch + "}",
        // One launch of others is enough.
        head + "assert (n % 256 == 0); " + launch +
            "}\nvoid any(const float* x, float* y, int n) { " + launch + "}"}) {
    EXPECT_EQ(launched(open).rounded_up.count("n"), 1u) << open;
  }
  EXPECT_TRUE(only("__global__ void twice(const float* x, float* y, int n) {}").rounded_up.empty());
}

TEST(HasTailCheck, SeesComparisonsWithASizeButNotTheLengthOfASum) {
  const auto checks = [](const std::string& body) {
    return has_tail_check(
        only("__global__ void k(const float* x, float* y, int n) { " + body + " }"), "n");
  };
  for (const char* body :
       {"if (i < n) y[i] = x[i];", "if (i >= (size_t)n) return;", "if (n <= i) return;",
        "y[i] = x[min(i, n - 1)];", "y[i] = x[i % n];",
        "const int last = n - 1; if (i <= last) y[i] = 0;",
        "for (int i = blockIdx.x; i < n; i += gridDim.x) y[i] = 0;", "store(y, i, n);"}) {
    EXPECT_TRUE(checks(body)) << body;
  }
  for (const char* body :
       {"y[i] = x[i];", "for (int k = 0; k < n; ++k) y[i] += x[row * n + k];",
        "for (int t = 0; t < n / 16; ++t) y[i] += x[t];", "y[row * n + i] = x[i] < 0 ? 0 : x[i];",
        "y[i] = static_cast<float>(n) * x[i];", "y[i] = x[i * n] * (1 << 4);"}) {
    EXPECT_FALSE(checks(body)) << body;
  }
}

TEST(Propose, ExchangesWidthAndHeightOfATileThatComparesNeither) {
  const auto kernel = only(R"(
__global__ void turn(const float* in, float* out, int width, int height) {
  __shared__ float tile[32][33];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
})");
  ASSERT_GE(kernel.launches.size(), 2u);
  EXPECT_EQ(kernel.launches[0].block, (std::vector<std::string>{"32", "8"}));
  EXPECT_EQ(kernel.launches[0].grid,
            (std::vector<std::string>{"cdiv(height, 32)", "cdiv(width, 32)"}));
  EXPECT_EQ(kernel.launches[1].grid,
            (std::vector<std::string>{"cdiv(width, 32)", "cdiv(height, 32)"}));
}

TEST(Propose, GivesARowWithoutChecksAThreadForEachElement) {
  const std::string head =
      "__global__ void rows(const int* idx, const float* w, float* y, int n, "
      "int d) { int tx = threadIdx.x";
  const auto one = only(head + "; y[blockIdx.x * d + tx] = w[idx[blockIdx.x] * d + tx]; }");
  EXPECT_EQ(one.launch().grid, std::vector<std::string>{"n"});
  EXPECT_EQ(one.launch().block, std::vector<std::string>{"d"});
  for (const char* four :
       {" * 4; y[blockIdx.x * d + tx] = w[tx]; y[blockIdx.x * d + tx + 1] = 0; }",
        "; y[blockIdx.x * d + 4 * tx] = w[4 * tx]; }"}) {
    EXPECT_EQ(only(head + four).launch().block, std::vector<std::string>{"d / 4"}) << four;
  }
  const auto checked = only(head + "; if (tx < d) y[blockIdx.x * d + tx] = w[tx]; }");
  EXPECT_EQ(checked.launch().block, std::vector<std::string>{"256"});
}

TEST(Propose, KnowsShortNamesOfBlocksAndThreads) {
  const auto kernel = only(R"(
__global__ void product(const float* A, const float* B, float* C, int width) {
  int bx = blockIdx.x, by = blockIdx.y;
  int tx = threadIdx.x, ty = threadIdx.y;
  int Row = by * blockDim.y + ty;
  int Col = blockDim.x * bx + tx;
  if (Row < width && Col < width) C[Row * width + Col] = 0;
})");
  EXPECT_EQ(kernel.launch().grid, (std::vector<std::string>{"cdiv(width, 16)", "cdiv(width, 16)"}));
}

TEST(Propose, TakesTheThreadsThatPtxAllows) {
  const std::string ptx =
      ".visible .entry one(.param .u64 p)\n{\n}\n.visible .entry two(.param .u64 p)\n.maxntid "
      "128, 1, 1\n{\n}\n";
  EXPECT_TRUE(threads_of_entry(ptx, "one").empty());
  EXPECT_EQ(threads_of_entry(ptx, "two"), std::vector<std::string>{"128"});
  EXPECT_EQ(threads_of_entry(".entry three(.param .u64 p)\n.reqntid 16, 16, 1\n{", "three"),
            (std::vector<std::string>{"16", "16"}));
  PtxMetrics entry;
  entry.entry = "two";
  entry.params = {{"p", "u64", 8}, {"n", "u32", 4}};
  std::string why;
  const auto kernel = propose(entry, "k.ptx", {"128"}, why);
  ASSERT_TRUE(kernel) << why;
  EXPECT_EQ(kernel->launch().block, std::vector<std::string>{"128"});
  EXPECT_EQ(kernel->launch().grid, std::vector<std::string>{"cdiv(n1, 128)"});
  entry.params.push_back({"m", "u32", 4});
  const auto plane = propose(entry, "k.ptx", {"16", "16"}, why);
  ASSERT_TRUE(plane) << why;
  EXPECT_EQ(plane->launch().block, (std::vector<std::string>{"16", "16"}));
  EXPECT_EQ(plane->launch().grid, (std::vector<std::string>{"cdiv(n2, 16)", "cdiv(n1, 16)"}));
}

TEST(Propose, GivesAKernelWithoutSizesAnyNumberOfBlocks) {
  const auto kernel = only(
      "__global__ void add(const float* a, float* b) { int i = blockIdx.x * blockDim.x + "
      "threadIdx.x; b[i] += a[i]; }");
  EXPECT_EQ(kernel.launch().grid, std::vector<std::string>{"blocks"});
  EXPECT_EQ(kernel.dims(), std::vector<std::string>{"blocks"});
  const auto named = only(
      "__global__ void add(float* blocks) { blocks[blockIdx.x * blockDim.x + threadIdx.x] = 1; }");
  EXPECT_EQ(named.launch().grid, std::vector<std::string>{"blocks_"});
  const auto single = only("__global__ void add(const float* a, float* b) { b[threadIdx.x] = 0; }");
  EXPECT_EQ(single.launch().grid, std::vector<std::string>{"1"});
}

TEST(Propose, TakesTheTilesThatOthersAreDividedByOrSharedMemoryHas) {
  const auto kernel = only(R"(
__global__ void mix(const float* q, float* o, int length, int width, int blocks, int steps,
                    int keys, int rows, int limit) {}
void run(const float* q, float* o, int length, int width) {
  const int keys = 32; const int rows = 16; const int limit = 99;
  const int blocks = ceil((float)length / keys), steps = ceil((float)length / rows);
  mix<<<4, keys, rows * width * sizeof(float)>>>(q, o, length, width, blocks, steps, keys, rows,
                                                 limit);
})");
  const std::map<std::string, std::string> expected = {{"blocks", "cdiv(length, 32)"},
                                                       {"steps", "cdiv(length, 16)"},
                                                       {"keys", "32"},
                                                       {"rows", "16"}};
  EXPECT_EQ(kernel.launch().follows, expected);
}

TEST(Propose, PutsANumberOfThreadsIntoAGridThatIsComputedFromIt) {
  const auto kernel = only(R"(
__global__ void rows(const float* x, float* y, int n, int m) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
}
void run(const float* x, float* y, int n, int m, int block_size) {
  const int grid_size = ceil_div(32 * n, block_size);
  rows<<<grid_size, block_size>>>(x, y, n, m);
})");
  EXPECT_EQ(kernel.launch().grid, std::vector<std::string>{"cdiv(32 * n, 256)"});
  EXPECT_EQ(kernel.launch().block, std::vector<std::string>{"256"});
  EXPECT_TRUE(kernel.launch().grid_dims.empty());
  const auto part = only(R"(
__global__ void rows(const float* x, float* y, int n, int m) { if (blockDim.x != 32) __trap(); }
void run(const float* x, float* y, int n, int m, int block_size) {
  const int block_y = block_size / 32;
  rows<<<ceil_div(n, block_y), dim3(32, block_y)>>>(x, y, n, m);
})");
  EXPECT_EQ(part.launch().grid, std::vector<std::string>{"cdiv(n, 8)"});
  EXPECT_EQ(part.launch().block, (std::vector<std::string>{"32", "8"}));
  const auto plane = only(R"(
__global__ void cells(const float* x, float* y, int n, int m) { int c = threadIdx.y; }
void run(const float* x, float* y, int n, int m, int side) {
  dim3 grid((n + side - 1) / side, (m + side - 1) / side);
  dim3 block(side, side);
  cells<<<grid, block>>>(x, y, n, m);
})");
  EXPECT_EQ(plane.launch().grid, (std::vector<std::string>{"cdiv(n, 16)", "cdiv(m, 16)"}));
  EXPECT_EQ(plane.launch().block, (std::vector<std::string>{"16", "16"}));
}

TEST(Propose, GivesAThreadTheElementsThatItTakesAtOnce) {
  for (const char* index : {"8 * (blockIdx.x * blockDim.x + threadIdx.x)",
                            "(threadIdx.x + blockIdx.x * blockDim.x) << 3",
                            "(blockIdx.x * 256 + threadIdx.x) * kEach"}) {
    const auto kernel = only(fmt::format(R"(
constexpr int kEach = 8;
__global__ void halves(const __half* x, __half* y, int n) {{
  const int at = {};
  if (at < n) reinterpret_cast<float4*>(y + at)[0] = reinterpret_cast<const float4*>(x + at)[0];
}})",
                                         index));
    EXPECT_EQ(kernel.launch().grid, std::vector<std::string>{"cdiv(n, 2048)"}) << index;
    EXPECT_EQ(kernel.launch().each, 8) << index;
  }
}

TEST(Propose, CountsTheThreadsOfATileThatStepsThroughItsRows) {
  const auto kernel = only(R"(
#define TILE 32
__global__ void transpose(const float* in, float* out, int rows, int cols) {
  __shared__ float t[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += 8)
    if (x < cols && y + j < rows) t[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
})");
  EXPECT_EQ(kernel.launch().block, (std::vector<std::string>{"32", "8"}));
  EXPECT_EQ(kernel.launch().grid, (std::vector<std::string>{"cdiv(cols, 32)", "cdiv(rows, 32)"}));
}

TEST(Propose, KnowsSizesThatTheTextComputes) {
  const auto kernel = only(R"(
__global__ void pool(const float* in, float* out, int C, int H, int W, int K, int S) {
  int oh = (H - K) / S + 1, ow = (W - K) / S + 1;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= C * oh * ow) return;
  out[i] = in[i];
})");
  EXPECT_EQ(kernel.computed, (std::vector<std::string>{"(H - K) / S + 1", "(W - K) / S + 1"}));
  EXPECT_EQ(kernel.launch().grid,
            (std::vector<std::string>{"cdiv(C * ((H - K) / S + 1) * ((W - K) / S + 1), 256)"}));
}

TEST(Propose, GivesABlockWithASumForEachWarpSeveralWarps) {
  const auto kernel = only(R"(
__global__ void norm(const float* x, float* y, int n) {
  __shared__ float part[32];
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x[blockIdx.x * n];
  if (threadIdx.x < 32) y[blockIdx.x * n] = part[threadIdx.x];
})");
  EXPECT_EQ(kernel.launch().block, std::vector<std::string>{"256"});
}

TEST(Propose, GivesALoopThatStepsByANumberThatManyThreads) {
  const auto block = [](const char* step, const char* place = "blockIdx.x") {
    return only(fmt::format("__global__ void k(const float* x, float* y, int n) {{ int t = "
                            "threadIdx.x; float sum = 0; for (int i = t; i < n; i += {}) sum += "
                            "x[i]; y[{}] = sum; }}",
                            step, place))
        .launch()
        .block.front();
  };
  for (const char* step : {"32", "128"}) EXPECT_EQ(block(step), step);
  for (const char* step : {"blockDim.x", "2"}) EXPECT_EQ(block(step), "256") << step;
  EXPECT_EQ(block("32", "t"), "256") << "the loop is not all that threads do";
}

TEST(Propose, LaunchesOneBlockIfAllWouldDoTheSame) {
  const auto grid = [](const char* first) {
    return only(fmt::format("__global__ void k(const int* x, int* y, int n) {{ for (int i = {}; "
                            "i < n; i += blockDim.x) y[i] = x[i]; }}",
                            first))
        .launch()
        .grid;
  };
  EXPECT_EQ(grid("threadIdx.x"), std::vector<std::string>{"1"});
  // A function or a macro of the source may ask for the block.
  for (const char* first :
       {"blockIdx.x * blockDim.x + threadIdx.x", "first_of(threadIdx.x)", "FIRST + threadIdx.x"}) {
    EXPECT_NE(grid(first), std::vector<std::string>{"1"}) << first;
  }
}

TEST(Propose, GivesAnAxisTheSizeThatItsIndexIsPartOf) {
  const auto kernel = only(R"(
__global__ void rope(const float* x, float* y, int heads, int width) {
  int t = blockIdx.x, h = blockIdx.y, d = threadIdx.x;
  if (d < width) y[(t * heads + h) * width + d] = x[(t * heads + h) * width + d];
})");
  EXPECT_EQ(kernel.launch().grid.back(), "heads");
}

TEST(Propose, GivesAKernelWithABlockPerRowItsRows) {
  for (const char* body : {"int row = blockIdx.x;", "x += blockIdx.x * cols;",
                           "x += static_cast<size_t>(blockIdx.x) * cols;"}) {
    const auto kernel = only(
        fmt::format("__global__ void norm(const float* x, float* y, int cols) {{ {} }}", body));
    EXPECT_EQ(kernel.launch().grid, std::vector<std::string>{"rows"}) << body;
    EXPECT_EQ(kernel.dims(), (std::vector<std::string>{"rows", "cols"})) << body;
  }
}

TEST(Propose, FindsTheBoundOfEachCoordinateOfTheGrid) {
  const char* head = "__global__ void k(const float* x, float* y, int rows, int cols) { ";
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y; "
       "if (r >= rows || c >= cols) return; }",
       {"cdiv(cols, 16)", "cdiv(rows, 16)"}},
      {"int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < rows * cols) y[i] = x[i]; }",
       {"cdiv(rows * cols, 256)"}},
      {"int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32; if (warp >= rows) return; }",
       {"cdiv(rows * 32, 256)"}},
      {"int r = blockIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x; if (r < rows && c < cols) "
       "y[0] "
       "= 0; }",
       {"cdiv(cols, 256)", "rows"}}};
  for (const auto& [body, grid] : cases) EXPECT_EQ(only(head + body).launch().grid, grid) << body;
}

TEST(Propose, PrefersASizeToADifferenceFromIt) {
  const auto kernel = only(R"(
__global__ void slope(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - 1) y[i] = x[i + 1] - x[i]; else if (i < n) y[i] = 0;
})");
  EXPECT_EQ(kernel.launch().grid, std::vector<std::string>{"cdiv(n, 256)"});
}

TEST(Propose, PrefersALaunchThatRoundsUp) {
  const auto kernel = only(R"(
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
void run(const float* x, float* y, int n, bool exact) {
  if (exact) copy<<<n / 256, 256>>>(x, y, n);
  else copy<<<(n + 255) / 256, 256>>>(x, y, n);
})");
  EXPECT_EQ(kernel.launch().grid, std::vector<std::string>{"cdiv(n, 256)"});
  EXPECT_EQ(kernel.rounded_up.at("n"), "k.cu:8");
}

TEST(Propose, TakesGridAndBlockFromTheLaunchInItsSource) {
  const auto kernel = only(R"(
#define TILE 16
__global__ void k(float* out, const float* inp, int N, int C, float eps) {}
void run(float* out, const float* inp, int B, int T, int C) {
  dim3 block(TILE, 8), grid((C + TILE - 1) / TILE, B * T);
  k<<<grid, block, C * sizeof(float)>>>(out, inp, B * T, C, 1e-5f);
})");
  EXPECT_EQ(kernel.launch().grid, (std::vector<std::string>{"cdiv(C, 16)", "N"}));
  EXPECT_EQ(kernel.launch().block, (std::vector<std::string>{"16", "8"}));
  EXPECT_EQ(kernel.launch().shared, "C * 4");
  EXPECT_EQ(kernel.launch().origin, "k.cu:6");
  EXPECT_EQ(kernel.params[4].values, "[1e-5]");
}

TEST(Propose, NamesASizeThatOnlyTheGridTells) {
  const auto kernel = only(R"(
__global__ void k(float* out, const float* inp, int cols) {}
void run(float* out, const float* inp, int rows, int cols) { k<<<rows, 128>>>(out, inp, cols); })");
  EXPECT_EQ(kernel.dims(), (std::vector<std::string>{"rows", "cols"}));
}

TEST(Propose, SaysWhatCannotBePassedAndWhatToDo) {
  std::string why;
  for (const char* source : {"struct Params { int* a; };\n__global__ void packed(Params p) {}",
                             "__global__ void odd(Unknown<float>* p) {}"}) {
    EXPECT_TRUE(proposed(source, why).empty());
    EXPECT_NE(why.find("which gpuemu.toml cannot pass; write a __global__"), std::string::npos)
        << why;
  }
}

TEST(Propose, TakesAVoidPointerWithoutACastForBytes) {
  const auto kernel =
      only("__global__ void k(const void* blocks, float* y) { decode(blocks, y); }");
  EXPECT_EQ(kernel.params[0].dtype, "uint8");
  EXPECT_EQ(kernel.params[0].role, ParamRole::Input);
  ASSERT_EQ(kernel.notes.size(), 1u);
  EXPECT_NE(kernel.notes[0].find("blocks"), std::string::npos);
}

TEST(Propose, GivesAnAxisWithoutABoundBlocksOfItsOwn) {
  const auto kernel = only(
      "__global__ void k(const float* x, float* y, int cols, int batch) {"
      " int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;"
      " if (c < cols) y[r * cols + c] = x[c]; }");
  EXPECT_EQ(kernel.launch().grid, (std::vector<std::string>{"cdiv(cols, 256)", "blocks_y"}));
  EXPECT_EQ(kernel.dims(), (std::vector<std::string>{"blocks_y", "cols", "batch"}));
}

TEST(Propose, TakesTheLastPointerOfAPtxEntryForTheOutput) {
  PtxMetrics entry;
  entry.entry = "add.kernel";
  entry.params = {{"a", "u64", 8}, {"b", "u64", 8}, {"n", "u32", 4}, {"s", "f32", 4}};
  std::string why;
  const auto kernel = propose(entry, "k.ptx", {}, why);
  ASSERT_TRUE(kernel) << why;
  EXPECT_EQ(kernel->name, "add_kernel");
  EXPECT_EQ(kernel->entry, "add.kernel");
  EXPECT_EQ(kernel->params[0].role, ParamRole::Input);
  EXPECT_EQ(kernel->params[1].role, ParamRole::Output);
  entry.params.push_back({"big", "b8", 48});
  EXPECT_FALSE(propose(entry, "k.ptx", {}, why));
  EXPECT_NE(why.find("48 bytes"), std::string::npos);
}

}  // namespace
}  // namespace gpuemu::cli
