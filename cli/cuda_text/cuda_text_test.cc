// Tests the scan of CUDA sources as text.
#include <gtest/gtest.h>

#include "cli/cuda_text/c_expression.h"
#include "cli/cuda_text/cpp_text.h"
#include "cli/cuda_text/definitions.h"
#include "cli/cuda_text/host_checks.h"
#include "cli/cuda_text/host_launch.h"
#include "cli/cuda_text/include_dirs.h"
#include "cli/cuda_text/instances.h"
#include "cli/cuda_text/source_scan.h"
#include "cli/cuda_text/types.h"

namespace gpuemu::cli {
namespace {

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
  EXPECT_NE(kernels[0].attributes.find("__launch_bounds__(256, 2)"), std::string::npos);
  ASSERT_EQ(kernels[0].params.size(), 4u);
  EXPECT_TRUE(kernels[0].params[0].pointer && kernels[0].params[0].is_const);
  EXPECT_TRUE(kernels[0].params[1].pointer && !kernels[0].params[1].is_const);
  EXPECT_EQ(kernels[0].params[3].name, "factor");
  EXPECT_EQ(kernels[0].params[3].type, "float");
  EXPECT_EQ(kernels[1].template_params, std::vector<std::string>{"typename T"});
  EXPECT_TRUE(kernels[1].params[0].is_const);
  EXPECT_EQ(kernels[2].template_params.size(), 2u);
}

TEST(ScanKernels, TakesTheTypeOfAVoidPointerFromItsCast) {
  const auto kernels = scan_kernels(
      "__global__ void k(const void* x, void* __restrict__ y, void* z, void* w, int n) {\n"
      "  const float* in = (const float*)x; auto out = static_cast<unsigned int*>(y);\n"
      "  reinterpret_cast<float4 const *>( z )[0]; float* not_w = (float*)w2; }\n");
  ASSERT_EQ(kernels.size(), 1u);
  const auto& params = kernels[0].params;
  EXPECT_EQ(params[0].type, "float");
  EXPECT_TRUE(params[0].is_const);
  EXPECT_EQ(params[1].type, "unsigned int");
  EXPECT_EQ(params[2].type, "float4");
  EXPECT_EQ(params[3].type, "void");
}

TEST(ScanKernels, CutAnywhereIsReadWithoutHarm) {
  const std::string source = kSource;
  for (size_t length = 0; length < source.size(); ++length) {
    const std::string text = source.substr(0, length);
    EXPECT_LE(scan_kernels(text).size(), 5u) << length;
    EXPECT_LE(scan_definitions(active_text(text)).structs.size(), 1u) << length;
    EXPECT_TRUE(scan_launches(text).empty()) << length;
  }
}

TEST(ScanKernels, KnowsTheNamespacesOfATemplate) {
  const auto kernels = scan_kernels(
      "namespace a { namespace { struct S { int n; };\n"
      "template <int N> __global__ void inner(float* x) { if (N) { x[0] = N; } } } }\n"
      "namespace b::c { template <int N> __global__ void nested(float* x) {} }\n"
      "template <int N> __global__ void outer(float* x) {}\n");
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].scope, "a::");
  EXPECT_EQ(kernels[1].scope, "b::c::");
  EXPECT_EQ(kernels[2].scope, "");
  EXPECT_EQ(instances_of(kernels[1], {}, {}).front().entry, "b::c::nested<4>");
}

TEST(ScanLaunches, AreThoseOfEachInstanceOfTheTemplateThatMakesThem) {
  const auto launches = scan_launches(
      "template <int N, bool kCausal, typename T>\n"
      "void run(const T* x, int n) { constexpr int kTile = 64;\n"
      "  attend<N, kTile, kCausal, T><<<n, kTile>>>(x, n); }\n"
      "template <int M> void other() { }\n"
      "void alone(int n) { attend<8, 8, false, float><<<n, 8>>>(0, n); }\n"
      "template void run<64, true, float>(const float*, int);\n"
      "void host() { run<32, false, half>(0, 1); run<64, true, float>(0, 2); }\n");
  using Args = std::vector<std::string>;
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(launches[0].template_args, (Args{"64", "kTile", "true", "float"}));
  EXPECT_EQ(launches[1].template_args, (Args{"32", "kTile", "false", "half"}));
  EXPECT_EQ(launches[2].template_args, (Args{"8", "8", "false", "float"}));
}

std::string config_text_of(const char* written, const char* source = "") {
  const Definitions known = scan_definitions(source);
  const auto term = parse_c(written, known);
  return term ? to_text(simplified(*term)) : "nothing";
}

TEST(CExpression, IsWrittenAsGpuemuTomlHasIt) {
  const char* macro = "#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))\n#define TWICE(X) ((X) * 2)\n";
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"(n + 256 - 1) / 256", "cdiv(n, 256)"},
      {"(n + 255) / 256", "cdiv(n, 256)"},
      {"(n + (block - 1)) / block", "cdiv(n, block)"},
      {"(nx - 2 + 32 - 1) / 32", "cdiv(nx - 2, 32)"},
      {"CEIL_DIV(B * T, 128)", "cdiv(B * T, 128)"},
      {"at::ceil_div<int64_t>(n, 512L)", "cdiv(n, 512)"},
      {"ceil((float)N / Bc)", "cdiv(N, Bc)"},
      {"TWICE(rows + 1)", "(rows + 1) * 2"},
      {"2 * 32 * 16 * sizeof(float)", "4096"},
      {"static_cast<unsigned>(n) >> 1", "n / 2"},
      {"n << 2u", "n * 4"},
      {"std::min(n, 0x10)", "min(n, 16)"},
      {"x.size(1)", "x.size.1"},
      {"p->rows * 2", "p.rows * 2"},
      {"a - (b - c)", "a - (b - c)"},
      {"n % 2 ? a : b", "nothing"},
      {"f(n)", "nothing"},
      {"1.5 * n", "nothing"},
      {"", "nothing"},
      {"(((", "nothing"},
      {"99999999999999999999", "nothing"}};
  for (const auto& [written, text] : cases) {
    EXPECT_EQ(config_text_of(written, macro), text) << written;
  }
}

TEST(CExpression, EndsInDeepNesting) {
  const std::string deep = std::string(5000, '(') + "n" + std::string(5000, ')');
  EXPECT_EQ(config_text_of(deep.c_str()), "nothing");
  EXPECT_EQ(config_text_of(std::string(1'000'000, '-').c_str()), "nothing");
}

TEST(Definitions, KnowAliasesConstantsEnumerationsAndStructures) {
  const Definitions known = scan_definitions(active_text(R"(
#ifdef WIDE
typedef double floatX;
#else
typedef float floatX;
#endif
using real = floatX;
#define TILE 16
constexpr int kRows = TILE * 2;
enum class Op : int { Add, Mul = 4 };
typedef struct { __half d; unsigned char qs[TILE]; } block;
struct Params { int n, m; float alpha; };
__constant__ float weights[3][TILE];
__device__ int counter = 0;
)"));
  EXPECT_EQ(known.plain_type("real"), "float");
  EXPECT_EQ(number_of("kRows + 1", known), 33);
  EXPECT_EQ(known.enums.at("Op"), (std::vector<std::string>{"Op::Add", "Op::Mul"}));
  EXPECT_EQ(element_type("block", known).lanes, 18u);
  ASSERT_EQ(known.structs.at("Params").size(), 3u);
  EXPECT_EQ(known.structs.at("Params")[1].type, "int");
  ASSERT_EQ(known.variables.size(), 2u);
  EXPECT_EQ(known.variables[0].count, "3 * TILE");
  EXPECT_FALSE(known.variables[0].initialised);
  EXPECT_TRUE(known.variables[1].initialised);
}

TEST(Definitions, KnowStaticConstantsOfClassesAndOfAliasesOfTheirInstances) {
  const Definitions known = scan_definitions(R"(
typedef float floatX;
template <class E>
struct alignas(16) Pack {
  __device__ E& operator[](int k) { return data[k]; }
  static constexpr const size_t size = sizeof(int4) / sizeof(E);
  static constexpr int twice = 2 * size;
  E data[size];
};
typedef Pack<floatX> x128;
using h128 = Pack<half>;
struct Traits { static constexpr int kTile = 64; static const int kHalf = kTile / 2; };
)");
  EXPECT_EQ(number_of("256 * x128::size", known), 1024);
  EXPECT_EQ(number_of("h128::twice", known), 16);
  EXPECT_EQ(number_of("Traits::kHalf", known), 32);
  EXPECT_EQ(number_of("Pack::size", known), std::nullopt);
}

TEST(Instances, TakeFunctionsOfTheDevice) {
  const std::string source = R"(
typedef void (*convert_t)(const void* x, int at);
namespace act { __device__ float relu(float x) { return x; } }
template <float (*op)(float), typename T> __global__ void map(const T* x, T* y) {}
template <int qk, convert_t convert> __global__ void unpack(const void* x) {}
__device__ void from_q4(const void* x, int at) {}
template <float (*op)(float), typename T> void run(const T* x, T* y) { map<op><<<1, 32>>>(x, y); }
void host(const float* x, float* y) { run<act::relu>(x, y); }
)";
  const Definitions known = scan_definitions(source);
  const auto kernels = scan_kernels(source);
  const auto launches = scan_launches(source);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(instances_of(kernels[0], known, launches).front().entry, "map<act::relu, {ctype}>");
  const Instance guessed = instances_of(kernels[1], known, launches).front();
  EXPECT_EQ(guessed.entry, "unpack<4, from_q4>");
  EXPECT_EQ(guessed.guessed, (std::vector<std::string>{"qk", "convert"}));
}

TEST(CppText, NamesWhatADeclarationDeclares) {
  EXPECT_EQ(declared_name("const int n = 4"), "n");
  EXPECT_EQ(declared_name("float (*op)(const float&)"), "op");
  EXPECT_EQ(declared_name("typename T"), "T");
  EXPECT_EQ(declared_name("int"), "");
}

TEST(SubscriptsOf, AreTheAccessesOfTheVariableAlone) {
  const std::string text = "a [x[i] + 1] = xa[2] + f(a) + a[j]; a[open";
  const auto found = subscripts_of(text, "a");
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0].text, "x[i] + 1");
  EXPECT_EQ(text.substr(found[0].behind, 2), " =");
  EXPECT_EQ(found[1].text, "j");
}

TEST(ScanLaunches, ResolvesVariablesOfTheFunctionInFront) {
  const auto launches = scan_launches(R"(
void other() { dim3 grid(1); }
void run(const float* x, float* y, int rows, int cols) {
  const int tile = 16;
  dim3 block(tile, 8), grid((cols + tile - 1) / tile, rows);
  scale<float, 4><<<grid, block, 2 * tile, stream>>>(x, y, rows, cols);
  add<<<dim3((cols + 15) / 16, rows), 128>>>(x, y);
}
)");
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].kernel, "scale");
  EXPECT_EQ(launches[0].template_args, (std::vector<std::string>{"float", "4"}));
  EXPECT_EQ(launches[0].grid, (std::vector<std::string>{"(cols + tile - 1) / tile", "rows"}));
  EXPECT_EQ(launches[0].block, (std::vector<std::string>{"tile", "8"}));
  EXPECT_EQ(launches[0].shared, "2 * tile");
  EXPECT_EQ(launches[0].args.size(), 4u);
  EXPECT_EQ(launches[0].locals.at("tile"), "16");
  EXPECT_EQ(launches[0].locals.at("block.y"), "8");
  EXPECT_EQ(launches[1].grid, (std::vector<std::string>{"(cols + 15) / 16", "rows"}));
  EXPECT_EQ(launches[1].line, 7u);
}

TEST(HostFills, AreFoundInFrontOfALaunch) {
  const auto launches = scan_launches(R"(
void other() { cudaMemset(bins, 1, 4); }
void run(unsigned* bins, int n) {
  cudaMemset((void*)bins, 0xff, n * sizeof(unsigned));
  cudaMemsetAsync(ctx->best, 0, n, stream);
  auto out = torch::zeros({n, 4}, options);
  torch::Tensor top = torch::full({n}, -INFINITY, options);
  sum.zero_();
  thrust::device_vector<int> seen(n, -1);
  k<<<n, 32>>>(bins, ctx->best, out.data_ptr<float>(), top.data_ptr<float>(),
               sum.data_ptr<float>(), thrust::raw_pointer_cast(seen.data()));
}
)");
  ASSERT_EQ(launches.size(), 1u);
  const std::vector<std::string> dtypes = {"uint32",  "int32",   "{dtype}",
                                           "float32", "float32", "int32"};
  const std::vector<std::string> values = {"-1", "0", "0", "-inf", "0", "-1"};
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string variable = base_variable(launches[0].args.at(i));
    ASSERT_TRUE(launches[0].fills.contains(variable)) << variable;
    EXPECT_EQ(filled_with(launches[0].fills.at(variable), dtypes[i], {}), values[i]) << variable;
  }
}

TEST(HostFills, BytesAreThoseOfAnElement) {
  EXPECT_EQ(filled_with({"0x80", true}, "int32", {}), "-2139062144");
  EXPECT_EQ(filled_with({"0xff", true}, "int8", {}), "-1");
  EXPECT_EQ(filled_with({"0xff", true}, "float32", {}), "nan");
  EXPECT_EQ(filled_with({"1", true}, "{dtype}", {}), std::nullopt);
  EXPECT_EQ(filled_with({"value", false}, "float32", {}), std::nullopt);
}

TEST(HostFills, AreNumbersThatTheTypeHolds) {
  EXPECT_EQ(filled_with({"0xffffffff", false}, "int32", {}), "-1");
  EXPECT_EQ(filled_with({"0x80000000", false}, "int32", {}), "-2147483648");
  EXPECT_EQ(filled_with({"0x80000000", false}, "uint32", {}), "2147483648");
  EXPECT_EQ(filled_with({"-FLT_MAX", false}, "float32", {}), "-3.4028234663852886e+38");
  EXPECT_EQ(begins_with("{ atomicCAS(&t[h], 0xffffffffu, key); }", "t", "int32", {}), "-1");
}

TEST(HostFills, AKernelThatOnlyAddsAtomicallyBeginsAtZero) {
  const auto begins = [](const std::string& body, const std::string& dtype = "float32") {
    return begins_with(body, "y", dtype, {});
  };
  EXPECT_EQ(begins("{ atomicAdd(&y[i], x[i]); atomicAdd(y + 1, 2.f); atomicAdd(&(y[0]), 1); }"),
            "0");
  EXPECT_EQ(begins("{ atomicCAS(&y[h], 0xffffffffu, key); }", "uint32"), "-1");
  EXPECT_EQ(begins("{ if (atomicAdd(y, 1) == last) *y = 0; }", "uint32"), "0");
  EXPECT_EQ(begins("{ atomicMax(&y[i], v); }", "uint32"), "0");
  EXPECT_EQ(begins("{ atomicMax(&y[i], v); }", "int32"), std::nullopt);
  EXPECT_EQ(begins("{ atomicAdd(&y[i], y[j]); }"), std::nullopt);
  EXPECT_EQ(begins("{ y[i] = 1; }"), std::nullopt) << "no atomic";
}

std::vector<Instance> instances(const std::string& source) {
  const auto kernels = scan_kernels(source);
  static std::vector<HostLaunch> launches;
  launches = scan_launches(source);
  return instances_of(kernels.at(0), scan_definitions(source), launches);
}

TEST(Instances, AreThoseThatHostCodeLaunches) {
  const std::string kernel = "template <typename T, int BLOCK> __global__ void k(T* x) {}\n";
  const auto two = instances(kernel +
                             "void f() { k<float, 128><<<1, 128>>>(a); k<double, 128><<<1, "
                             "128>>>(b); k<float, 64><<<1, 64>>>(a); }");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].entry, "k<{ctype}, 128>");
  EXPECT_EQ(two[0].dtypes, (std::vector<std::string>{"float32", "float64"}));
  EXPECT_EQ(two[1].suffix, "64");
  const auto open = instances(kernel +
                              "template <typename T> void f(T* a) { const int threads = "
                              "256; k<T, threads><<<1, threads>>>(a); }");
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].entry, "k<{ctype}, 256>");
  EXPECT_TRUE(open[0].dtypes.empty() && open[0].guessed.empty());
  const auto guessed = instances(kernel);
  EXPECT_EQ(guessed[0].entry, "k<{ctype}, 128>");
  EXPECT_EQ(guessed[0].guessed, std::vector<std::string>{"BLOCK"});
  const auto op = instances(
      "enum class Op { Add, Mul };\ntemplate <Op op, typename T> __global__ void k(T* x) {}\nvoid "
      "f() { k<Op::Mul, float><<<1, 1>>>(a); }");
  EXPECT_EQ(op[0].entry, "k<Op::Mul, {ctype}>");
}

TEST(IncludeDirs, SaysWhatToDoAboutAMissingHeader) {
  EXPECT_NE(about_missing_header("a.cu(1): catastrophic error: cannot open source file \"my/x.h\"")
                .find("my/x.h"),
            std::string::npos);
  EXPECT_NE(
      about_missing_header("a.cu:1:10: fatal error: torch/extension.h: No such file or directory")
          .find("file of their own"),
      std::string::npos);
  EXPECT_EQ(about_missing_header("a.cu(3): error: expected a ;"), "");
}

TEST(ScanMultipleChecks, FindsWhatLeavesTheFunctionOtherwise) {
  const auto found = scan_multiple_checks(R"(
  assert (n % 256 == 0);
  TORCH_CHECK(x.size(0) % kTile == 0 && (k % 8) == 0, "whole tiles");
  if (rows % 32 != 0 || cols % 16) { fprintf(stderr, "no"); return -1; }
  if ((h % 2) > 0) throw Error{"odd"};
  if (w % 4) { return {}; }
  if (m % 64 != 0) remainder<<<1, m % 64>>>(x);
  int blocks = n / 128 + (n % 128 != 0);
  assert (h % 4 == 0 || h < 4);
)");
  const std::vector<MultipleCheck> expected = {{"n", "256"},   {"x.size(0)", "kTile"}, {"k", "8"},
                                               {"rows", "32"}, {"cols", "16"},         {"h", "2"},
                                               {"w", "4"}};
  EXPECT_EQ(found, expected);
}

TEST(ScanMultipleChecks, CountsNothingThatDoesNotHoldAtTheEnd) {
  for (const char* text : {
           "if (!(n % 256)) { fast<<<n / 256, 256>>>(x); return; }",
           "if (0 == n % 256) return;",
           "if (is_open(n % 256)) return;",
           "if (n % 256 == 0) return;",
           "if (n % 256 && k > 1) return;",
           "assert(rows * n % 256 == 0);",
           "assert(k + n % 256 == 0);",
           "assert (n % 256 == 0 && k || m);",
           "assert(any(k && n % 256 == 0));",
           "assert(!(k && n % 256 == 0));",
           "assert(k ? n % 256 == 0 : m);",
           "CHECK_FALSE(n % 256 == 0);",
           "log_check(\"\", n % 256 == 0);",
           "if (mode == 1) { if (n % 256) return; }",
           "if (mode == 1) { assert (n % 256 == 0); }",
           "if (mode == 1) assert (n % 256 == 0);",
           "if (mode == 1) if (n % 256) return;",
           "if (mode == 1) run(); else if (n % 256) return;",
           "auto check = [&] { if (n % 256) return; };",
           "switch (mode) { case 1: run(); if (n % 256) return; break; case 2: run();",
           "if (n % 256 != 0) { int e = pad(x, n); if (e) return; }",
           "if (n % 256 != 0) { if (k) { return; } }",
           "if (n % 256 != 0) { for (;;) return; }",
           "if (n % 256 != 0) { on_exit([] { return; }); }",
           "if (n % 256) goto odd; odd: run();",
           "#ifdef DEBUG\nint k = 0;\nassert (n % 256 == 0);\n#endif\n",
           "#if A\n#else\nassert (n % 256 == 0);\n#endif\n",
           "#define CHECK_N \\\n  assert (n % 256 == 0);\n",
           "assert (n % 256 == 0); n += 7;",
           "assert (n % 256 == 0); ++n;",
           "assert (n % 256 == 0); int n = k;",
       }) {
    EXPECT_TRUE(scan_multiple_checks(text).empty()) << text;
  }
}

TEST(ScanMultipleChecks, CountsWhatEncloses) {
  const std::vector<MultipleCheck> expected = {{"n", "256"}};
  for (const char* text : {
           "assert (n % 256 == 0); if (mode == 1) {",
           "if (n % 256) { puts(\"\"); std::abort(); } if (mode == 1) {",
           "if (mode == 1) { if (n % 256) return;",
           "#if A\nassert (n % 256 == 0);\n",
           "#pragma once\n  assert (n % 256 == 0);",
           "if (n % 256 != 0) { if (k) { log(); } exit(1); } if (n == 0) return;",
           "if (n % 256) goto done;",
       }) {
    EXPECT_EQ(scan_multiple_checks(text), expected) << text;
  }
}

TEST(HostLaunches, KnowOnlyTheirOwnFunctionInANamespaceOrAClass) {
  for (const char* around :
       {"namespace ops {", "namespace {", "namespace a::b {\nnamespace {", "extern \"C\" {",
        "#include <x.h>\ninline namespace v1 {", "struct Ops : Base<int> {"}) {
    const auto launches = scan_launches(std::string(around) + R"(
void other(int n) { const int tile = 16; assert (n % 256 == 0); cudaMemset(y, 0, n); }
struct Pair { int a, b; };
void run(const float* x, float* y, int n) {
  struct Own { int a; };
  const int block = 256;
  k<<<(n + 255) / 256, block>>>(x, y, n);
})");
    ASSERT_EQ(launches.size(), 1u) << around;
    EXPECT_TRUE(launches[0].checks.empty()) << around;
    EXPECT_TRUE(launches[0].fills.empty()) << around;
    EXPECT_EQ(launches[0].locals.count("tile"), 0u) << around;
    EXPECT_EQ(launches[0].locals.count("block"), 1u) << around;
  }
}

}  // namespace
}  // namespace gpuemu::cli
