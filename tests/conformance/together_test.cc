// Tests blocks that run together: clusters of the launch, and grids with a barrier for all blocks.
#include <numeric>

#include "tests/conformance/fixture.h"

namespace gpuemu {
namespace {

/// Each block leaves its number in its shared memory and reads that of the next of its cluster.
std::string ring(const std::string& directive) {
  return ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry ring(.param .u64 out)\n" +
         directive + R"( {
  .reg .b32 %r<12>; .reg .b64 %rd<4>; .reg .pred %p;
  .shared .b32 mine;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; setp.ne.u32 %p, %r2, 0;
  @%p bra MEET;
  st.shared.u32 [mine], %r1;
MEET: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  mov.u32 %r3, %cluster_ctarank; mov.u32 %r4, %cluster_nctarank;
  add.u32 %r5, %r3, 1; rem.u32 %r5, %r5, %r4;
  mov.u32 %r6, mine; mapa.shared::cluster.u32 %r7, %r6, %r5;
  ld.shared::cluster.u32 %r8, [%r7];
  mad.lo.u32 %r8, %r4, 1000, %r8;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  @%p bra DONE;
  ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r8;
DONE: ret;
})";
}

/// Writes in the first half of the kernel what other blocks read in the second, behind a barrier of
/// the whole grid, whose place the driver tells in two registers.
constexpr const char* kGrid = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry shift(.param .u64 from, .param .u64 out) {
  .reg .b32 %r<16>; .reg .b64 %rd<10>; .reg .pred %p<4>;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %tid.x; setp.ne.u32 %p1, %r3, 0;
  ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [out];
  mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
  @%p1 bra MEET;
  add.u32 %r4, %r1, 1; st.volatile.global.u32 [%rd4], %r4;
  mov.u32 %r5, %envreg1; mov.u32 %r6, %envreg2; mov.b64 %rd6, {%r6, %r5};
  sub.u32 %r7, 0x80000001, %r2; setp.eq.u32 %p2, %r1, 0; selp.b32 %r7, %r7, 1, %p2;
  membar.gl;
  atom.add.u32 %r8, [%rd6+4], %r7;
WAIT: ld.volatile.u32 %r9, [%rd6+4]; xor.b32 %r9, %r9, %r8; setp.ge.s32 %p3, %r9, 0;
  @%p3 bra WAIT;
  membar.gl;
MEET: bar.sync 0;
  @%p1 bra DONE;
  add.u32 %r10, %r1, 1; rem.u32 %r10, %r10, %r2; mul.wide.u32 %rd7, %r10, 4;
  add.u64 %rd8, %rd1, %rd7; ld.volatile.global.u32 %r11, [%rd8]; st.global.u32 [%rd5], %r11;
DONE: ret;
})";

class Together : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (device_ != nullptr && is_emulator()) {
      device_ = *open_device({.backend = "emulator", .sm = 90, .memory_limit_bytes = kLimitBytes});
    }
  }
  bool has_clusters() const { return device_->properties().sm >= 90; }
  Result<LaunchReport> launch_ring(const std::string& directive, Dim3 cluster, uint32_t blocks) {
    out_ = upload(std::vector<uint32_t>(blocks), "out");
    LaunchConfig config;
    config.entry = "ring";
    config.grid = {blocks, 1, 1};
    config.block = {64, 1, 1};
    config.cluster = cluster;
    config.args = {bytes_of(out_)};
    return device_->launch(load(ring(directive)), config);
  }
  Result<LaunchReport> launch_grid(uint32_t blocks) {
    const uint64_t from = upload(std::vector<uint32_t>(blocks), "from");
    out_ = upload(std::vector<uint32_t>(blocks), "out");
    LaunchConfig config;
    config.entry = "shift";
    config.grid = {blocks, 1, 1};
    config.block = {128, 1, 1};
    config.args = {bytes_of(from), bytes_of(out_)};
    return device_->launch(load(kGrid), config);
  }
  void expect_ring(const Result<LaunchReport>& report, uint32_t cluster, uint32_t blocks) {
    ASSERT_TRUE(report) << report.error().message;
    for (const DeviceFinding& finding : report->findings) ADD_FAILURE() << finding.message;
    const auto got = download<uint32_t>(out_, blocks);
    for (uint32_t i = 0; i < blocks; ++i) {
      EXPECT_EQ(got[i], 1000 * cluster + i / cluster * cluster + (i + 1) % cluster) << i;
    }
  }
  static std::string refusal(const Result<LaunchReport>& report) {
    return report ? "" : report.error().message;
  }
  uint64_t out_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Emulator, Together, testing::Values("emulator"));
INSTANTIATE_TEST_SUITE_P(Cuda, Together, testing::Values("cuda"));

TEST_P(Together, ALaunchGivesItsBlocksAsClusters) {
  if (!has_clusters()) GTEST_SKIP() << "no clusters before sm_90";
  for (const uint32_t cluster : {1u, 2u, 4u, 8u}) {
    expect_ring(launch_ring("", {cluster, 1, 1}, 16), cluster, 16);
  }
}
TEST_P(Together, AKernelThatWantsAClusterGetsTheLaunchs) {
  if (!has_clusters()) GTEST_SKIP() << "no clusters before sm_90";
  expect_ring(launch_ring(".explicitcluster", {4, 1, 1}, 8), 4, 8);
  EXPECT_NE(refusal(launch_ring(".explicitcluster", {0, 0, 0}, 8)).find("wants its cluster"),
            std::string::npos);
}
TEST_P(Together, ADeclaredClusterNeedsNoOtherAndAllowsNoOther) {
  if (!has_clusters()) GTEST_SKIP() << "no clusters before sm_90";
  const std::string declared = ".explicitcluster .reqnctapercluster 2, 1, 1";
  expect_ring(launch_ring(declared, {0, 0, 0}, 8), 2, 8);
  expect_ring(launch_ring(declared, {2, 1, 1}, 8), 2, 8);
  EXPECT_NE(refusal(launch_ring(declared, {4, 1, 1}, 8)).find("demands 2x1x1"), std::string::npos);
}
TEST_P(Together, RefusesClustersThatDoNotFit) {
  if (!has_clusters()) GTEST_SKIP() << "no clusters before sm_90";
  EXPECT_NE(refusal(launch_ring("", {4, 1, 1}, 6)).find("not a multiple"), std::string::npos);
  EXPECT_NE(refusal(launch_ring("", {16, 1, 1}, 16)).find("at most 8"), std::string::npos);
  EXPECT_NE(refusal(launch_ring("", {0, 2, 1}, 16)).find("at least 1"), std::string::npos);
}
TEST_P(Together, AllBlocksOfAGridMeet) {
  for (const uint32_t blocks : {1u, 7u, 64u}) {
    const auto report = launch_grid(blocks);
    ASSERT_TRUE(report) << report.error().message;
    for (const DeviceFinding& finding : report->findings) ADD_FAILURE() << finding.message;
    const auto got = download<uint32_t>(out_, blocks);
    for (uint32_t i = 0; i < blocks; ++i) EXPECT_EQ(got[i], (i + 1) % blocks + 1) << i;
  }
}
TEST_P(Together, AGridThatMeetsAndDoesNotFitIsRefused) {
  if (is_emulator()) GTEST_SKIP() << "the emulator's memory is the limit";
  EXPECT_NE(refusal(launch_grid(1u << 20)).find("at once"), std::string::npos);
}
TEST_P(Together, EntriesSayWhetherTheirBlocksMeet) {
  const auto grid = device_->entries(load(kGrid)), plain = device_->entries(load_vector_add());
  ASSERT_TRUE(grid && plain);
  EXPECT_TRUE(grid->front().cooperative);
  EXPECT_FALSE(plain->front().cooperative);
}

}  // namespace
}  // namespace gpuemu
