// Tests breakpoints in a listing, and the state of a stopped launch as text.
#include <csignal>

#include <gtest/gtest.h>

#include "cli/debug/breakpoints.h"
#include "cli/debug/complete.h"
#include "cli/debug/interrupt.h"
#include "cli/debug/machine_text.h"

namespace gpuemu::cli {
namespace {

DebugProgram program() {
  DebugFunction kernel{.name = "kernel", .is_entry = true};
  for (const uint32_t line : {3U, 3U, 5U, 3U, 0U, 5U, 9U}) {
    kernel.body.push_back({"add.f32 %f1, %f2, %f3", "/work/a/kernels.cu", line,
                           20 + static_cast<uint32_t>(kernel.body.size())});
  }
  DebugFunction twice{.name = "_Z5twicef"};
  twice.body.push_back({"ret", "/work/a/other.cuh", 3, 40});
  return {{kernel, twice}};
}

Result<std::vector<DebugPlace>> places(const Words& words) {
  return find_places(program(), *parse_break(words), "kernel");
}

TEST(Breakpoints, StopWhereEachPieceOfALineBegins) {
  EXPECT_EQ(*places({"3"}), (std::vector<DebugPlace>{{0, 0}, {0, 3}}));
  EXPECT_EQ(*places({"kernels.cu:5"}), (std::vector<DebugPlace>{{0, 2}, {0, 5}}));
  EXPECT_EQ(*places({"a/other.cuh:3"}), (std::vector<DebugPlace>{{1, 0}}));
  EXPECT_EQ(*places({"ptx:22"}), (std::vector<DebugPlace>{{0, 2}}));
}

TEST(Breakpoints, KnowFunctionsByTheNameOfTheSource) {
  EXPECT_EQ(*places({"twice"}), (std::vector<DebugPlace>{{1, 0}}));
  EXPECT_EQ(*places({"kernel"}), (std::vector<DebugPlace>{{0, 0}}));
  EXPECT_NE(places({"kernle"}).error().message.find("did you mean one of: kernel"),
            std::string::npos);
}

TEST(Breakpoints, NameTheNearestLinesThatHaveCode) {
  EXPECT_EQ(places({"6"}).error().message,
            "line 6 has no code; the nearest lines with code are 5, 3, 9");
  EXPECT_NE(places({"els.cu:5"}).error().message.find("no line of 'els.cu'"), std::string::npos);
}

TEST(Breakpoints, AreReadWithBlockAndThreadInAnyOrder) {
  const BreakSpec spec = *parse_break({"7", "thread", "1,2", "block", "3"});
  EXPECT_EQ(text_of(spec), "line 7 block (3,0,0) thread (1,2,0)");
  for (const Words& wrong : {Words{}, Words{"7", "block"}, Words{"7", "lane", "1"}, Words{"a.cu:"},
                             Words{"a.cu:0"}, Words{"7", "block", "x"}}) {
    EXPECT_FALSE(parse_break(wrong));
  }
}

TEST(Bits, AreReadAsTheirType) {
  EXPECT_EQ(*bits_text(0x3fc00000, 4, "f32"), "1.5");
  EXPECT_EQ(*bits_text(0xffffffff, 4, "s32"), "-1");
  EXPECT_EQ(*bits_text(0xffffffff, 4, "u32"), "4294967295");
  EXPECT_EQ(*bits_text(0x3c003800, 4, "f16x2"), "(0.5, 1)");
  EXPECT_EQ(*bits_text(0x3f80, 4, "bf16"), "1");
  EXPECT_EQ(*bits_text(1, 0, "pred"), "true");
  EXPECT_EQ(*bits_text(7, 4, "b32"), "0x00000007");
  EXPECT_FALSE(bits_text(7, 4, "f64"));
  EXPECT_FALSE(bits_text(7, 4, "f33"));
}

TEST(Registers, SayWhenNothingWasWritten) {
  DebugRegister one{.name = "%f1", .type = "f32", .bytes = 4};
  one.lanes[3] = 0x40000000;
  one.undefined = 1U << 2;
  EXPECT_EQ(register_text(one, 3), "2");
  EXPECT_EQ(register_text(one, 2), "(nothing written)");
}

TEST(Results, AreWhatStandsFirst) {
  EXPECT_EQ(results_of("add.f32 %f3, %f2, %f1"), Words{"%f3"});
  EXPECT_EQ(results_of("@!%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1]"), (Words{"%f1", "%f2"}));
  EXPECT_EQ(results_of("setp.lt.s32 %p1|%p2, %r1, 3"), (Words{"%p1", "%p2"}));
  EXPECT_TRUE(results_of("st.global.f32 [%rd1], %f1").empty());
  EXPECT_TRUE(results_of("ret").empty());
  EXPECT_TRUE(results_of("@%p1").empty());
}

TEST(Lanes, AreShownAsRanges) {
  EXPECT_EQ(lanes_text(0xffffffff), "0-31");
  EXPECT_EQ(lanes_text(0x80000005), "0, 2, 31");
  EXPECT_EQ(lanes_text(0), "");
}

TEST(SourceText, ShowsTheLinesAroundAndMarksThem) {
  EXPECT_EQ(source_text("a\nb\nc\nd\n", 2, 1, {2, 3}), "     1  a\n>    2* b\n     3* c\n");
  EXPECT_EQ(source_text("a\n", 90, 5, {}), "");
}

TEST(Stores, TellWhoAndWhat) {
  Watchpoint watch{.number = 4, .name = "y[3]", .dtype = DType::Int32};
  DebugStore store{.number = 4, .place = {0, 2}, .block = {1, 0, 0}, .thread = Dim3{5, 0, 0}};
  store.before.assign(4, std::byte{0});
  store.after = {std::byte{7}, std::byte{0}, std::byte{0}, std::byte{0}};
  EXPECT_EQ(store_text(watch, store, program()),
            "watchpoint 4: y[3] = 7, was 0; stored by thread (5,0,0) of block (1,0,0), "
            "add.f32 %f1, %f2, %f3 at /work/a/kernels.cu:5");
}

TEST(Completion, LooksAtTheLastWordOfTheLastCommand) {
  EXPECT_EQ(last_word("replay; print y.ex"), "y.ex");
  EXPECT_EQ(last_word("print "), "");
  EXPECT_EQ(common_begin({"stage", "stages", "start"}), "sta");
}

TEST(Interrupts, AreTakenOnceAndOnlyUnderAGuard) {
  const InterruptGuard guard;
  EXPECT_FALSE(take_interrupt());
  std::raise(SIGINT);
  EXPECT_TRUE(take_interrupt());
  EXPECT_FALSE(take_interrupt());
}

}  // namespace
}  // namespace gpuemu::cli
