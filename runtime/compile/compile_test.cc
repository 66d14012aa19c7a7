// Real compilations with each compiler that is here; about half a second each with nvcc.
#include "runtime/compile/compile.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/files.h"
#include "runtime/compile/diagnostics.h"
#include "runtime/compile/includes.h"
#include "runtime/compile/toolkit.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = R"(#include "factor.h"
template <typename T> __global__ void scale(T* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * T(FACTOR);
}
__global__ void plain(float* x) { *x = FACTOR; }
extern "C" __global__ void c_name(float* x) { *x = FACTOR; }
)";

/// A folder of sources that goes with the test. Each test runs with each compiler that is here.
class Compile : public testing::TestWithParam<CompilerChoice> {
 protected:
  void SetUp() override {
    const auto kit = compile::find_toolkit();
    const bool is_here =
        GetParam() == CompilerChoice::Nvrtc ? !kit.nvrtc.empty() : !kit.nvcc.empty();
    if (!is_here) GTEST_SKIP() << "this compiler is not installed";
    std::string path = (fs::temp_directory_path() / "gpuemu-compile-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
    write("factor.h", "#define FACTOR 3\n");
    write("scale.cu", kSource);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(folder_ / name, text));
  }
  CompileRequest request(std::vector<std::string> names,
                         const std::string& file = "scale.cu") const {
    CompileRequest out;
    out.path = folder_ / file;
    out.arch = "sm_75";
    out.name_expressions = std::move(names);
    out.compiler = GetParam();
    return out;
  }
  fs::path folder_;
};

TEST_P(Compile, InstantiatesTemplatesAndFindsPlainNames) {
  const auto module =
      compile_source(request({"scale<float>", "scale<int32_t>", "plain", "c_name"}));
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(module->lowered.at("scale<float>"), "_Z5scaleIfEvPT_i");
  EXPECT_EQ(module->lowered.at("scale<int32_t>"), "_Z5scaleIiEvPT_i");
  EXPECT_EQ(module->lowered.at("plain"), "_Z5plainPf");
  EXPECT_EQ(module->lowered.at("c_name"), "c_name");
  EXPECT_NE(module->ptx.find(".target sm_75"), std::string::npos);
  EXPECT_NE(module->ptx.find("scale.cu\""), std::string::npos) << "no source lines";
}

TEST_P(Compile, PrintsTheUsersFileAndLine) {
  write("bad.cu", "__global__ void k(float* x) {\n  x[0] = undeclared;\n}\n");
  const auto module = compile_source(request({"k"}, "bad.cu"));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::Compile);
  EXPECT_NE(module.error().message.find("bad.cu(2): error"), std::string::npos)
      << module.error().message;
}

TEST_P(Compile, ListsTheKernelsWhenAnEntryDoesNotExist) {
  for (const char* name : {"missing", "missing<float>"}) {
    const auto module = compile_source(request({name}));
    ASSERT_FALSE(module);
    EXPECT_EQ(module.error().code, ErrorCode::NotFound) << module.error().message;
    EXPECT_NE(module.error().message.find("plain, c_name, scale<...>"), std::string::npos)
        << module.error().message;
  }
}

TEST_P(Compile, KeepsWhatItCompiledUntilAHeaderChanges) {
  CompileRequest wanted = request({"scale<float>"});
  wanted.cache_folder = folder_ / "cache";
  const auto first = compile_source(wanted);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_NE(first->compiler, "cache");
  const auto again = compile_source(wanted);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->compiler, "cache");
  EXPECT_EQ(again->lowered, first->lowered);
  write("factor.h", "#define FACTOR 5\n");
  const auto changed = compile_source(wanted);
  ASSERT_TRUE(changed);
  EXPECT_NE(changed->compiler, "cache");
  EXPECT_NE(changed->ptx, first->ptx);
}

TEST_P(Compile, TakesFlagsTextAndHostHeaders) {
  CompileRequest wanted = request({"k<COUNT>"}, "text.cu");
  wanted.source =
      "#include <cstdio>\n#include <cuda_fp16.h>\ntemplate <int N> __global__ void k(__half* x) { "
      "x[N] = 0; }\n";
  wanted.flags = {"-DCOUNT=7", "-lineinfo"};
  if (GetParam() == CompilerChoice::Nvrtc) wanted.compiler = CompilerChoice::Auto;
  const auto module = compile_source(wanted);
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_NE(module->ptx.find("_Z1kILi7EEvP6__half"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Nvcc, Compile, testing::Values(CompilerChoice::Nvcc));
INSTANTIATE_TEST_SUITE_P(Nvrtc, Compile, testing::Values(CompilerChoice::Nvrtc));

TEST(CompileSource, ReadsPtxAsItIs) {
  CompileRequest request;
  request.path = "given.ptx";
  request.source = ".version 8.0\n.entry _Z5plainPf() {}\n";
  request.name_expressions = {"plain"};
  const auto module = compile_source(request);
  ASSERT_TRUE(module);
  EXPECT_EQ(module->lowered.at("plain"), "_Z5plainPf");
  EXPECT_EQ(module->ptx, request.source);
}

TEST(CompileSource, RefusesWhatIsMissingOrNoArchitecture) {
  CompileRequest request;
  request.path = "/nonexistent/k.cu";
  EXPECT_EQ(compile_source(request).error().code, ErrorCode::NotFound);
  request.source = "__global__ void k() {}";
  request.arch = "turing; rm -rf /";
  EXPECT_EQ(compile_source(request).error().code, ErrorCode::InvalidArgument);
}

TEST(ErrorLines, KeepsTwentyAndDropsWarnings) {
  std::string log = "k.cu(1): warning #177: unused\n";
  for (int i = 0; i < 30; ++i) log += fmt::format("k.cu({}): error: bad\n", i);
  const std::string kept = compile::error_lines(log);
  EXPECT_EQ(kept.find("warning"), std::string::npos);
  EXPECT_NE(kept.find("k.cu(19)"), std::string::npos);
  EXPECT_EQ(kept.find("k.cu(20)"), std::string::npos);
  EXPECT_EQ(compile::error_lines("segmentation fault"), "segmentation fault");
}

}  // namespace
}  // namespace gpuemu
