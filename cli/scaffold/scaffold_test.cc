// Tests the files that `gpuemu init` writes.
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/proposals/propose.h"
#include "cli/scaffold/file_plan.h"
#include "cli/scaffold/folder.h"
#include "cli/scaffold/project_text.h"
#include "common/base/files.h"
#include "common/config/config.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

ProposedKernel only(const std::string& source) {
  const SourceContext context{scan_definitions(source), {}};
  std::string why;
  const auto all = propose(scan_kernels(source).at(0), context, "k.cu", why);
  EXPECT_EQ(all.size(), 1u) << why;
  return all.empty() ? ProposedKernel() : all.front();
}

TEST(ProjectText, IsAConfigurationWithoutAnyProblem) {
  std::vector<ProposedKernel> kernels = {example_kernel()};
  for (const char* source :
       {"__global__ void inplace(double* x, long n) { x[0] = n; }",
        "__global__ void gemm(const __half* A, const __half* B, __half* C, int M, int N, int K) "
        "{ C[blockIdx.y] = A[0]; }",
        "__global__ void three(int a, int b, int c, float* o) {}",
        "template <typename T> __global__ void t(const T* lambda, float4* o, int n) {}"}) {
    kernels.push_back(only(source));
  }
  const std::vector<LeftOut> left_out = {{"k.cu", "packed", "one\nreason"},
                                         {"l.cu", "a", "same"},
                                         {"l.cu", "b", "same"},
                                         {"l.cu", "c", "same"},
                                         {"l.cu", "d", "same"},
                                         {"m.cu", "", "unreadable"}};
  const std::string text = config_text({"a \"name\" \\", {"include"}}, kernels, left_out);
  const ConfigResult loaded = parse_config(text, "gpuemu.toml");
  ASSERT_TRUE(loaded.config) << loaded.text() << text;
  EXPECT_EQ(loaded.config->name, "a \"name\" \\");
  EXPECT_EQ(loaded.config->kernels.size(), kernels.size());
  EXPECT_NE(text.find("# k.cu: packed is left out: one reason\n"
                      "# l.cu: a, b, c and 1 more are left out: same\n"
                      "# m.cu is left out: unreadable\n"),
            std::string::npos)
      << text;
  const ConfigResult client = parse_config(client_config_text({"n"}), "gpuemu.toml");
  EXPECT_TRUE(client.config) << client.text();
}

TEST(ProjectText, RenamesWhatPythonReserves) {
  const auto kernel = only("__global__ void k(const float* lambda, float* in, int from) {}");
  EXPECT_EQ(kernel.params[0].name, "lambda_");
  EXPECT_EQ(kernel.params[1].name, "in_");
  EXPECT_EQ(kernel.params[2].name, "from_");
  EXPECT_NE(reference_text(kernel).find("def reference(lambda_, from_):"), std::string::npos)
      << reference_text(kernel);
}

TEST(ProjectText, GivesDynamicSharedMemoryAnElementForEachThread) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"extern __shared__ float buf[];", "256 * 4"},
      {"extern __shared__ __align__(16) unsigned long long buf[ ];", "256 * 8"},
      {"extern __align__(16) __shared__ __half buf[];", "256 * 2"},
      {"extern __shared__ unsigned char bytes[]; threadIdx.y", "16 * 16 * 8"},
      {"extern __shared__ T buf[];", "256 * 8"},
      {"__shared__ float tile[32];", ""}};
  for (const auto& [body, bytes] : cases) {
    const auto kernel = only(
        fmt::format("__global__ void k(const float* x, float* y, int m, int n) {{ {} }}", body));
    EXPECT_EQ(kernel.launch().shared, bytes) << body;
    const std::string text = config_text({"n"}, {kernel});
    EXPECT_EQ(text.find("shared = ") == std::string::npos, bytes.empty()) << text;
    EXPECT_TRUE(parse_config(text, "gpuemu.toml").config) << text;
  }
}

TEST(ProjectText, PassesStructuresShortVectorsAndSmallNumbersByValue) {
  const auto kernel = only(
      "struct Params { float dt; int count; };\n__global__ void k(float* x, Params p, float2 at, "
      "bool "
      "fast, __half scale) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < p.count) x[i] "
      "= "
      "p.dt; }");
  EXPECT_EQ(kernel.launch().grid, std::vector<std::string>{"cdiv(count, 256)"});
  const std::string text = config_text({"n"}, {kernel});
  EXPECT_NE(text.find(R"(args = ["x", ["f32:dt", "i32:count"], ["f32:x_", "f32:y"], "bool:fast", )"
                      R"("f16:scale"])"),
            std::string::npos)
      << text;
  EXPECT_TRUE(parse_config(text, "gpuemu.toml").config)
      << parse_config(text, "gpuemu.toml").text() << text;
}

class InFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = "/tmp/gpuemu_init_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string text_of(const std::string& name) { return *read_file(folder_ / name, 1000); }
  fs::path folder_;
};

class LookAround : public InFolder {};
class WriteFiles : public InFolder {};

TEST_F(LookAround, FindsKernelsOfPythonAndNoFunctionsThatTheyCall) {
  ASSERT_TRUE(write_file(folder_ / "t.py", R"py(import triton
import triton.language as tl

@triton.autotune(
    configs=[triton.Config({"B": 64})],
    key=["n"],
)
@triton.jit(
    do_not_specialize=["n"],
)
def scale(
    x, y,
    n, B: tl.constexpr,
):
    if n == 0:
        return
    tl.store(y, twice(tl.load(x)))

@triton.jit
def twice(x):
    # A function of kernels.

    return x + x

@triton.jit
def last(x): tl.store(x, 0)
)py"));
  ASSERT_TRUE(write_file(folder_ / "n.py", R"py(from numba import cuda, float32

@cuda.jit(device=True)
def helper(a):
    pass

@cuda.jit("void(float32[:], float32[:])",
          fastmath=True)
def saxpy(x, y):
    y[0] = helper(x[0])
)py"));
  const FoundFiles found = look_around(folder_);
  ASSERT_EQ(found.triton.size(), 2u);
  EXPECT_EQ(found.triton[0].name + found.triton[1].name, "scalelast");
  ASSERT_EQ(found.numba.size(), 1u);
  EXPECT_EQ(found.numba[0].name, "saxpy");
  EXPECT_EQ(found.limit, "");
}

TEST_F(LookAround, SaysWhichFilesItLeavesOut) {
  for (int i = 0; i < 203; ++i) {
    ASSERT_TRUE(write_file(folder_ / fmt::format("k{:03}.cu", i), "\n"));
  }
  const FoundFiles found = look_around(folder_);
  EXPECT_EQ(found.cuda.size(), 200u);
  EXPECT_EQ(found.limit,
            "200 of 203 .cu files were looked at, up to k199.cu; run it in the folders below for "
            "the others\n");
}

TEST_F(WriteFiles, WritesAllOrNothing) {
  ASSERT_TRUE(write_file(folder_ / "b", "old"));
  const FilePlan plan{folder_, {{"a", "new a"}, {"b", "new b"}, {"c/d", "new d"}}};
  const auto refused = write_files(plan, false);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("already has b;"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "a"));
  EXPECT_EQ(text_of("b"), "old");
}

TEST_F(WriteFiles, KeepsEveryReplacedFile) {
  ASSERT_TRUE(write_file(folder_ / "b", "first"));
  ASSERT_TRUE(write_files({folder_, {{"b", "second"}}}, true));
  const auto done = write_files({folder_, {{"b", "third"}}}, true);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->backups.at("b"), "b.bak2");
  EXPECT_EQ(text_of("b") + text_of("b.bak") + text_of("b.bak2"), "thirdfirstsecond");
}

TEST_F(WriteFiles, KeepsWhatTheUserWroteIntoAStubAndRenewsTheOthers) {
  // Refuses only some calls, so it is written.
  const std::string written =
      "def reference(x, mode):\n    if mode: raise NotImplementedError\n    return x\n";
  const std::string stub = "def reference(x):\n    raise NotImplementedError\n";
  ASSERT_TRUE(write_file(folder_ / "a.py", written));
  ASSERT_TRUE(write_file(folder_ / "b.py", "import numpy\n" + stub));
  for (const bool force : {false, true}) {
    const auto done =
        write_files({folder_, {{"a.py", stub}, {"b.py", stub}}, {"a.py", "b.py"}}, force);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->kept, std::vector<std::string>{"a.py"});
    EXPECT_EQ(done->backups.size(), force ? 0u : 1u) << "the same stub needs no backup";
    EXPECT_EQ(text_of("a.py"), written);
    EXPECT_EQ(text_of("b.py"), stub);
    EXPECT_EQ(text_of("b.py.bak"), "import numpy\n" + stub);
  }
}

TEST_F(WriteFiles, TakesBackWhatItWroteWhenALaterFileFails) {
  ASSERT_TRUE(write_file(folder_ / "a", "old"));
  ASSERT_TRUE(write_file(folder_ / "x", "no folder"));
  EXPECT_FALSE(write_files({folder_, {{"a", "new"}, {"x/y", "cannot be"}}}, true));
  EXPECT_EQ(text_of("a"), "old");
  EXPECT_FALSE(fs::exists(folder_ / "a.bak"));
}

}  // namespace
}  // namespace gpuemu::cli
