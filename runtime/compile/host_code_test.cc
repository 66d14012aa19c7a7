// Tests what is left of host code for a compiler of device code.
#include "runtime/compile/source_text/host_code.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "runtime/compile/compile_fixture.h"

namespace gpuemu {
namespace {

using compile::host_headers;
using compile::without_host_code;

constexpr const char* kExtension = R"(#include <torch/extension.h>
#include <vector>
#include "own.cuh"
#define CHECK(x) TORCH_CHECK(x.is_cuda())
#define KERNEL(name) __global__ void name
#define BIND(name) \
  torch::Tensor name##_all(torch::Tensor x) { return x; }
namespace ops {
template <typename T> __device__ T twice(T x) { return x + x; }
constexpr int tile() { return 32; }
struct __align__(8) Shape { int n; };
struct Job { std::vector<int> all; };
static std::string words = "}{";
KERNEL(scale)(float* x, Shape s) {
  if (threadIdx.x < s.n) x[threadIdx.x] = own(twice(x[threadIdx.x]));
}
torch::Tensor run(torch::Tensor x) {
  CHECK(x);
  scale<<<1, tile()>>>(x.data_ptr<float>(), Shape{32});
  for (int i = 0; i < 3; ++i) { cudaDeviceSynchronize(); }
  return x;
}
}  // namespace ops
BIND(one)
BIND(two)
template <typename scalar_t> __global__ void add(scalar_t* x) { x[threadIdx.x] += 1; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &ops::run); }
void declared(float* x);
typedef float (*op_t)(float);
int main() { return 0; }
)";

TEST(HostCode, LeavesWhatDeviceCodeMayNeedAndEveryLineInItsPlace) {
  const std::string left = without_host_code(kExtension);
  for (const char* kept :
       {"twice(T x)", "constexpr int tile()", "struct __align__(8) Shape", "#define CHECK(x)",
        "KERNEL(scale)", "__global__ void add", "op_t", "#include <torch/extension.h>"}) {
    EXPECT_NE(left.find(kept), std::string::npos) << kept;
  }
  for (const char* gone : {"torch::Tensor run", "PYBIND11", "main", "declared", "struct Job",
                           "words", "BIND(one)\n", "BIND(two)\n"}) {
    EXPECT_EQ(left.find(gone), std::string::npos) << gone;
  }
  EXPECT_EQ(left.size(), std::string(kExtension).size());
  EXPECT_EQ(std::ranges::count(left, '\n'), std::ranges::count(std::string(kExtension), '\n'));
}

TEST(HostCode, StandsInForTheTypesThatHeadersOfTheHostBring) {
  using compile::stand_in;
  EXPECT_EQ(stand_in("cublas_v2.h", {"__global__ void k(float* x, int half_of_it) {}"}), "");
  for (const char* uses : {"__global__ void k(half* x) {}", "typedef __nv_bfloat16 real;",
                           "__half2 two;", "using T = nv_bfloat162;"}) {
    EXPECT_EQ(stand_in("torch/extension.h", {"", uses}),
              "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n")
        << uses;
    EXPECT_EQ(stand_in("vector", {uses}), "") << uses;
  }
  EXPECT_EQ(stand_in("vector", {"uint8_t bytes[4];"}), "#include <stdint.h>\n");
  EXPECT_EQ(stand_in("vector", {"print_t a; int32 b;"}), "");
}

TEST(HostCode, LeavesATextWhoseBracketsDoNotMatchAsItIs) {
  for (const std::string text :
       {"void f() {", "}", "int a = (1;", "void f() { std::vector<int> x;"}) {
    EXPECT_EQ(without_host_code(text), text);
  }
  const std::string quoted = "/* } */ const char* a = \"{\"; __device__ int f() { return '}'; }";
  EXPECT_EQ(without_host_code(quoted), quoted);
}

TEST(HostCode, TakesNamespacesAndInstancesOfTheHost) {
  const std::string space = std::string("using ") + "namespace std;";
  const std::string instance = "template void run<float>(float*);";
  const std::string kernel = "\ntemplate __global__ void k<float>(float*);\n";
  EXPECT_EQ(without_host_code(space + "\n" + instance + kernel),
            std::string(space.size(), ' ') + "\n" + std::string(instance.size(), ' ') + kernel);
}

TEST(HostCode, KeepsSpecializationsThatDeviceCodeWouldGetTheGeneralTypeWithout) {
  const std::string special =
      "template <typename T> struct Sum<T*> : Base<int> { std::common_type_t<T, float> all; };";
  EXPECT_EQ(without_host_code(special), special);
  const std::string general = "template <typename T> struct Sum : Base<T> { std::vector<T> all; };";
  EXPECT_EQ(without_host_code(general), std::string(general.size(), ' '));
}

TEST(HostCode, KeepsMacrosOfSeveralLinesThatEndAsOnWindows) {
  const std::string macro = "#define TWICE(x) \\\r\n  (2 * (x))\r\n", host = "void run() {}";
  EXPECT_EQ(without_host_code(macro + host), macro + std::string(host.size(), ' '));
}

TEST(HostCode, NamesHeadersOfTheHost) {
  EXPECT_EQ(host_headers(kExtension), (std::vector<std::string>{"torch/extension.h", "vector"}));
  EXPECT_TRUE(host_headers("#include <cuda_fp16.h>\n#include <cub/cub.cuh>\n").empty());
}

using CompileHostCode = CompileFixture;

TEST_P(CompileHostCode, KernelsOfAnExtensionCompileWithoutItsHeaders) {
  write("own.cuh",
        "#include <string>\ninline std::string hello() { return {}; }\n"
        "__device__ inline float own(float x) { return x; }\n");
  write("ext.cu", kExtension);
  const auto module = compile_source(request({"ops::scale", "add<float>"}, "ext.cu"));
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(module->lowered.at("add<float>"), "_Z3addIfEvPT_");
  EXPECT_NE(module->ptx.find("ext.cu"), std::string::npos);
}

TEST_P(CompileHostCode, LinesOfHeadersAreInTheFoldersOfTheHeaders) {
  write("parts/own.cuh", "#include <vector>\n\n__device__ float own(float* x) { return x[9]; }\n");
  write(
      "ext.cu",
      "#include <torch/types.h>\n#include \"parts/own.cuh\"\n__global__ void k(float* x) { x[0] = "
      "own(x); }\n");
  const auto module = compile_source(request({"k"}, "ext.cu"));
  ASSERT_TRUE(module) << module.error().message;
  const std::string path = std::filesystem::weakly_canonical(folder_ / "parts/own.cuh").string();
  EXPECT_NE(module->ptx.find("\"" + path + "\""), std::string::npos) << module->ptx;
}

TEST_P(CompileHostCode, HeadersOfTheHostBringTheTypesThatTheyBringElsewhere) {
  write("own.h", "#include <cublas_v2.h>\n#include <cudnn.h>\ntypedef __nv_bfloat16 real;\n");
  write("ext.cu",
        "#include \"own.h\"\n__global__ void k(real* x, half* y, int32_t n) { x[n] = x[1]; }\n");
  const auto module = compile_source(request({"k"}, "ext.cu"));
  ASSERT_TRUE(module) << module.error().message;
}

TEST_P(CompileHostCode, WhatDeviceCodeLacksIsToldAsIfNothingHadBeenTaken) {
  write("bad.cu", "#include <torch/types.h>\n__global__ void k(at::Half* x) { *x = 1; }\n");
  const auto module = compile_source(request({"k"}, "bad.cu"));
  ASSERT_FALSE(module);
  const std::string message = module.error().message;
  const size_t header = message.find("torch/types.h");
  ASSERT_NE(header, std::string::npos) << message;
  EXPECT_NE(message.find("bad.cu(2): error", header), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Nvrtc, CompileHostCode, testing::Values(CompilerChoice::Nvrtc));

}  // namespace
}  // namespace gpuemu
