// Compares bytes by memory space with numbers computed by hand.
#include "ops/profile/memory_traffic.h"

#include <gtest/gtest.h>

#include "runtime/backends/backends.h"

namespace gpuemu {
namespace {

TEST(BytesOfThread, StandInTheInstruction) {
  EXPECT_EQ(bytes_of_thread("ld.global.f32"), 4U);
  EXPECT_EQ(bytes_of_thread("ld.volatile.shared::cta.v4.u32"), 16U);
  EXPECT_EQ(bytes_of_thread("st.local.v2.f64"), 16U);
  EXPECT_EQ(bytes_of_thread("ld.u8"), 1U);
  EXPECT_EQ(bytes_of_thread("red.global.add.noftz.f16x2"), 4U);
  EXPECT_EQ(bytes_of_thread("atom.shared.add.noftz.bf16"), 2U);
  EXPECT_EQ(bytes_of_thread("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), 16U);
  EXPECT_EQ(bytes_of_thread("ld.param.u64"), 0U);
  EXPECT_EQ(bytes_of_thread("add.f32"), 0U);
  EXPECT_EQ(bytes_of_thread("bar.sync"), 0U);
  EXPECT_EQ(bytes_of_thread(""), 0U);
}

/// 32 threads: 4 bytes to global, 8 to and 4 from shared memory, 16 to local memory, by its own
/// address and by a generic one.
constexpr const char* kTrafficPtx = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<8>;
  .shared .align 16 .b8 s[256];
  .local .align 16 .b8 l[16];
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  shl.b32 %r2, %r1, 3;
  mov.u32 %r3, s;
  add.u32 %r3, %r3, %r2;
  st.shared.v2.u32 [%r3], {%r1, %r1};
  cvta.shared.u64 %rd4, %rd2;
  ld.shared.u32 %r4, [%r3];
  mov.u64 %rd5, l;
  st.local.v2.u32 [%rd5], {%r1, %r1};
  cvta.local.u64 %rd6, %rd5;
  st.u64 [%rd6+8], %rd2;
  setp.lt.u32 %p, %r1, 16;
  @%p st.u32 [%rd3], %r4;
  ret;
}
)";

TEST(BytesBySpace, AreWhatThreadsAskedForWhereverItWent) {
  auto opened = open_device({.backend = "emulator", .threads = 1});
  ASSERT_TRUE(opened) << opened.error().message;
  Device& device = **opened;
  const auto module = device.load_module(kTrafficPtx, "k.ptx");
  ASSERT_TRUE(module) << module.error().message;
  const uint64_t address = *device.allocate(128, "out");
  LaunchConfig config;
  config.entry = "k";
  config.block = {32, 1, 1};
  config.profile = true;
  config.sanitize = {DeviceCheck::Memory};
  const auto* raw = reinterpret_cast<const std::byte*>(&address);
  config.args.emplace_back(raw, raw + sizeof address);
  const auto report = device.launch(*module, config);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->findings.empty()) << report->findings[0].message;
  ASSERT_NE(report->profile, nullptr);
  const SpaceBytes bytes = bytes_by_space(*report->profile);
  EXPECT_EQ(bytes.global, 16U * 4);
  EXPECT_EQ(bytes.shared, 32U * (8 + 4));
  EXPECT_EQ(bytes.local, 32U * (8 + 8));
}

}  // namespace
}  // namespace gpuemu
