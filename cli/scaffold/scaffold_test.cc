// What is read from sources and what is written from it.
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/scaffold/file_plan.h"
#include "cli/scaffold/project_text.h"
#include "cli/scaffold/propose.h"
#include "cli/scaffold/source_scan.h"
#include "common/base/files.h"
#include "common/config/config.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kSource[] = R"(
// __global__ void commented(int a) {}
/* __global__ void blocked(int a) {} */
__global__ void declared(float* x, int n);
const char* text = "__global__ void quoted(int a) {}";

extern "C" __global__ void __launch_bounds__(256, 2) scale(
    const float* __restrict__ x, float *y, int n, float factor = 2.0f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = factor * x[i]; }
}

template <typename T>
__global__ void softmax(T const* in, T* out, int rows, const int cols) { out[blockIdx.x] = in[0]; }

template <int N, typename T>
__global__ void tiled(T* out) {}

struct Params { int a; };
__global__ void packed(Params p) {}
)";

TEST(ScanKernels, FindsFunctionsWithABodyAndNothingElse) {
  const auto kernels = scan_kernels(kSource);
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_EQ(kernels[0].name, "scale");
  EXPECT_EQ(kernels[0].line, 7u);
  ASSERT_EQ(kernels[0].params.size(), 4u);
  EXPECT_TRUE(kernels[0].params[0].pointer && kernels[0].params[0].is_const);
  EXPECT_TRUE(kernels[0].params[1].pointer && !kernels[0].params[1].is_const);
  EXPECT_EQ(kernels[0].params[3].name, "factor");
  EXPECT_EQ(kernels[0].params[3].type, "float");
  EXPECT_EQ(kernels[1].template_params, std::vector<std::string>{"typename T"});
  EXPECT_TRUE(kernels[1].params[0].is_const);
  EXPECT_EQ(kernels[2].template_params.size(), 2u);
}

TEST(ScanKernels, CutAnywhereIsReadWithoutHarm) {
  const std::string source = kSource;
  for (size_t length = 0; length < source.size(); ++length) {
    EXPECT_LE(scan_kernels(source.substr(0, length)).size(), 5u) << length;
  }
}

std::vector<ProposedKernel> proposals() {
  std::vector<ProposedKernel> all;
  std::string why;
  for (const SourceKernel& kernel : scan_kernels(kSource)) {
    if (auto one = propose(kernel, "kernels/k.cu", why)) all.push_back(*one);
  }
  return all;
}

TEST(Propose, TakesConstPointersForInputsIntegersForDimsAndRealsForAttrs) {
  const auto kernels = proposals();
  ASSERT_EQ(kernels.size(), 2u);
  const auto& params = kernels[0].params;
  EXPECT_EQ(params[0].role, ParamRole::Input);
  EXPECT_EQ(params[1].role, ParamRole::Output);
  EXPECT_EQ(params[2].role, ParamRole::Dim);
  EXPECT_EQ(params[3].role, ParamRole::Attr);
  EXPECT_EQ(kernels[0].grid, std::vector<std::string>{"cdiv(n, 256)"});
  EXPECT_EQ(kernels[1].entry, "softmax<{ctype}>");
  EXPECT_EQ(kernels[1].grid, std::vector<std::string>{"rows"});
  EXPECT_EQ(kernels[1].params[0].dtype, "{dtype}");
}

TEST(Propose, GivesAKernelWithABlockPerRowItsRows) {
  std::string why;
  for (const char* body : {"int row = blockIdx.x;", "x += blockIdx.x * cols;",
                           "x += static_cast<size_t>(blockIdx.x) * cols;"}) {
    const auto kernels = scan_kernels(
        fmt::format("__global__ void norm(const float* x, float* y, int cols) {{ {} }}", body));
    const auto kernel = propose(kernels.at(0), "k.cu", why);
    EXPECT_EQ(kernel->grid, std::vector<std::string>{"rows"}) << body;
    EXPECT_EQ(kernel->dims(), (std::vector<std::string>{"rows", "cols"})) << body;
    const std::string text = config_text({"n", "cuda"}, {*kernel});
    EXPECT_NE(text.find("shape = [\"rows\", \"cols\"]"), std::string::npos) << text;
    EXPECT_NE(text.find("args = [\"x\", \"y\", \"i32:cols\"]"), std::string::npos) << text;
    EXPECT_TRUE(parse_config(text, "gpuemu.toml").config);
  }
}

TEST(Propose, GivesDynamicSharedMemoryAnElementForEachThread) {
  std::string why;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"extern __shared__ float buf[];", "256 * 4"},
      {"extern __shared__ __align__(16) unsigned long long buf[ ];", "256 * 8"},
      {"extern __align__(16) __shared__ __half buf[];", "256 * 2"},
      {"extern __shared__ unsigned char bytes[]; blockIdx.y", "16 * 16 * 8"},
      {"extern __shared__ T buf[];", "256 * 8"},
      {"__shared__ float tile[32];", ""}};
  for (const auto& [body, bytes] : cases) {
    const auto kernels = scan_kernels(
        fmt::format("__global__ void k(const float* x, float* y, int m, int n) {{ {} }}", body));
    const auto kernel = propose(kernels.at(0), "k.cu", why);
    EXPECT_EQ(kernel->shared, bytes) << body;
    const std::string text = config_text({"n", "cuda"}, {*kernel});
    EXPECT_EQ(text.find("shared = ") == std::string::npos, bytes.empty()) << text;
    EXPECT_TRUE(parse_config(text, "gpuemu.toml").config) << text;
  }
}

TEST(Propose, SaysWhatCannotBePassed) {
  std::string why;
  const auto kernels = scan_kernels(kSource);
  EXPECT_FALSE(propose(kernels[2], "k.cu", why));
  EXPECT_NE(why.find("tiled is a template over <int N, typename T>,"), std::string::npos) << why;
  EXPECT_FALSE(propose(kernels[3], "k.cu", why));
  EXPECT_NE(why.find("'Params p' of packed"), std::string::npos);
}

TEST(Propose, NamesATemplateOverOneValueAsWhatItIs) {
  std::string why;
  const auto kernels = scan_kernels("template <bool Fast> __global__ void gemm(float* y) {}");
  EXPECT_FALSE(propose(kernels.at(0), "k.cu", why));
  EXPECT_NE(why.find("gemm is a template over <bool Fast>,"), std::string::npos) << why;
}

TEST(Propose, TakesTheLastPointerOfAPtxEntryForTheOutput) {
  PtxMetrics entry;
  entry.entry = "add.kernel";
  entry.params = {{"a", "u64", 8}, {"b", "u64", 8}, {"n", "u32", 4}, {"s", "f32", 4}};
  std::string why;
  const auto kernel = propose(entry, "k.ptx", why);
  ASSERT_TRUE(kernel) << why;
  EXPECT_EQ(kernel->name, "add_kernel");
  EXPECT_EQ(kernel->entry, "add.kernel");
  EXPECT_EQ(kernel->params[0].role, ParamRole::Input);
  EXPECT_EQ(kernel->params[1].role, ParamRole::Output);
  entry.params.push_back({"big", "b8", 48});
  EXPECT_FALSE(propose(entry, "k.ptx", why));
  EXPECT_NE(why.find("48 bytes"), std::string::npos);
}

TEST(ProjectText, IsAConfigurationWithoutAnyProblem) {
  auto kernels = proposals();
  kernels.push_back(example_kernel());
  std::string why;
  for (const char* source :
       {"__global__ void inplace(double* x, long n) { x[0] = n; }",
        "__global__ void gemm(const __half* A, const __half* B, __half* C, int M, int N, int K) "
        "{ C[blockIdx.y] = A[0]; }",
        "__global__ void alone() {}", "__global__ void three(int a, int b, int c, float* o) {}"}) {
    const auto scanned = scan_kernels(source);
    ASSERT_EQ(scanned.size(), 1u) << source;
    kernels.push_back(*propose(scanned[0], "k.cu", why));
  }
  std::erase_if(kernels, [](const ProposedKernel& one) { return one.params.empty(); });
  const std::string text = config_text({"a \"name\" \\", "cuda"}, kernels);
  const ConfigResult loaded = parse_config(text, "gpuemu.toml");
  ASSERT_TRUE(loaded.config) << loaded.text() << text;
  EXPECT_EQ(loaded.config->name, "a \"name\" \\");
  EXPECT_EQ(loaded.config->kernels.size(), kernels.size());
  const ConfigResult client = parse_config(client_config_text({"n", "pytorch"}), "gpuemu.toml");
  EXPECT_TRUE(client.config) << client.text();
}

class WriteFiles : public testing::Test {
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

TEST_F(WriteFiles, TakesBackWhatItWroteWhenALaterFileFails) {
  ASSERT_TRUE(write_file(folder_ / "a", "old"));
  ASSERT_TRUE(write_file(folder_ / "x", "no folder"));
  EXPECT_FALSE(write_files({folder_, {{"a", "new"}, {"x/y", "cannot be"}}}, true));
  EXPECT_EQ(text_of("a"), "old");
  EXPECT_FALSE(fs::exists(folder_ / "a.bak"));
}

}  // namespace
}  // namespace gpuemu::cli
