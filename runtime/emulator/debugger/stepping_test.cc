// Tests a launch that calls the debugger before every instruction.
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "runtime/device/debug.h"
#include "runtime/emulator/debugger/listing.h"
#include "runtime/emulator/emulator.h"
#include "runtime/ptx/parse.h"

namespace gpuemu::emulator {
namespace {

constexpr const char* kKernel = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 add) {
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  .shared .align 4 .b8 tile[256];
  .shared .align 4 .f32 other[2];
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [add];
  mov.u32 %r2, %tid.x;
  setp.lt.s32 %p, %r2, 4;
  @!%p bra DONE;
  add.s32 %r3, %r1, %r2;
  mov.u32 %r4, tile;
  shl.b32 %r5, %r2, 2;
  add.s32 %r4, %r4, %r5;
  st.shared.b32 [%r4], %r3;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
DONE:
  ret;
}
)";

/// Calls a function of the test at every instruction.
class Asked final : public Debugger {
 public:
  void loaded(const DebugProgram& given) override { program = given; }
  bool before(const DebugView& view) override {
    ++count;
    return !each ||
           each(view, program.functions[view.place().function].body[view.place().instruction].text);
  }
  const std::vector<DebugWatch>& watches() const override { return watched; }

  DebugProgram program;
  std::function<bool(const DebugView&, const std::string&)> each;
  std::vector<DebugWatch> watched;
  uint64_t count = 0;
};

class Stepped : public ::testing::Test {
 protected:
  Stepped() {
    EmulatorOptions options;
    options.debugger = &asked;
    device = make_emulator(options);
    module = *device->load_module(kKernel, "k.ptx");
    out = *device->allocate(512, "out");
    const std::vector<std::byte> zeros(512);
    EXPECT_TRUE(device->upload(out, zeros).ok());
  }

  LaunchReport launch(uint32_t blocks = 1, uint32_t threads = 40) {
    LaunchConfig config;
    config.entry = "k";
    config.grid = {blocks, 1, 1};
    config.block = {threads, 1, 1};
    const uint32_t add = 10;
    config.args.resize(2);
    const auto bytes = [](const auto& value) { return std::as_bytes(std::span(&value, 1)); };
    config.args[0].assign(bytes(out).begin(), bytes(out).end());
    config.args[1].assign(bytes(add).begin(), bytes(add).end());
    auto report = device->launch(module, config);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : LaunchReport();
  }

  Asked asked;
  std::unique_ptr<Device> device;
  ModuleId module = 0;
  uint64_t out = 0;
};

TEST_F(Stepped, AsksBeforeEveryInstructionThatALaneExecutes) {
  launch();
  // Warp 0 executes all 15; no lane of warp 1 passes the branch, and both parts execute 'ret'.
  EXPECT_EQ(asked.program.functions.size(), 1U);
  EXPECT_EQ(asked.program.functions[0].body.size(), 14U);
  EXPECT_GE(asked.count, 14U + 6U);
  std::vector<uint32_t> values(4);
  EXPECT_TRUE(device->download(std::as_writable_bytes(std::span(values)), out).ok());
  EXPECT_EQ(values, (std::vector<uint32_t>{10, 11, 12, 13}));
}

TEST_F(Stepped, ShowsRegistersTypedByTheirUseInEveryLane) {
  asked.each = [&](const DebugView& view, const std::string& text) {
    if (!text.starts_with("st.shared")) return true;
    EXPECT_EQ(view.lanes(), 0xfU);
    for (const DebugRegister& one : view.registers(view.warp())) {
      if (one.name != "%r3") continue;
      EXPECT_EQ(one.type, "s32");
      EXPECT_EQ(one.lanes[2], 12U);
    }
    return true;
  };
  launch();
}

TEST_F(Stepped, ShowsSharedMemoryParametersAndThreads) {
  bool seen = false;
  asked.each = [&](const DebugView& view, const std::string& text) {
    if (!text.starts_with("st.global")) return true;
    seen = true;
    const std::vector<DebugVariable> variables = view.shared_variables();
    EXPECT_EQ(variables.size(), 2U);
    EXPECT_EQ(variables[0].name, "tile");
    EXPECT_EQ(variables[0].type, "s32");  // From what is stored.
    EXPECT_EQ(variables[1].type, "f32");
    EXPECT_EQ(std::to_integer<int>(view.shared()[variables[0].offset + 4]), 11);
    EXPECT_EQ(view.param_variables()[1].name, "add");
    EXPECT_EQ(std::to_integer<int>(view.params()[view.param_variables()[1].offset]), 10);
    const std::vector<DebugWarp> warps = view.warps();
    EXPECT_EQ(warps.size(), 2U);
    uint32_t lanes = 0;
    for (const DebugGroup& group : warps[0].groups) {
      EXPECT_EQ(lanes & group.lanes, 0U);
      lanes |= group.lanes;
    }
    EXPECT_EQ(lanes & 0xfU, 0xfU);  // The others may have exited.
    EXPECT_EQ(view.thread_index(1, 3), (Dim3{35, 0, 0}));
    return true;
  };
  launch();
  EXPECT_TRUE(seen);
}

TEST_F(Stepped, EndsTheLaunchWhenToldTo) {
  asked.each = [&](const DebugView& view, const std::string&) { return view.block() == 0; };
  launch(100, 32);
  EXPECT_LT(asked.count, 40U);
}

TEST_F(Stepped, TellsEveryStoreToAWatchedPlaceAndItsThread) {
  asked.watched = {{7, out + 8, 4}, {8, out + 256, 4}};
  std::vector<DebugStore> stores;
  asked.each = [&](const DebugView& view, const std::string&) {
    stores.insert(stores.end(), view.stores().begin(), view.stores().end());
    return true;
  };
  launch(3, 32);
  ASSERT_EQ(stores.size(), 3U);  // One per block, also where the value stays the same.
  for (uint32_t block = 0; block < 3; ++block) {
    EXPECT_EQ(stores[block].number, 7U);
    EXPECT_EQ(stores[block].block, (Dim3{block, 0, 0}));
    EXPECT_EQ(stores[block].thread, (Dim3{2, 0, 0}));
    EXPECT_EQ(std::to_integer<int>(stores[block].after[0]), 12);
  }
  EXPECT_EQ(std::to_integer<int>(stores[0].before[0]), 0);
}

TEST_F(Stepped, KnowsWhoHasEnded) {
  bool seen = false;
  asked.each = [&](const DebugView& view, const std::string& text) {
    if (view.block() != 1 || !text.starts_with("st.global")) return true;
    seen = true;
    EXPECT_TRUE(view.has_ended(0, 0, 0));
    EXPECT_FALSE(view.has_ended(1, 0, 0));
    EXPECT_FALSE(view.has_ended(2, 0, 0));  // Not begun.
    return true;
  };
  launch(3, 32);
  EXPECT_TRUE(seen);
}

TEST_F(Stepped, GivesNoProfileAndNoShadows) {
  LaunchConfig config;
  config.entry = "k";
  config.grid = {1, 1, 1};
  config.block = {32, 1, 1};
  config.args = {std::vector<std::byte>(8), std::vector<std::byte>(4)};
  config.profile = true;
  EXPECT_EQ(device->launch(module, config).error().code, ErrorCode::Unsupported);
}

TEST(RegisterTypes, ComeFromWhatWritesElseFromWhatReads) {
  const ptx::Module module = *ptx::parse(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k() {
  .reg .pred %p;
  .reg .b32 %a, %b, %c, %d;
  .reg .b64 %w;
  mov.b32 %a, 0;
  add.f32 %b, %a, %a;
  cvt.rzi.s32.f32 %c, %b;
  mul.wide.s32 %w, %c, 4;
  setp.lt.s32 %p, %c, 3;
  mov.b32 %d, %c;
  ret;
}
)",
                                         "t.ptx");
  const std::vector<std::string> types = register_types(module.functions[0]);
  std::map<std::string, std::string> by_name;
  for (size_t i = 0; i < types.size(); ++i) {
    by_name[module.functions[0].registers[i].name] = types[i];
  }
  EXPECT_EQ(by_name["%a"], "f32");
  EXPECT_EQ(by_name["%b"], "f32");
  EXPECT_EQ(by_name["%c"], "s32");
  EXPECT_EQ(by_name["%d"], "b32");
  EXPECT_EQ(by_name["%w"], "s64");
  EXPECT_EQ(by_name["%p"], "pred");
}

}  // namespace
}  // namespace gpuemu::emulator
