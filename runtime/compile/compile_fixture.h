// Test fixture: sources in a temporary folder, and a request for each installed compiler.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/base/files.h"
#include "runtime/compile/compile.h"
#include "runtime/compile/toolkit.h"

namespace gpuemu {

inline constexpr const char* kScaleSource = R"(#include "factor.h"
template <typename T> __global__ void scale(T* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * T(FACTOR);
}
__global__ void plain(float* x) { *x = FACTOR; }
extern "C" __global__ void c_name(float* x) { *x = FACTOR; }
)";

/// Parameterised by the compiler. Skips the test if it is not installed.
class CompileFixture : public testing::TestWithParam<CompilerChoice> {
 protected:
  void SetUp() override {
    const auto kit = compile::find_toolkit();
    const bool is_here =
        GetParam() == CompilerChoice::Nvrtc ? !kit.nvrtc.empty() : !kit.nvcc.empty();
    if (!is_here) GTEST_SKIP() << "this compiler is not installed";
    std::string path =
        (std::filesystem::temp_directory_path() / "gpuemu-compile-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
    write("factor.h", "#define FACTOR 3\n");
    write("scale.cu", kScaleSource);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
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
  std::filesystem::path folder_;
};

}  // namespace gpuemu
