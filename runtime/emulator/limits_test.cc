// Tests that modules and launches beyond a GPU's limits are refused or reported, and never harm the
// host.
#include "common/base/limits.h"

#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/device/memory_kinds.h"
#include "runtime/device/stream.h"
#include "runtime/emulator/emulator.h"
#include "runtime/emulator/program/budget.h"
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

std::string entry(const std::string& body, const std::string& params = "") {
  return with_header(".visible .entry k(" + params + ") {\n" + body + "\nret;\n}\n");
}

/// Returns the error of loading the module; "" if it loads.
std::string refusal(const std::string& ptx) {
  const auto device = make_emulator({.threads = 1, .memory_limit_bytes = 1 << 20});
  const auto module = device->load_module(ptx, "test.ptx");
  return module ? "" : module.error().message;
}

/// Returns the error of launching its entry; "" if it runs.
std::string launch_refusal(const std::string& ptx, EmulatorOptions options = {}) {
  options.threads = 2;
  const auto device = make_emulator(options);
  const auto module = device->load_module(ptx, "test.ptx");
  if (!module) return "load: " + module.error().message;
  LaunchConfig config;
  config.entry = "k";
  config.block = {1024, 1, 1};
  const auto report = device->launch(*module, config);
  return report ? "" : report.error().message;
}

std::string kind_of(const std::string& ptx, uint64_t instructions = 1'000'000) {
  TestKernel kernel(ptx);
  kernel.config().warp_instructions_max = instructions;
  const LaunchReport report = kernel.run(false);
  return report.findings.empty() ? "" : std::string(name_of(report.findings[0].kind));
}

/// Pages of this process that are in memory.
uint64_t resident_pages() {
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident;
}

TEST(Limits, ATimeoutCountsLessWhereOthersHaveTheProcessors) {
  using std::chrono::seconds;
  EXPECT_FALSE(is_starved(seconds(30), seconds(30), seconds(30)));
  EXPECT_FALSE(is_starved(seconds(30), seconds(15), seconds(30)));
  EXPECT_TRUE(is_starved(seconds(30), seconds(10), seconds(30)));
  EXPECT_TRUE(is_starved(seconds(100), seconds(10), seconds(30)));
  EXPECT_FALSE(is_starved(seconds(120), seconds(10), seconds(30)));
  const auto before = processor_time();
  while (processor_time() - before < std::chrono::milliseconds(1)) continue;
  EXPECT_GT(processor_time(), before);
}

TEST(Limits, ParametersOfAnEntryEndWherePtxasEndsThem) {
  const auto with = [](const char* version, uint32_t bytes) {
    return std::string(".version ") + version + "\n.target sm_80\n.visible .entry k(.param .b8 p[" +
           std::to_string(bytes) + "]) { ret; }\n";
  };
  EXPECT_EQ(refusal(with("8.0", 4352)), "");
  EXPECT_NE(refusal(with("8.0", 4353)).find("at most 4352"), std::string::npos);
  EXPECT_EQ(refusal(with("8.1", 32764)), "");
  EXPECT_NE(refusal(with("9.0", 32765)).find("at most 32764"), std::string::npos);
  EXPECT_NE(refusal(with("8.1", 4294967295)).find("test.ptx:3"), std::string::npos);
}

TEST(Limits, SizesThatDoNotFit32BitsAreRefused) {
  const std::string huge[] = {
      entry(".local .b8 a[4294967295]; .local .b8 b[4294967295];"),
      entry(".shared .b8 a[4294967295]; .shared .b8 b[4294967295];"),
      entry(".param .b8 a[4294967295]; .param .b8 b[4294967295];"),
      with_header(".shared .b8 a[4294967295];\n.shared .b8 b[4294967295];\n"),
      with_header(".func f(.param .b8 a[4294967295]) { ret; }\n")};
  for (const std::string& ptx : huge) {
    EXPECT_NE(refusal(ptx).find("a GPU has at most"), std::string::npos) << ptx;
  }
}

TEST(Limits, AThreadHasAtMost512KiBOfLocalMemory) {
  EXPECT_EQ(refusal(entry(".local .b8 a[524288];")), "");
  EXPECT_NE(refusal(entry(".local .b8 a[524289];")).find("at most 524288"), std::string::npos);
}

TEST(Limits, GlobalVariablesCountAsMemory) {
  EXPECT_NE(refusal(with_header(".global .b8 a[1048577];\n")).find("exceeds the emulator's memory"),
            std::string::npos);
}

TEST(Limits, AGigabyteThatNobodyTouchesCostsNothing) {
  const uint64_t before = resident_pages();
  TestKernel kernel(with_header(".global .b8 a[1000000000];\n.visible .entry k() { ret; }\n"));
  kernel.run();
  const uint64_t most = 500'000'000 / static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_LT(resident_pages(), before + most);
}

TEST(Limits, StaticSharedMemoryEndsWherePtxasEndsIt) {
  EXPECT_EQ(launch_refusal(entry(".shared .b8 a[49152];")), "");
  EXPECT_NE(launch_refusal(entry(".shared .b8 a[49153];")).find("at most 49152 may be static"),
            std::string::npos);
}

/// A device whose compiler gives each thread of `k` this many registers.
EmulatorOptions with_registers(int count, int* asked) {
  EmulatorOptions options{.sm = 90, .threads = 1};
  options.registers = [=](const std::string& ptx, int sm) {
    ++*asked;
    EXPECT_EQ(sm, 90);
    EXPECT_NE(ptx.find(".entry k"), std::string::npos);
    return std::map<std::string, int>{{"k", count}};
  };
  return options;
}

TEST(Limits, RegistersOfABlockHaveThoseOfTheGpu) {
  int asked = 0;
  EXPECT_EQ(launch_refusal(entry(""), with_registers(64, &asked)), "");
  const std::string refused = launch_refusal(entry(""), with_registers(72, &asked));
  EXPECT_NE(refused.find("needs more registers than a multiprocessor has"), std::string::npos);
  EXPECT_EQ(asked, 2);
  const std::string bounded = with_header(".visible .entry k() .maxntid 1024 { ret; }\n");
  EXPECT_EQ(launch_refusal(bounded, with_registers(72, &asked)), "");
  EXPECT_EQ(asked, 2) << "the compiler keeps to .maxntid";
}

TEST(Limits, RegistersAreAskedForOnceAndOfStreamsToo) {
  int asked = 0;
  const auto device = make_emulator(with_registers(255, &asked));
  const auto module = device->load_module(entry(""), "test.ptx");
  ASSERT_TRUE(module);
  Streams* streams = *device->streams();
  StreamLaunch launch;
  launch.function = *streams->function(*module, "k");
  launch.block = {256, 1, 1};
  EXPECT_TRUE(streams->launch(kDefaultStream, launch));
  EXPECT_EQ(asked, 0) << "every kernel fits";
  launch.block = {288, 1, 1};
  for (int i = 0; i < 3; ++i) {
    const Status refused = streams->launch(kDefaultStream, launch);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  }
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(streams->synchronize(kDefaultStream));
}

TEST(Limits, RegistersOfAWarpHaveALimit) {
  const std::string ptx = entry(".reg .b64 %r<600000>;");
  EXPECT_NE(refusal(ptx).find("bytes of registers per warp"), std::string::npos);
}

TEST(Limits, ABlockThatDoesNotFitTheHostIsRefused) {
  // 32 warps of 25 MB.
  const std::string ptx = entry(".reg .b64 %r<100000>;");
  const std::string small = launch_refusal(ptx, {.memory_limit_bytes = uint64_t{100} << 20});
  EXPECT_NE(small.find("use fewer threads per block"), std::string::npos) << small;
}

TEST(Limits, RecursionWithoutAnEndIsReported) {
  EXPECT_EQ(kind_of(with_header(".func f() { call f; ret; }\n.entry k() { call f; ret; }\n")),
            "stack_overflow");
}

TEST(Limits, RecursionThatFillsLocalMemoryIsReported) {
  EXPECT_EQ(kind_of(with_header(".func f() { .local .b8 a[65536]; .reg .b32 %r; mov.u32 %r, a; "
                                "call f; ret; }\n.entry k() { call f; ret; }\n")),
            "stack_overflow");
}

TEST(Limits, RecursionThatFillsTheHostIsReported) {
  const auto device = make_emulator({.threads = 1, .memory_limit_bytes = uint64_t{64} << 20});
  const auto module = device->load_module(
      with_header(".func f() { .reg .b64 %r<50000>; call f; ret; }\n.entry k() { call f; ret; }\n"),
      "test.ptx");
  ASSERT_TRUE(module);
  LaunchConfig config;
  config.entry = "k";
  const auto report = device->launch(*module, config);
  ASSERT_TRUE(report && report->findings.size() == 1);
  EXPECT_EQ(name_of(report->findings[0].kind), "stack_overflow");
  EXPECT_NE(report->findings[0].message.find("bytes of registers"), std::string::npos);
}

const std::string kPrintf =
    ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n";
std::string printing(const std::string& format, const std::string& after) {
  std::string bytes;
  for (const char c : format) bytes += std::to_string(static_cast<int>(c)) + ",";
  return with_header(kPrintf + ".global .b8 f[] = {" + bytes + "0};\n" +
                     ".entry k() { .local .align 8 .b8 s[16]; .reg .b64 %r, %n; .param .b64 a; "
                     ".param .b64 b; .param .b32 c; mov.u64 %r, f; mov.u64 %n, 7; "
                     "st.local.u64 [s], %n; st.param.b64 [a], %r; mov.u64 %n, s; "
                     "cvta.local.u64 %n, %n; st.param.b64 [b], %n; L: call (c), vprintf, (a, b); " +
                     after + " ret; }\n");
}

TEST(Limits, PrintfWithoutALineEndIsCut) {
  TestKernel kernel(printing("for ever and ever ", "bra L;"));
  kernel.config().warp_instructions_max = 70'000;
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.printed.size(), 1u);
  EXPECT_EQ(report.printed[0].size(), kPrintedBytesMax);
}

TEST(Limits, PrintfTakesNoWidthOfBillions) {
  TestKernel kernel(printing("[%2147483647d|%.2147483647d|%5d]\n", ""));
  kernel.config().block = {1, 1, 1};
  const LaunchReport report = kernel.run();
  ASSERT_EQ(report.printed.size(), 1u);
  EXPECT_LT(report.printed[0].size(), 100u);
  EXPECT_NE(report.printed[0].find("|    0]"), std::string::npos) << report.printed[0];
}

TEST(Limits, ParametersEndAtTheirLastByte) {
  for (const char* offset : {"4096", "-4"}) {
    TestKernel kernel(
        entry(std::string(".reg .b32 %r; ld.param.u32 %r, [p+") + offset + "];", ".param .u32 p"));
    const LaunchReport report = kernel.arg(uint32_t{1}).run(false);
    ASSERT_EQ(report.findings.size(), 1u) << offset;
    EXPECT_EQ(name_of(report.findings[0].kind), "out_of_bounds");
  }
  EXPECT_EQ(kind_of(entry(".param .b32 a; .reg .b32 %r; st.param.b32 [a+-8], %r;")),
            "out_of_bounds");
}

/// Loads an element of 4 bytes at an offset, stores it at another.
constexpr const char* kMove = R"(.reg .b64 %a<4>; .reg .b32 %v;
ld.param.u64 %a0, [x]; ld.param.u64 %a1, [y]; ld.param.u64 %a2, [from]; ld.param.u64 %a3, [to];
add.s64 %a0, %a0, %a2; add.s64 %a1, %a1, %a3;
ld.global.b32 %v, [%a0]; st.global.b32 [%a1], %v;)";

TEST(Limits, SparseMemoryHoldsWhatTheMachineCannot) {
  const uint64_t bytes = (uint64_t{1} << 37) + 12;
  const auto device = make_emulator({.threads = 1, .memory_limit_bytes = 1 << 20});
  SparseMemory* sparse = sparse_memory_of(*device);
  ASSERT_NE(sparse, nullptr);
  std::vector<uint32_t> pattern(1000);
  for (uint32_t i = 0; i < pattern.size(); ++i) pattern[i] = i + 1;
  const auto x = sparse->allocate_sparse(bytes, "x", std::as_bytes(std::span(pattern)));
  const auto y = sparse->allocate_sparse(bytes, "y", {});
  ASSERT_TRUE(x) << x.error().message;
  ASSERT_TRUE(y) << y.error().message;
  const auto module = device->load_module(
      entry(kMove, ".param .u64 x, .param .u64 y, .param .u64 from, .param .u64 to"), "test.ptx");
  ASSERT_TRUE(module) << module.error().message;
  const auto move = [&](uint64_t from, uint64_t to) {
    LaunchConfig config;
    config.entry = "k";
    for (const uint64_t value : {*x, *y, from, to}) {
      const auto one = std::as_bytes(std::span(&value, 1));
      config.args.emplace_back(one.begin(), one.end());
    }
    const auto report = device->launch(*module, config);
    EXPECT_TRUE(report);
    const DeviceFinding& first = report->findings.at(0);  // Such memory has no records of accesses.
    return is_note(first) ? "" : std::string(name_of(first.kind));
  };
  const uint64_t last = bytes - 4;
  EXPECT_EQ(move(last, last), "");
  uint32_t value = 0;
  EXPECT_TRUE(device->download(std::as_writable_bytes(std::span(&value, 1)), *y + last));
  EXPECT_EQ(value, last / 4 % 1000 + 1);
  EXPECT_EQ(move(last + 4, 0), "out_of_bounds");
  EXPECT_EQ(move(0, last + 4), "out_of_bounds");
  EXPECT_TRUE(device->free(*x) && device->free(*y));
}

TEST(Limits, APatternThatFillsNoPagesIsRefused) {
  const auto device = make_emulator({.threads = 1, .memory_limit_bytes = 1 << 20});
  const std::vector<std::byte> odd((1 << 15) + 1), small(3, std::byte{7});
  const auto refused = sparse_memory_of(*device)->allocate_sparse(uint64_t{1} << 32, "x", odd);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  const auto filled = sparse_memory_of(*device)->allocate_sparse(10, "x", small);
  ASSERT_TRUE(filled) << "memory of ordinary size takes every pattern";
  std::vector<std::byte> there(10);
  EXPECT_TRUE(device->download(there, *filled));
  EXPECT_EQ(there, std::vector<std::byte>(10, std::byte{7}));
}

#ifndef __SANITIZE_ADDRESS__  // It ends a process that is refused memory.
/// While it lives this process gets `more` bytes of address space, and no others.
class LittleMemory {
 public:
  explicit LittleMemory(uint64_t more) {
    ::getrlimit(RLIMIT_AS, &before_);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit now = before_;
    now.rlim_cur = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) + more;
    ::setrlimit(RLIMIT_AS, &now);
  }
  ~LittleMemory() { ::setrlimit(RLIMIT_AS, &before_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  rlimit before_{};
};

TEST(Limits, ALaunchThatTheHostHasNoMemoryForIsRefused) {
  const auto device =
      make_emulator({.threads = 2, .memory_limit_bytes = uint64_t{64} << 30, .name = "test"});
  const auto module = device->load_module(
      entry(".reg .b32 %r<2>; .local .b8 own[400000]; mov.u32 %r1, 1; st.local.u32 [own], %r1;"),
      "test.ptx");
  ASSERT_TRUE(module) << module.error().message;
  LaunchConfig config;
  config.entry = "k";
  config.grid = {8, 1, 1};
  config.block = {1024, 1, 1};
  {
    const LittleMemory little(uint64_t{128} << 20);
    const auto report = device->launch(*module, config);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::ResourceExhausted);
    EXPECT_NE(report.error().message.find("more memory for its blocks"), std::string::npos);
  }
  config.block = {32, 1, 1};
  EXPECT_TRUE(device->launch(*module, config));
}
#endif

TEST(Limits, ALoopWhoseEndWasNeverWrittenIsNotWaitedFor) {
  const auto device = make_emulator({.threads = 1, .memory_limit_bytes = 1 << 24, .name = "test"});
  const std::string text = with_header(
      ".visible .entry k(.param .u64 p) {\n .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %p<3>;\n"
      " ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; mov.u32 %r2, 0;\n"
      "L: add.u32 %r2, %r2, 1; xor.b32 %r3, %r2, %r1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;\n"
      " st.global.u32 [%rd1], %r3; ret;\n}\n");
  LaunchConfig config;
  config.entry = "k";
  config.timeout_ms = 600'000;
  const uint64_t address = *device->allocate(4, "end");
  const auto* bytes = reinterpret_cast<const std::byte*>(&address);
  config.args.emplace_back(bytes, bytes + sizeof address);
  const auto report = device->launch(*device->load_module(text, "k"), config);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->findings.size(), 2u);
  EXPECT_EQ(name_of(report->findings[0].kind), "uninitialized");
  EXPECT_EQ(name_of(report->findings[1].kind), "timeout");
  EXPECT_TRUE(report->findings[1].message.starts_with("the launch was stopped early"))
      << report->findings[1].message;
}

TEST(Limits, RacesOfTensorsBeyondTheRecordsAreSaidNotToBeLookedFor) {
  for (const MachineCode machine_code : {MachineCode::Never, MachineCode::Always}) {
    TestKernel kernel(entry(R"( .reg .b64 %rd<3>; .reg .b32 %r<2>;
      ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
      add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1;)",
                            ".param .u64 p"),
                      {.threads = 1,
                       .memory_limit_bytes = 1 << 30,
                       .race_history_bytes_max = 6 << 20,
                       .machine_code = machine_code});
    const uint64_t before = kernel.buffer(std::vector<uint32_t>(32), "small"),
                   large = kernel.buffer(std::vector<uint32_t>(1 << 20), "large"),
                   after = kernel.buffer(std::vector<uint32_t>(32), "small");
    for (const uint64_t small : {before, after}) {  // It does not access the large one.
      kernel.arg(small).run();
      kernel.config().args.clear();
    }
    kernel.arg(large);
    for (int again = 0; again < 2; ++again) {
      const LaunchReport report = kernel.run(false);
      ASSERT_EQ(report.findings.size(), 1u);
      EXPECT_EQ(name_of(report.findings[0].kind), "unchecked_tensor");
      EXPECT_EQ(report.findings[0].tensor, "large");
      EXPECT_TRUE(is_note(report.findings[0]));
      EXPECT_TRUE(report.findings[0].message.starts_with(
          "races in 'large' were not looked for: the emulator records accesses to 1 MiB"))
          << report.findings[0].message;
    }
    kernel.config().sanitize = {};
    kernel.run();  // Nobody asked for races.
  }
}

TEST(Limits, ALaunchOfMoreBarriersThanRacesAreLookedForInSaysSo) {
  const std::string text = entry(R"( .reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2; mov.u32 %r2, 0;
    L: st.global.u32 [%rd1], %r2; bar.sync 0; add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 100; @%p1 bra L;)",
                                 ".param .u64 p");
  for (const uint32_t most : {199u, 201u}) {
    TestKernel kernel(text,
                      {.threads = 1, .memory_limit_bytes = 1 << 20, .race_segments_max = most});
    kernel.config().block = {64, 1, 1};
    kernel.arg(kernel.buffer(std::vector<uint32_t>(64)));
    const LaunchReport report = kernel.run(most > 200);
    if (most > 200) continue;
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(name_of(report.findings[0].kind), "unchecked_rest");
    EXPECT_TRUE(
        report.findings[0].message.starts_with("races in global memory were looked for only in the "
                                               "first part of 'k': its warps passed more "
                                               "than 199 barriers and fences"))
        << report.findings[0].message;
  }
}

}  // namespace
}  // namespace gpuemu::emulator
