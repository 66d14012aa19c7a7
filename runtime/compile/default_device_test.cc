// Functions without __device__ that NVRTC takes for device functions.
#include "runtime/compile/source_text/default_device.h"

#include <gtest/gtest.h>

#include "runtime/compile/compile_fixture.h"

namespace gpuemu {
namespace {

using compile::about_unmarked;
using compile::Unmarked;
using compile::unmarked_in;

constexpr const char* kComplaint =
    ": error: A function without execution space annotations (__host__/__device__/__global__) is "
    "considered a host function, and host functions are not allowed in JIT mode.\n";

TEST(DefaultDevice, ReadsPlacesAndNamesOfTheLog) {
  const std::string log = std::string("/a/my (2).cu(7)") + kComplaint +
                          "   constexpr int get() const {\n                 ^\n\n" + "own.cuh(3)" +
                          kComplaint +
                          "  DEF(twice)\n  ^\n\n/a/b.cu(9): error: identifier \"x\" is undefined\n";
  const auto all = unmarked_in(log);
  ASSERT_TRUE(all);
  EXPECT_EQ(*all, (std::vector<Unmarked>{{"/a/my (2).cu", 7, "get", false, true},
                                         {"own.cuh", 3, "DEF", false, false}}));
  EXPECT_FALSE(unmarked_in(log + "Error limit reached.\n")) << "there are more of them";
}

TEST(DefaultDevice, TheWarningNamesTheFirstFew) {
  std::vector<Unmarked> used = {{"/a/b.cu", 7, "get"}, {"own.cuh", 3, "twice"}};
  EXPECT_EQ(about_unmarked(&used, "/a/b.cu"),
            "kernels use get (line 7), twice (own.cuh:3) without __device__, taken for device code "
            "here; nvcc refuses that; write __device__ before them");
  used.front().is_constexpr = true;
  used.insert(used.end(), 4, {"own.cuh", 4, "more"});
  const std::string many = about_unmarked(&used, "/a/b.cu");
  EXPECT_NE(many.find(" and 2 more without"), std::string::npos) << many;
  EXPECT_NE(many.find("refuses that without --expt-relaxed-constexpr"), std::string::npos) << many;
}

class CompileDefaultDevice : public CompileFixture {
 protected:
  std::vector<std::string> warnings_of(const std::string& source,
                                       std::vector<std::string> names = {"k"}) {
    write("own.cu", source);
    CompileRequest wanted = request(std::move(names), "own.cu");
    wanted.cache_folder = folder_ / "cache";
    const auto made = compile_source(wanted);
    EXPECT_TRUE(made) << made.error().message;
    if (!made) return {};
    const auto kept = compile_source(wanted);
    EXPECT_TRUE(kept && kept->compiler == "cache");
    EXPECT_TRUE(kept && kept->warnings == made->warnings && kept->ptx == made->ptx);
    return made->warnings;
  }
};

TEST_P(CompileDefaultDevice, WhatAKernelCallsWithoutDeviceIsWarnedOf) {
  EXPECT_EQ(warnings_of("struct S {\n  int n;\n  int get() const { return n; }\n"
                        "  bool operator==(const S& o) const { return n == o.n; }\n};\n"
                        "__global__ void k(int* x, S s) { x[0] = s.get() + (s == s); }\n"),
            std::vector<std::string>{
                "kernels use get (line 3), operator (line 4) without __device__, taken for device "
                "code here; nvcc refuses that; write __device__ before them"});
}

TEST_P(CompileDefaultDevice, CallsOfDeviceFunctionsAndInstancesCountAlike) {
  write("part.cuh",
        "struct Twice {\n  template <typename T>\n  T\n  of(\n      T x) const\n"
        "  { return x + x; }\n};\n");
  const std::string source =
      "#include \"part.cuh\"\n"
      "template <typename T> __device__ T four(T x) { return Twice().of(x) + Twice().of(x); }\n"
      "template <typename T> __global__ void k(T* x) { x[0] = four(x[1]); }\n";
  const auto warnings = warnings_of(source, {"k<float>"});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("part.cuh:4)"), std::string::npos) << warnings[0];
}

TEST_P(CompileDefaultDevice, VariablesThatAKernelReadsAreWarnedOf) {
  const auto warnings = warnings_of(
      "extern \"C\" {\nint factor = 3;\n}\nint f(int x) { return x; }\n"
      "__global__ void k(int* x) { x[0] = factor; }\n");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("factor (line 2)"), std::string::npos) << warnings[0];
}

TEST_P(CompileDefaultDevice, ConstexprFunctionsThatAKernelCallsWhileItIsCompiledAreWarnedOf) {
  for (const char* const used :
       {"constexpr int kTile = tile(3); x[0] = kTile;",
        "__shared__ int all[tile (4)]; x[0] = all[0];", "x[0] = tile(x[1]);"}) {
    const auto warnings = warnings_of(std::string("constexpr int tile(int x) { return 2 * x; }\n"
                                                  "__global__ void k(int* x) { ") +
                                      used + " }\n");
    ASSERT_EQ(warnings.size(), 1u) << used;
    EXPECT_NE(warnings[0].find("tile (line 1)"), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[0].find("without --expt-relaxed-constexpr"), std::string::npos);
  }
}

TEST_P(CompileDefaultDevice, WhatNoDeviceCodeUsesIsNoWarning) {
  EXPECT_EQ(
      warnings_of("constexpr int tile(int x) { return 2 * x; }\n"
                  "constexpr int kTile = tile(3);\n"
                  "struct S {\n  int n;\n  S(int a) : n(a) {}\n  int host() const { return n; }\n"
                  "  int twice() const { return 2 * host(); }\n"
                  "  __device__ int get() const { return n; }\n};\n"
                  "__device__ int table[tile(4)] = {};\n"
                  "__global__ void __launch_bounds__(tile(64)) k(int* x, S s) {\n"
                  "  // tile(3) is \"tile(3)\".\n  auto add = [](int a) { return a + 1; };\n"
                  "  x[0] = s.get() + add(table[kTile]);\n}\n"
                  "int main() { S s(tile(2)); k<<<1, 1>>>(nullptr, s); return s.twice(); }\n"),
      std::vector<std::string>{});
}

TEST_P(CompileDefaultDevice, ASourceThatNeedsNothingOfTheHostHasNoWarning) {
  EXPECT_EQ(warnings_of("__device__ int f(int x) { return x; }\n"
                        "__global__ void k(int* x) { x[0] = f(x[1]); }\n"
                        "int main() { k<<<1, 1>>>(nullptr); }\n"),
            std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Nvrtc, CompileDefaultDevice, testing::Values(CompilerChoice::Nvrtc));

}  // namespace
}  // namespace gpuemu
