// Tests with many compilations. With NVRTC, which takes milliseconds each, they run in every build;
// with nvcc, which takes a second each, among the slow tests.
#include <algorithm>
#include <thread>

#include "common/base/files.h"
#include "runtime/compile/compile.h"
#include "runtime/compile/compile_fixture.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

class CompileThoroughly : public CompileFixture {
 protected:
  /// Uses the cache in the test's folder.
  CompileRequest cached() const {
    CompileRequest out = request({"scale<float>"});
    out.cache_folder = folder_ / "cache";
    return out;
  }
  std::string compiler_of(const CompileRequest& wanted) {
    const auto module = compile_source(wanted);
    EXPECT_TRUE(module) << module.error().message;
    return module ? module->compiler : "";
  }
  fs::path cache_file() const { return fs::directory_iterator(folder_ / "cache")->path(); }
};

TEST_P(CompileThoroughly, ListsTheKernelsWhenATemplateDoesNotExist) {
  const auto module = compile_source(request({"missing<float>"}));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::NotFound) << module.error().message;
  EXPECT_NE(module.error().message.find("plain, c_name, scale<...>"), std::string::npos)
      << module.error().message;
}

TEST_P(CompileThoroughly, CompilesAnewWhenAHeaderChanges) {
  ASSERT_NE(compiler_of(cached()), "cache");
  write("factor.h", "#define FACTOR 5\n");
  EXPECT_NE(compiler_of(cached()), "cache");
  EXPECT_EQ(compiler_of(cached()), "cache");
}

TEST_P(CompileThoroughly, FollowsHeadersOfIncludeFoldersAndFlags) {
  write("far/factor.h", "#include \"deeper.h\"\n");
  write("far/deeper.h", "#define FACTOR 4\n");
  fs::remove(folder_ / "factor.h");
  CompileRequest wanted = cached();
  wanted.flags = {"-I" + (folder_ / "far").string()};
  ASSERT_NE(compiler_of(wanted), "cache");
  write("far/deeper.h", "#define FACTOR 6\n");
  EXPECT_NE(compiler_of(wanted), "cache");
  wanted.flags.clear();
  wanted.include_dirs = {folder_ / "far"};
  EXPECT_NE(compiler_of(wanted), "cache");
}

TEST_P(CompileThoroughly, CompilesAnewWhereTheCacheIsDamaged) {
  const auto first = compile_source(cached());
  ASSERT_TRUE(first) << first.error().message;
  const auto whole = read_file(cache_file(), 1 << 24);
  ASSERT_TRUE(whole);
  std::string flipped = *whole;
  flipped[flipped.size() / 2] ^= 1;
  for (const std::string& damaged :
       {std::string(), whole->substr(0, whole->size() / 2), whole->substr(0, whole->size() - 1),
        flipped, *whole + "\n", std::string(5000, '\xff')}) {
    ASSERT_TRUE(write_file(cache_file(), damaged));
    const auto again = compile_source(cached());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_NE(again->compiler, "cache");
    EXPECT_EQ(again->ptx, first->ptx);
    EXPECT_EQ(compiler_of(cached()), "cache");
  }
}

TEST_P(CompileThoroughly, ServesSeveralThreadsAtOnce) {
  constexpr int kThreads = 4;
  std::vector<std::string> ptx(2 * kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i, &ptx] {
      for (int round = 0; round < 2; ++round) {
        const auto module = compile_source(cached());
        if (module) ptx[static_cast<size_t>(2 * i + round)] = module->ptx;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(ptx[0].find(".version"), std::string::npos);
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(ptx, ptx[0])), ptx.size());
  EXPECT_EQ(compiler_of(cached()), "cache");
}

TEST_P(CompileThoroughly, FindsTheHeadersOfTheToolkit) {
  write("headers.cu",
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cooperative_groups.h>\n"
        "template <typename T> __global__ void k(T* x) {\n"
        "  cooperative_groups::this_thread_block().sync();\n  *x = T(1.0f);\n}\n");
  const auto module = compile_source(request({"k<__half>", "k<__nv_bfloat16>"}, "headers.cu"));
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(module->lowered.at("k<__half>"), "_Z1kI6__halfEvPT_");
}

TEST_P(CompileThoroughly, CompilesForTheArchitectureThatIsAskedFor) {
  CompileRequest wanted = request({"plain"});
  wanted.arch = "sm_90a";
  const auto module = compile_source(wanted);
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_NE(module->ptx.find(".target sm_90a"), std::string::npos);
}

#ifdef GPUEMU_SLOW_TESTS
INSTANTIATE_TEST_SUITE_P(Nvcc, CompileThoroughly, testing::Values(CompilerChoice::Nvcc));

/// Sources that only nvcc can compile: NVRTC is tried first and fails.
class CompileWithEither : public CompileFixture {};

TEST_P(CompileWithEither, TakesFlagsTextAndHostHeaders) {
  CompileRequest wanted = request({"k<COUNT>"}, "text.cu");
  wanted.compiler = CompilerChoice::Auto;
  wanted.source =
      "#include <cstdio>\n#include <cuda_fp16.h>\ntemplate <int N> __global__ void k(__half* x) { "
      "x[N] = 0; }\n";
  wanted.flags = {"-DCOUNT=7", "-lineinfo"};
  const auto module = compile_source(wanted);
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_NE(module->ptx.find("_Z1kILi7EEvP6__half"), std::string::npos);
}

TEST_P(CompileWithEither, CompilesBlockReductionsOfCub) {
  write("cub.cu",
        "#include <cub/cub.cuh>\n__global__ void k(const float* x, float* y) {\n"
        "  using Reduce = cub::BlockReduce<float, 64>;\n"
        "  __shared__ typename Reduce::TempStorage temp;\n"
        "  const float sum = Reduce(temp).Sum(x[threadIdx.x]);\n"
        "  if (threadIdx.x == 0) *y = sum;\n}\n");
  CompileRequest wanted = request({"k"}, "cub.cu");
  wanted.compiler = CompilerChoice::Auto;
  const auto module = compile_source(wanted);
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(module->lowered.at("k"), "_Z1kPKfPf");
}

INSTANTIATE_TEST_SUITE_P(Either, CompileWithEither, testing::Values(CompilerChoice::Nvcc));
#else
INSTANTIATE_TEST_SUITE_P(Nvrtc, CompileThoroughly, testing::Values(CompilerChoice::Nvrtc));
#endif

}  // namespace
}  // namespace gpuemu
