// Compares two emulators: equal results are reported as equal, differences are counted and located.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/files.h"
#include "tests/fidelity/report.h"

namespace gpuemu::fidelity {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfig = R"(
[project]
name = "p"
[[kernels]]
name = "fuses"
source = "k.ptx"
reference = "r.py"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [32, 64] }
launches = [{ entry = "k", grid = "n / 32", block = 32, args = ["x", "y"] }]
)";
/// x * x - x: in one rounding or two.
constexpr std::string_view kPtx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {
.reg .f32 %f<4>; .reg .b32 %r<5>; .reg .b64 %rd<4>;
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
mad.lo.s32 %r4, %r1, %r2, %r3; mul.wide.s32 %rd1, %r4, 4;
ld.param.u64 %rd2, [x]; ld.param.u64 %rd3, [y];
add.s64 %rd2, %rd2, %rd1; add.s64 %rd3, %rd3, %rd1;
ld.global.f32 %f1, [%rd2]; mul.f32 %f2, %f1, %f1; sub.f32 %f3, %f2, %f1;
st.global.f32 [%rd3], %f3; ret; }
)";

class Fidelity : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("gpuemu-fidelity-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    ASSERT_TRUE(write_file(folder_ / "gpuemu.toml", kConfig));
    ASSERT_TRUE(write_file(folder_ / "k.ptx", kPtx));
    ASSERT_TRUE(write_file(folder_ / "r.py", "def reference(x):\n    return x * x - x\n"));
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<Subject> subjects(const std::string& ptx_folder = "") {
    std::vector<std::string> problems;
    auto opened = open_project(folder_.string(), {.ptx_folder = ptx_folder, .only = {}}, problems);
    EXPECT_TRUE(opened) << opened.error().message;
    EXPECT_TRUE(problems.empty());
    return opened ? *opened : std::vector<Subject>();
  }
  static std::unique_ptr<Side> emulator(Contraction contraction) {
    auto side = open_side({.backend = "emulator", .threads = 1, .contraction = contraction});
    EXPECT_TRUE(side);
    return *std::move(side);
  }
  Tally compare(const Subject& subject, Side& left, Side& right) {
    auto tally = compare_subject(subject, amount_, left, right);
    EXPECT_TRUE(tally) << tally.error().message;
    return *tally;
  }

  const Amount amount_{.cases = 8, .seed = 1};
  fs::path folder_;
};

TEST_F(Fidelity, FindsADeviceIdenticalToItself) {
  const auto all = subjects();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name(), "p/fuses/float32");
  const auto left = emulator(Contraction::Never), right = emulator(Contraction::Never);
  const Tally tally = compare(all[0], *left, *right);
  EXPECT_TRUE(tally.identical());
  EXPECT_EQ(tally.cases, 8U);
  EXPECT_GE(tally.outputs.at(0).elements, 8U * 32);
  EXPECT_EQ(tally.outputs[0].identical, tally.outputs[0].elements);
}

TEST_F(Fidelity, CountsAndPlacesWhatAnotherRoundingChanges) {
  const auto all = subjects();
  const auto left = emulator(Contraction::Never), right = emulator(Contraction::Always);
  const Tally tally = compare(all.at(0), *left, *right);
  EXPECT_FALSE(tally.identical());
  EXPECT_LT(tally.outputs.at(0).identical, tally.outputs[0].elements);
  EXPECT_GE(tally.outputs[0].ulps_max, 1U);
  EXPECT_NE(tally.outputs[0].first.find("element "), std::string::npos);
  Report report{"a", "b", amount_, {tally}, {}};
  EXPECT_FALSE(report.identical());
  EXPECT_NE(markdown(report).find("| p/fuses/float32 | y | "), std::string::npos);
  EXPECT_NE(json(report).find("\"identical\": false"), std::string::npos);
}

TEST_F(Fidelity, RecordsWhatADeviceAnsweredForLater) {
  const auto all = subjects();
  const auto left = emulator(Contraction::Never), right = emulator(Contraction::Always);
  Recording recording;
  recording.device = "d";
  ASSERT_TRUE(record_subject(all.at(0), amount_, *right, recording));
  const std::string path = (folder_ / "recording").string();
  ASSERT_TRUE(write_recording(recording, path));
  auto replay = open_side({.backend = path});
  ASSERT_TRUE(replay) << replay.error().message;
  EXPECT_EQ((*replay)->title(), "d");
  const Tally live = compare(all[0], *left, *right);
  const Tally recorded = compare(all[0], *left, **replay);
  EXPECT_EQ(live.outputs.at(0).identical, recorded.outputs.at(0).identical);
  EXPECT_EQ(live.outputs[0].first, recorded.outputs[0].first);
}

TEST_F(Fidelity, SaysWhatARecordingDoesNotHold) {
  const auto all = subjects();
  const std::string path = (folder_ / "recording").string();
  ASSERT_TRUE(write_recording({.device = "d", .tensors = {}, .notes = {}}, path));
  const auto left = emulator(Contraction::Never);
  auto replay = open_side({.backend = path});
  ASSERT_TRUE(replay);
  const Tally tally = compare(all.at(0), *left, **replay);
  EXPECT_FALSE(tally.identical());
  EXPECT_EQ(tally.notes.at(0), "right: not recorded");
  ASSERT_TRUE(write_file(path, "something else"));
  EXPECT_FALSE(open_side({.backend = path}));
}

TEST_F(Fidelity, TakesSavedPtxWhereThereIsNoCompiler) {
  const std::string saved = (folder_ / "ptx").string();
  const auto all = subjects();
  ASSERT_TRUE(save_ptx(all.at(0), saved));
  const auto again = subjects(saved);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].prepared.entries, all[0].prepared.entries);
  const auto left = emulator(Contraction::Never), right = emulator(Contraction::Never);
  EXPECT_TRUE(compare(again[0], *left, *right).identical());
}

}  // namespace
}  // namespace gpuemu::fidelity
