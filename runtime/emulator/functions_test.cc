// Tests calls in kernels: functions of every form, printf, assert, malloc and free.
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

const std::string kExternals =
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
    ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
    ".extern .func free (.param .b64 p);\n"
    ".extern .func (.param .b32 r) cudaLaunchDeviceV2 (.param .b64 b, .param .b64 s);\n"
    ".extern .func elsewhere ();\n";

std::string bytes_of(const std::string& text) {
  std::string bytes;
  for (const char c : text) bytes += std::to_string(static_cast<int>(c)) + ",";
  return bytes + "0";
}

struct Printed {
  std::string text;
  uint32_t value = 0;
};

/// Runs printf(format, ...) in one thread; `stores` fills the arguments at %local.
Printed print(const std::string& format, const std::string& stores) {
  TestKernel kernel(with_header(
      kExternals + ".global .b8 f[] = {" + bytes_of(format) + "};\n.global .b8 s[] = {" +
      bytes_of("text") +
      "};\n.entry k(.param .u64 out) { .local .align 8 .b8 args[64]; .reg .b64 %d, %o; .reg .b32 "
      "%r; .param .b64 a; .param .b64 b; .param .b32 c;\n" +
      stores +
      "mov.u64 %d, f; st.param.b64 [a], %d; mov.u64 %d, args; cvta.local.u64 %d, %d; st.param.b64 "
      "[b], %d; call (c), vprintf, (a, b); ld.param.b32 %r, [c]; ld.param.u64 %o, [out]; "
      "st.global.u32 [%o], %r; ret; }\n"));
  kernel.config().block = {1, 1, 1};
  const uint64_t out = kernel.buffer(std::vector<uint32_t>{0});
  const LaunchReport report = kernel.arg(out).run();
  return {report.printed.empty() ? "" : report.printed[0], kernel.read<uint32_t>(out, 1)[0]};
}
std::string words(std::vector<int64_t> values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) {
    out += fmt::format("st.local.u32 [args+{}], {};", 4 * i, values[i]);
  }
  return out;
}
std::string wide(const std::string& value) { return "st.local.u64 [args], " + value + ";"; }

TEST(Printf, WritesIntegersOfEveryLengthAndFlag) {
  EXPECT_EQ(print("%d|%i|%u|%x|%X|%o\n", words({-5, 7, -1, 255, 255, 8})).text,
            "-5|7|4294967295|ff|FF|10");
  EXPECT_EQ(print("%5d|%-5d|%05d|%+d|% d|%.3d\n", words({42, 42, 42, 42, 42, 7})).text,
            "   42|42   |00042|+42| 42|007");
  EXPECT_EQ(print("%#x|%#o|%hd|%hhu|%c\n", words({255, 8, 65533, 456, 'x'})).text,
            "0xff|010|-3|200|x");
  EXPECT_EQ(print("%lld\n", wide("-1234567890123")).text, "-1234567890123");
  EXPECT_EQ(print("%#llX\n", wide("0xfedcba9876543210")).text, "0XFEDCBA9876543210");
}

TEST(Printf, WritesFloatsPointersAndStrings) {
  EXPECT_EQ(print("%8.3f\n", wide("0d400921f9f01b866e")).text, "   3.142");
  EXPECT_EQ(print("%e\n", wide("0d40c81cd6c8b43958")).text, "1.234568e+04");
  EXPECT_EQ(print("%g\n", wide("0d7ff0000000000000")).text, "inf");
  EXPECT_EQ(print("%a\n", wide("0d3ff0000000000000")).text, "0x1p+0");
  EXPECT_EQ(print("%p\n", wide("0x1234")).text, "0x1234");
  const std::string text = "mov.u64 %d, s; st.local.u64 [args], %d;";
  EXPECT_EQ(print("[%s|\n", text).text, "[text|");
  EXPECT_EQ(print("[%6s|\n", text).text, "[  text|");
  EXPECT_EQ(print("[%-6s|\n", text).text, "[text  |");
  EXPECT_EQ(print("[%.2s|\n", text).text, "[te|");
  EXPECT_EQ(print("%s\n", wide("0")).text, "(null)");
}

TEST(Printf, TakesStarsFromTheArguments) {
  EXPECT_EQ(print("%*d|%-*d|%*d|\n", words({6, 42, 4, 7, -3, 1})).text, "    42|7   |1  |");
  EXPECT_EQ(print("%.*d|\n", words({3, 7})).text, "007|");
}

TEST(Printf, GivesTheNumberOfArgumentsAndLeavesUnknownConversionsAlone) {
  EXPECT_EQ(print("%d %d\n", words({1, 2})).value, 2u);
  const Printed plain = print("100%% of %q\n", "");
  EXPECT_EQ(plain.text, "100% of %q");
  EXPECT_EQ(plain.value, 0u);
}

/// The findings of one thread that executes `body`.
std::vector<DeviceFinding> findings_of(const std::string& body) {
  TestKernel kernel(with_header(
      kExternals +
      ".entry k(.param .u64 out) { .reg .b64 %p<8>; .reg .b32 %r<8>; .param .b64 n; .param .b64 g; "
      ".param .b32 c; ld.param.u64 %p0, [out];\n" +
      body + " ret; }\n"));
  kernel.config().block = {1, 1, 1};
  kernel.arg(kernel.buffer(std::vector<uint32_t>{0}, "out"));
  return kernel.run(false).findings;
}
std::string kind_of(const std::string& body) {
  const auto all = findings_of(body);
  return all.empty() ? "" : std::string(name_of(all[0].kind));
}
const std::string kTake16 = "st.param.b64 [n], 16; call (g), malloc, (n); ld.param.b64 %p1, [g];\n";
const std::string kFree1 = "st.param.b64 [n], %p1; call free, (n);\n";

TEST(Malloc, GivesEveryThreadMemoryOfItsOwn) {
  TestKernel kernel(with_header(kExternals + R"(
.entry k(.param .u64 out) { .reg .b64 %p, %q, %o; .reg .b32 %t, %v; .param .b64 n; .param .b64 g;
  mov.u32 %t, %tid.x; cvt.u64.u32 %p, %t; add.u64 %p, %p, 4; and.b64 %p, %p, 252;
  st.param.b64 [n], %p; call (g), malloc, (n); ld.param.b64 %p, [g];
  st.u32 [%p], %t; bar.sync 0; ld.u32 %v, [%p];
  ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 4, %o; st.global.u32 [%o], %v;
  st.param.b64 [n], %p; call free, (n); ret; })"));
  kernel.config().block = {128, 1, 1};
  const uint64_t out = *kernel.device().allocate(512, "out");
  kernel.arg(out).run();
  const auto got = kernel.read<uint32_t>(out, 128);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(got[i], i);
}

TEST(Malloc, GivesNothingWhenTheHeapIsOut) {
  TestKernel kernel(with_header(kExternals + R"(
.entry k(.param .u64 out) { .reg .b64 %p, %o; .reg .b32 %n; .reg .pred %q; .param .b64 n;
  .param .b64 g;
  mov.u32 %n, 0;
A: st.param.b64 [n], 1000000; call (g), malloc, (n); ld.param.b64 %p, [g];
  setp.eq.u64 %q, %p, 0; @%q bra END; add.u32 %n, %n, 1; bra A;
END: ld.param.u64 %o, [out]; st.global.u32 [%o], %n; ret; })"));
  kernel.config().block = {1, 1, 1};
  const uint64_t out = kernel.buffer(std::vector<uint32_t>{0});
  kernel.arg(out).run();
  EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], 8u);
  kernel.run();
  EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], 0u) << "a launch keeps what earlier ones took";
}

TEST(Malloc, UsesFreedMemoryAgain) {
  EXPECT_EQ(
      kind_of("mov.u32 %r0, 0; .reg .pred %q;\nA: st.param.b64 [n], 100000; call (g), malloc, "
              "(n); ld.param.b64 %p1, [g]; st.u32 [%p1+99996], 1;\n" +
              kFree1 + "add.u32 %r0, %r0, 1; setp.lt.u32 %q, %r0, 1000; @%q bra A;"),
      "");
}

TEST(Malloc, AccessesOutsideOfItsMemoryAreFound) {
  EXPECT_EQ(kind_of(kTake16 + "st.u32 [%p1+12], 1;" + kFree1), "");
  EXPECT_EQ(kind_of(kTake16 + "st.u32 [%p1+16], 1;"), "out_of_bounds");
  EXPECT_EQ(kind_of(kTake16 + "ld.u32 %r0, [%p1]; st.global.u32 [%p0], %r0;"), "uninitialized");
  const auto late = findings_of(kTake16 + kFree1 + "st.u32 [%p1], 1;");
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(name_of(late[0].kind), "out_of_bounds");
  EXPECT_EQ(late[0].tensor, "freed memory");
}

TEST(Malloc, FreeOfWhatItDidNotGiveIsFound) {
  const auto twice = findings_of(kTake16 + kFree1 + kFree1);
  ASSERT_EQ(twice.size(), 1u);
  EXPECT_EQ(name_of(twice[0].kind), "invalid_free");
  EXPECT_NE(twice[0].message.find("a second time"), std::string::npos) << twice[0].message;
  EXPECT_EQ(kind_of(kTake16 + "add.u64 %p1, %p1, 4;" + kFree1), "invalid_free");
  const auto foreign = findings_of("mov.b64 %p1, %p0;" + kFree1);
  ASSERT_EQ(foreign.size(), 1u);
  EXPECT_NE(foreign[0].message.find("lies in 'out'"), std::string::npos) << foreign[0].message;
  EXPECT_EQ(kind_of("mov.b64 %p1, 0;" + kFree1), "") << "free(nullptr) does nothing";
}

TEST(Calls, KernelsTakeTheSharedMemoryThatTheyAndTheirFunctionsUse) {
  const std::string text = with_header(
      ".shared .align 4 .b8 big[40000];\n.shared .align 4 .b8 other[40000];\n"
      ".shared .align 4 .b8 common[64];\n"
      ".func common_use(.param .b64 to) { .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [to]; "
      "st.shared.u32 [common], 7; ld.shared.u32 %r, [common]; st.global.u32 [%d], %r; ret; }\n"
      ".entry k(.param .u64 out) { .reg .b64 %d; .reg .b32 %r; .param .b64 to; "
      "ld.param.u64 %d, [out]; st.param.b64 [to], %d; call common_use, (to); "
      "st.shared.u32 [big], 3; ld.shared.u32 %r, [big]; st.global.u32 [%d+4], %r; "
      "ld.shared.u32 %r, [common]; st.global.u32 [%d+8], %r; ret; }\n"
      ".entry without(.param .u64 out) { ret; }\n"
      ".entry alone(.param .u64 out) { st.shared.u32 [other], 1; ret; }\n");
  TestKernel kernel(text);
  kernel.config().block = {1, 1, 1};
  const uint64_t out = kernel.buffer(std::vector<uint32_t>{0, 0, 0});
  EXPECT_TRUE(kernel.arg(out).run().findings.empty());
  EXPECT_EQ(kernel.read<uint32_t>(out, 3), (std::vector<uint32_t>{7, 3, 7}));
  std::map<std::string, uint32_t> bytes;
  const ModuleId again = *kernel.device().load_module(text, "again.ptx");
  const auto entries = kernel.device().entries(again);
  ASSERT_TRUE(entries);
  for (const EntryInfo& one : *entries) bytes[one.name] = one.static_shared_bytes;
  EXPECT_EQ(bytes,
            (std::map<std::string, uint32_t>{{"k", 40064}, {"without", 0}, {"alone", 40000}}));
}

const char* const kSharedHeader = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Returns what the kernel `k`, which gets one address, writes there.
uint32_t written_by(const std::string& module, uint32_t dynamic_bytes = 0) {
  TestKernel kernel(kSharedHeader + module);
  kernel.config().block = {1, 1, 1};
  kernel.config().dynamic_shared_bytes = dynamic_bytes;
  const uint64_t out = kernel.buffer(std::vector<uint32_t>{0});
  EXPECT_TRUE(kernel.arg(out).run().findings.empty());
  return kernel.read<uint32_t>(out, 1)[0];
}

TEST(SharedMemory, ThatIsDynamicIsBehindTheKernelsOwnInItsFunctionsToo) {
  const std::string kernel =
      "st.shared.u32 [own], 5; call f; ld.shared.u32 %r, [own]; st.global.u32 [%d], %r; ret; }\n";
  const std::string begin =
      ".entry k(.param .u64 out) { .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [out]; ";
  const std::string function =
      ".extern .shared .align 4 .b8 dyn[];\n.func f { st.shared.u32 [dyn], 9; ret; }\n";
  EXPECT_EQ(written_by(".shared .align 4 .b8 own[64];\n" + function + begin + kernel, 64), 5u);
  EXPECT_EQ(written_by(function + begin + ".shared .align 4 .b8 own[64]; " + kernel, 64), 5u);
}

TEST(SharedMemory, OfTwoFunctionsWithOneNameHasTheSizeOfTheLarger) {
  const std::string text =
      ".func fa { .shared .align 4 .b8 buf[4]; st.shared.u32 [buf], 1; ret; }\n"
      ".func fb(.param .b64 to) { .shared .align 4 .b8 buf[64]; .shared .align 4 .b8 next[4]; "
      ".reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [to]; st.shared.u32 [next], 5; "
      "st.shared.u32 [buf+4], 9; ld.shared.u32 %r, [next]; st.global.u32 [%d], %r; ret; }\n"
      ".entry k(.param .u64 out) { .reg .b64 %d; .param .b64 to; ld.param.u64 %d, [out]; "
      "st.param.b64 [to], %d; call fa; call fb, (to); ret; }\n";
  EXPECT_EQ(written_by(text), 5u);
}

TEST(SharedMemory, OfFunctionsThatAKernelNeverCallsCostsItNothing) {
  const std::string text =
      ".func fa { .shared .align 4 .b8 big[40000]; st.shared.u32 [big], 1; ret; }\n"
      ".func fb { .shared .align 4 .b8 small[64]; st.shared.u32 [small], 1; ret; }\n"
      ".entry k(.param .u64 out) { .shared .align 4 .b8 own[30000]; .reg .b64 %d; "
      "ld.param.u64 %d, [out]; st.shared.u32 [own], 1; call fb; st.global.u32 [%d], 3; ret; }\n"
      ".entry ka(.param .u64 out) { call fa; ret; }\n";
  EXPECT_EQ(written_by(text), 3u);
}

TEST(Calls, OfFunctionsThatAreNotThereSayWhich) {
  const auto launch = findings_of("st.param.b64 [n], 0; call (c), cudaLaunchDeviceV2, (n, n);");
  ASSERT_EQ(launch.size(), 1u);
  EXPECT_EQ(name_of(launch[0].kind), "unsupported_instruction");
  EXPECT_TRUE(launch[0].message.starts_with("this kernel launches a kernel")) << launch[0].message;
  const auto other = findings_of("call elsewhere;");
  ASSERT_EQ(other.size(), 1u);
  EXPECT_TRUE(other[0].message.starts_with("calls elsewhere, which this module does not define"))
      << other[0].message;
}

/// Returns %r0 of thread t < 32 after running a kernel with `body`; %r1 is t.
std::vector<uint32_t> values_of(const std::string& functions, const std::string& body) {
  TestKernel kernel(with_header(functions + R"(
.entry k(.param .u64 out) { .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<4>; mov.u32 %r1, %tid.x;
)" + body + R"(
  ld.param.u64 %d7, [out]; mad.wide.u32 %d7, %r1, 4, %d7; st.global.u32 [%d7], %r0; ret; })"));
  const uint64_t out = *kernel.device().allocate(128, "out");
  kernel.arg(out).run();
  return kernel.read<uint32_t>(out, 32);
}

TEST(Calls, PassAndGiveRegisters) {
  const std::string functions = R"(
.func (.reg .b32 r) next (.reg .b32 x, .reg .u64 y);
.func (.reg .b32 r) next (.reg .b32 x, .reg .u64 y) {
  .reg .pred %p; .reg .b32 %w; setp.gt.u32 %p, x, 9; cvt.u32.u64 %w, y; add.u32 r, x, %w; @%p ret;
  add.u32 r, r, 100; }
)";
  const auto got = values_of(functions, "call (%r0), next, (%r1, 7);");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i + 7 + (i > 9 ? 0 : 100));
}

TEST(Calls, GoThroughTablesPrototypesAndAliases) {
  const std::string functions = R"(
.func (.param .b32 r) add (.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x];
  add.u32 %a, %a, 100; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) triple (.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x];
  mul.lo.u32 %a, %a, 3; st.param.b32 [r], %a; ret; }
.alias also, triple;
.func nothing () { }
.global .u64 table[3] = { add, triple, generic(add) };
)";
  const auto got = values_of(functions, R"(
  .param .b32 a; .param .b32 r; and.b32 %r2, %r1, 1; mov.u64 %d0, table;
  mad.wide.u32 %d0, %r2, 8, %d0; ld.global.u64 %d1, [%d0];
  proto: .callprototype (.param .b32 _) _ (.param .b32 _);
  targets: .calltargets add, triple;
  st.param.b32 [a], %r1; call (r), %d1, (a), proto; ld.param.b32 %r0, [r];
  st.param.b32 [a], %r0; call (r), %d1, (a), targets; ld.param.b32 %r0, [r];
  st.param.b32 [a], %r0; call (r), also, (a); ld.param.b32 %r0, [r];
  call nothing;)");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], 3 * (i % 2 == 0 ? i + 200 : i * 9));
}

TEST(Calls, PassStructuresByValue) {
  const std::string functions = R"(
.func (.param .align 8 .b8 r[16]) twist (.param .align 8 .b8 s[16]) {
  .reg .b32 %a; .reg .b64 %b; ld.param.b32 %a, [s]; ld.param.b64 %b, [s+8]; add.u32 %a, %a, 1;
  add.u64 %b, %b, %b;
  st.param.b32 [s], 77; st.param.b32 [r], %a; st.param.b64 [r+8], %b; ret; }
)";
  const auto got = values_of(functions, R"(
  .param .align 8 .b8 a[16]; .param .align 8 .b8 r[16]; cvt.u64.u32 %d0, %r1;
  st.param.b32 [a], %r1; st.param.b64 [a+8], %d0; call (r), twist, (a);
  ld.param.b32 %r0, [r]; ld.param.b64 %d1, [r+8]; cvt.u32.u64 %r2, %d1; add.u32 %r0, %r0, %r2;
  ld.param.b32 %r2, [a]; add.u32 %r0, %r0, %r2;)");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i + 1 + 2 * i + i);
}

TEST(Stack, GivesEveryLaneItsOwnSize) {
  const auto got = values_of("", R"(
  and.b32 %r2, %r1, 3; add.u32 %r2, %r2, 1; shl.b32 %r2, %r2, 2; cvt.u64.u32 %d0, %r2;
  alloca.u64 %d1, %d0; alloca.u64 %d2, 8; add.u64 %d3, %d1, %d0; st.local.u32 [%d3+-4], %r1;
  st.local.u64 [%d2], 0; ld.local.u32 %r0, [%d3+-4];)");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i);
}

TEST(Stack, LivesAsLongAsItsFunction) {
  const std::string functions = R"(
.func (.param .b32 r) deep (.param .b32 n) { .reg .b32 %n, %v; .reg .b64 %p; .reg .pred %q;
  .param .b32 a; .param .b32 b;
  ld.param.b32 %n, [n]; alloca.u64 %p, 64; st.local.u32 [%p+60], %n; setp.eq.u32 %q, %n, 0;
  @%q bra END;
  sub.u32 %v, %n, 1; st.param.b32 [a], %v; call (b), deep, (a); ld.param.b32 %v, [b];
END: ld.local.u32 %n, [%p+60]; add.u32 %n, %n, %v; selp.b32 %n, 0, %n, %q; st.param.b32 [r], %n;
  ret; }
)";
  const auto got = values_of(functions, R"(
  .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), deep, (a);
  ld.param.b32 %r0, [r];)");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i * (i + 1) / 2);
}

TEST(Stack, MistakesAreFound) {
  EXPECT_EQ(kind_of("alloca.u64 %p1, 16; st.local.u32 [%p1+16], 1;"), "out_of_bounds");
  EXPECT_EQ(kind_of("alloca.u64 %p1, 16; ld.local.u32 %r0, [%p1]; st.global.u32 [%p0], %r0;"),
            "uninitialized");
  EXPECT_EQ(kind_of("stacksave.u64 %p2; alloca.u64 %p1, 16; stackrestore.u64 %p2; st.local.u32 "
                    "[%p1], 1;"),
            "out_of_bounds");
  EXPECT_EQ(kind_of("alloca.u64 %p1, 1000000;"), "stack_overflow");
  EXPECT_EQ(kind_of("alloca.u64 %p1, 0xffffffffffffffff;"), "stack_overflow");
  EXPECT_EQ(kind_of("mov.u64 %p1, 4096; stackrestore.u64 %p1;"), "stack_overflow");
}

TEST(SpecialRegisters, AreReadWholeInPartsAndNarrow) {
  const auto got = values_of("", R"(
  .reg .v4 .b32 %v; .reg .b16 %h; mov.v4.u32 %v, %ntid; mov.u16 %h, %ctaid.x; cvt.u32.u16 %r2, %h;
  mov.v4.u32 {%r3, _, _, %r4}, %tid; mov.u32 %r5, %tid.w;
  add.u32 %r0, %v.x, %v.y; add.u32 %r0, %r0, %r2; mad.lo.u32 %r0, %r3, 1000, %r0;
  add.u32 %r0, %r0, %r4; add.u32 %r0, %r0, %r5;)");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], 33 + 1000 * i);
}

TEST(SpecialRegisters, TellConstantsFromGlobalMemory) {
  const auto got = values_of(".const .b32 c = 5;\n.global .b32 g = 6;\n", R"(
  mov.u64 %d0, c; cvta.const.u64 %d0, %d0; mov.u64 %d1, g; cvta.global.u64 %d1, %d1;
  isspacep.const %p0, %d0; isspacep.const %p1, %d1; isspacep.global %p2, %d0;
  isspacep.global %p3, %d1;
  selp.b32 %r0, 1, 0, %p0; @%p1 or.b32 %r0, %r0, 2; @%p2 or.b32 %r0, %r0, 4;
  @%p3 or.b32 %r0, %r0, 8;)");
  EXPECT_EQ(got[0], 1u + 8u);
}

}  // namespace
}  // namespace gpuemu::emulator
