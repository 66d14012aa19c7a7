// Tests each installed compiler once; compile_thorough_test.cc has the tests with many
// compilations.
#include "runtime/compile/compile.h"

#include <thread>
#include <vector>

#include "runtime/compile/compile_fixture.h"
#include "runtime/compile/diagnostics.h"
#include "runtime/compile/source_text/includes.h"

namespace gpuemu {
namespace {

using Compile = CompileFixture;

TEST_P(Compile, InstantiatesTemplatesFindsPlainNamesAndKeepsTheResult) {
  CompileRequest wanted = request({"scale<float>", "scale<int32_t>", "plain", "c_name"});
  wanted.cache_folder = folder_ / "cache";
  const auto module = compile_source(wanted);
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(module->lowered.at("scale<float>"), "_Z5scaleIfEvPT_i");
  EXPECT_EQ(module->lowered.at("scale<int32_t>"), "_Z5scaleIiEvPT_i");
  EXPECT_EQ(module->lowered.at("plain"), "_Z5plainPf");
  EXPECT_EQ(module->lowered.at("c_name"), "c_name");
  EXPECT_NE(module->ptx.find(".target sm_75"), std::string::npos);
  EXPECT_NE(module->ptx.find("scale.cu\""), std::string::npos) << "no source lines";
  EXPECT_NE(module->compiler, "cache");
  const auto again = compile_source(wanted);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->compiler, "cache");
  EXPECT_EQ(again->lowered, module->lowered);
  EXPECT_EQ(again->ptx, module->ptx);
  wanted.name_expressions = {"scale<float>", "scale<int32_t>", "missing"};
  const auto missing = compile_source(wanted);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_NE(missing.error().message.find("plain, c_name"), std::string::npos)
      << missing.error().message;
}

TEST_P(Compile, ATypeWithoutItsHeaderIsToldOfATemplateToo) {
  write("half.cu", "template <int N> __global__ void k(half* x) { x[N] = x[0]; }\n");
  const auto module = compile_source(request({"k<4>"}, "half.cu"));
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().message.find("add #include <cuda_fp16.h>"), std::string::npos)
      << module.error().message;
}

TEST_P(Compile, ThoseWhoAskAtTheSameTimeGetTheSameText) {
  CompileRequest wanted = request({"scale<float>"});
  wanted.cache_folder = folder_ / "shared";
  std::string texts[2];
  {
    std::vector<std::jthread> threads;
    for (std::string& text : texts) {
      threads.emplace_back([&] { text = compile_source(wanted)->ptx; });
    }
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(compile_source(wanted)->ptx, texts[0]);
}

TEST_P(Compile, AheadKeepsEachSetForThoseWhoTakeATextWithOthers) {
  CompileRequest wanted = request({});
  wanted.cache_folder = folder_ / "ahead";
  const std::vector<std::vector<std::string>> sets = {{"scale<float>"}, {"scale<int>", "plain"}};
  const Status done = compile_ahead(wanted, sets);
  ASSERT_TRUE(done) << done.error().message;
  wanted.with_others = true;
  for (const auto& set : sets) {
    wanted.name_expressions = set;
    const auto module = compile_source(wanted);
    ASSERT_TRUE(module) << module.error().message;
    EXPECT_EQ(module->compiler, "cache");
    EXPECT_NE(module->ptx.find("_Z5scaleIiEvPT_i"), std::string::npos);
    EXPECT_NE(module->ptx.find("_Z5scaleIfEvPT_i"), std::string::npos);
  }
  wanted.with_others = false;
  wanted.name_expressions = {"scale<float>"};
  const auto alone = compile_source(wanted);
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_NE(alone->compiler, "cache");
  EXPECT_EQ(alone->ptx.find("_Z5scaleIiEvPT_i"), std::string::npos);
}

TEST_P(Compile, AheadLeavesOutWhatDoesNotCompileWithTheOthers) {
  CompileRequest wanted = request({});
  wanted.cache_folder = folder_ / "halves";
  const Status done = compile_ahead(
      wanted, {{"scale<float>"}, {"scale<int>"}, {"scale<void>"}, {"scale<nowhere>"}});
  ASSERT_TRUE(done) << done.error().message;
  wanted.with_others = true;
  wanted.name_expressions = {"scale<int>"};
  EXPECT_EQ(compile_source(wanted)->compiler, "cache");
  wanted.name_expressions = {"scale<nowhere>"};
  EXPECT_EQ(compile_source(wanted).error().code, ErrorCode::Compile);
}

TEST_P(Compile, AheadSaysOnceThatTheSourceItselfDoesNotCompile) {
  write("bad.cu", "template <int N> __global__ void k(float* x) {}\nint y = undeclared;\n");
  CompileRequest wanted = request({}, "bad.cu");
  wanted.cache_folder = folder_ / "bad";
  const Status done = compile_ahead(wanted, {{"k<1>"}, {"k<2>"}, {"k<3>"}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::Compile);
  EXPECT_NE(done.error().message.find("bad.cu(2): error"), std::string::npos)
      << done.error().message;
}

TEST_P(Compile, NothingIsCompiledForSomebodyWhoHasGone) {
  const std::atomic<bool> gone{true};
  CompileRequest wanted = request({"plain"});
  wanted.cancel = &gone;
  EXPECT_EQ(compile_source(wanted).error().code, ErrorCode::Cancelled);
}

TEST_P(Compile, SaysThatAPlainKernelIsNoTemplate) {
  const auto module = compile_source(request({"plain<float>"}));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::NotFound);
  EXPECT_NE(module.error().message.find("is not a template; write 'plain'"), std::string::npos)
      << module.error().message;
}

TEST_P(Compile, AWrongTemplateArgumentIsToldWithoutFilesOfOurs) {
  for (const std::string wrong : {"scale<flot>", "scale<float, >", "scale<float>; }"}) {
    const auto module = compile_source(request({"scale<float>", wrong}));
    ASSERT_FALSE(module) << wrong;
    const std::string& said = module.error().message;
    EXPECT_EQ(said.find("gpuemu_wrapper"), std::string::npos) << said;
    EXPECT_EQ(said.find("gpuemu_entry"), std::string::npos) << said;
    EXPECT_NE(said.find(wrong), std::string::npos) << said;
  }
}

TEST_P(Compile, PrintsTheUsersFileAndLine) {
  write("bad.cu", "__global__ void k(float* x) {\n  x[0] = undeclared;\n}\n");
  const auto module = compile_source(request({"k"}, "bad.cu"));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::Compile);
  EXPECT_NE(module.error().message.find("bad.cu(2): error"), std::string::npos)
      << module.error().message;
}

TEST_P(Compile, KnowsTheHostsNumbersAndTypes) {
  CompileRequest wanted = request({"k"}, "text.cu");
  wanted.source =
      "#include <cmath>\n#include <cfloat>\n#include <climits>\n#include <cstdint>\n#include "
      "<math.h>\n"
      "#include <stdint.h>\n#include <stdio.h>\n#include <assert.h>\n#include <cuda_runtime.h>\n"
      "#include <limits>\n#include <type_traits>\n"
      "struct Limit { static constexpr float kLowest = -INFINITY; };\n"
      "__global__ void k(float* x, const int64_t* n, std::uint8_t* b, uint m) {\n"
      "  float v = x[0];\n  assert(v < FLT_MAX);\n"
      "  if (std::isnan(v) || v == Limit::kLowest) printf(\"%f\", v);\n"
      "  static_assert(std::is_same<float, decltype(v)>::value, \"\");\n"
      "  x[0] = std::sqrt(v) + static_cast<float>(M_PI) + NAN + INT_MAX + *n + *b + m;\n"
      "  static_assert(std::numeric_limits<float>::digits == 24, \"\");\n}\n";
  const auto module = compile_source(wanted);
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(module->lowered.at("k"),
            GetParam() == CompilerChoice::Nvrtc ? "_Z1kPfPKxPhj" : "_Z1kPfPKlPhj");
}

TEST_P(Compile, KnowsWhatNvccIncludesByItself) {
  CompileRequest wanted = request({"k"}, "text.cu");
  wanted.source =
      "__global__ void k(float* x, clock_t* t) {\n"
      "  *t = clock();\n  x[0] = M_PI + INT_MAX + sinf(x[1]);\n  if (t == NULL) x[1] = NAN;\n}\n";
  const auto module = compile_source(wanted);
  ASSERT_TRUE(module) << module.error().message;
  // As with nvcc, its own number is a warning at most.
  wanted.source = "#define M_PI 3.14\n__global__ void k(float* x) { x[0] = M_PI; }\n";
  EXPECT_TRUE(compile_source(wanted));
}

TEST_P(Compile, TakesTheFlagsOfABuildThatAreForTheHost) {
  CompileRequest wanted = request({"k"}, "text.cu");
  wanted.source =
      "constexpr int twice(int n) { return 2 * n; }\n"
      "__global__ void k(int* x) { x[0] = twice(x[1]); }\n";
  wanted.flags = {"-O3",   "--expt-relaxed-constexpr", "--expt-extended-lambda", "-Xcompiler",
                  "-fPIC", "-Xcompiler=-Wall",         "--use_fast_math"};
  const auto module = compile_source(wanted);
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_TRUE(module->warnings.empty()) << module->warnings.front();
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

TEST(Includes, FlagsThatAddFoldersAndFilesAreFollowed) {
  EXPECT_EQ(compile::include_dirs_of({"-Ia", "-DX=1", "-I", "b", "--include-path=c", "-include",
                                      "d.h", "-isystem", "e"}),
            (std::vector<std::string>{"a", "b", "c", "e"}));
  EXPECT_EQ(compile::forced_includes({"-include", "d.h", "--pre-include=e.h"}),
            "#include \"d.h\"\n#include \"e.h\"\n");
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

TEST(ErrorLines, OfACompilerSayWhatToChangeAndThoseOfOtherToolsDoNot) {
  const std::string flag = "nvcc fatal   : Unknown option '--bananas'\n";
  EXPECT_EQ(compile::source_errors(flag),
            "nvcc fatal   : Unknown option '--bananas'; correct runtime.compile_flags");
  EXPECT_EQ(compile::error_lines("ptxas fatal   : Unknown option '-v2'"),
            "ptxas fatal   : Unknown option '-v2'");
  EXPECT_EQ(compile::source_errors("k.cu(1): error: identifier \"half\" is undefined"),
            "k.cu(1): error: identifier \"half\" is undefined; add #include <cuda_fp16.h>");
}

TEST(ErrorLines, ColumnsComeFromTheCaretBelowTheSourceLine) {
  EXPECT_EQ(compile::error_lines("k.cu(2): error: no foo\n    foo(q);\n    ^\n\n"
                                 "k.cu(4): error: no end\n\nk.cu(5): warning: odd\n  x\n  ^\n"),
            "k.cu(2): error: no foo (column 3)\nk.cu(4): error: no end");
}

TEST(ErrorLines, OfOurTextTheFirstIsToldWhereThereAreNoOthers) {
  const std::vector<std::string> names = {"f<1>", "f<T>"};
  const std::string ours = "/x/w.cu(4): error: no T\n/x/w.cu(4): error: no auto";
  EXPECT_EQ(compile::without_ours(ours, "/x/w.cu", 3, names), "entry 'f<T>': error: no T");
  EXPECT_EQ(compile::without_ours(ours + "\nk.cu(2): error: bad\nk.cu(3): error: too", "/x/w.cu", 3,
                                  names),
            "k.cu(2): error: bad\nk.cu(3): error: too");
  EXPECT_EQ(compile::without_ours("/x/w.cu(9): error: odd", "/x/w.cu", 3, names),
            "entry(9): error: odd");
  EXPECT_EQ(compile::without_ours("segmentation fault", "/x/w.cu", 3, names), "segmentation fault");
}

}  // namespace
}  // namespace gpuemu
