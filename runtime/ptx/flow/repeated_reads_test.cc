#include "runtime/ptx/flow/repeated_reads.h"

#include <string>

#include <gtest/gtest.h>

#include "runtime/ptx/flow/words_of_cas.h"
#include "runtime/ptx/parse.h"

namespace gpuemu::ptx {
namespace {

/// Parses a function with an address in %rd, and returns the texts of the instructions for which
/// `find` says yes.
template <typename Find>
std::vector<std::string> found_in(const std::string& body, const Find& find) {
  const auto module = parse(
      ".version 7.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) { .reg .b32 %x, %y; "
      ".reg .b64 %rd; .reg .pred %p; ld.param.u64 %rd, [p];\n" +
          body + "\nret; }",
      "test.ptx");
  EXPECT_TRUE(module) << module.error().message;
  const Function& function = module->functions.at(0);
  const std::vector<bool> which = find(function);
  std::vector<std::string> texts;
  for (size_t i = 0; i < which.size(); ++i) {
    if (which[i]) texts.push_back(function.body[i].spelling());
  }
  return texts;
}
std::vector<std::string> awaited(const std::string& body) {
  return found_in(body, [](const Function& f) { return awaited_reads(f, analyse(f)); });
}
std::vector<std::string> of_cas(const std::string& body) { return found_in(body, words_of_cas); }

using Texts = std::vector<std::string>;

TEST(AwaitedReads, AreThoseThatEndALoopAtOneAddress) {
  EXPECT_EQ(awaited("W: ld.volatile.u32 %x, [%rd]; setp.eq.u32 %p, %x, 0; @%p bra W;"),
            Texts{"ld.volatile.u32"});
  EXPECT_EQ(awaited("W: atom.cas.b32 %x, [%rd], 0, 1; setp.ne.u32 %p, %x, 0; @%p bra W;"),
            Texts{"atom.cas.b32"});
}
TEST(AwaitedReads, FollowsTheValueToABranchInTheMiddle) {
  EXPECT_EQ(awaited("W: ld.volatile.u32 %x, [%rd]; and.b32 %y, %x, 7; setp.gt.u32 %p, %y, 1; "
                    "@%p bra OUT; nanosleep.u32 20; bra W; OUT:"),
            Texts{"ld.volatile.u32"});
}
TEST(AwaitedReads, AreThoseOfALoopEnteredInTheMiddle) {
  EXPECT_EQ(awaited("bra W; L: add.u32 %y, %y, 1; W: ld.volatile.u32 %x, [%rd]; "
                    "setp.ne.u32 %p, %x, 0; @%p bra OUT; setp.lt.u32 %p, %y, 9; @%p bra L; OUT:"),
            Texts{"ld.volatile.u32"});
}
TEST(AwaitedReads, AreThoseOfTheFirstRoundInFrontOfALoop) {
  const std::string loop =
      "W: nanosleep.u32 9; ld.volatile.u32 %x, [%rd]; setp.eq.u32 %p, %x, 0; @%p bra W; OUT:";
  const std::string first = "setp.ne.u32 %p, %x, 0; @%p bra OUT; mov.u32 %y, 8; ";
  EXPECT_EQ(awaited("ld.volatile.u32 %x, [%rd]; " + first + loop),
            (Texts{"ld.volatile.u32", "ld.volatile.u32"}));
  EXPECT_EQ(awaited("ld.volatile.u32 %x, [%rd+4]; " + first + loop), Texts{"ld.volatile.u32"});
  EXPECT_EQ(awaited("ld.volatile.u32 %y, [%rd]; " + first + loop), Texts{"ld.volatile.u32"});
}
TEST(AwaitedReads, AreNoneOfBlocksThatOnlyLeadIntoALoop) {
  EXPECT_EQ(awaited("setp.eq.u32 %p, %y, 9; @%p bra IN; L: add.u32 %y, %y, 1; bra W; "
                    "IN: ld.volatile.u32 %x, [%rd]; setp.eq.u32 %p, %x, 0; @%p bra OUT; "
                    "W: setp.lt.u32 %p, %y, 8; @%p bra L; OUT:"),
            Texts{});
}
TEST(AwaitedReads, AreNoneInALoopOverAddresses) {
  EXPECT_EQ(awaited("W: ld.volatile.u32 %x, [%rd]; add.u64 %rd, %rd, 4; setp.eq.u32 %p, %x, 0; "
                    "@%p bra W;"),
            Texts{});
}
TEST(AwaitedReads, AreNoneWhereTheLoopEndsByACount) {
  EXPECT_EQ(awaited("W: ld.volatile.u32 %x, [%rd]; add.u32 %y, %y, 1; setp.lt.u32 %p, %y, 8; "
                    "@%p bra W;"),
            Texts{});
}
TEST(AwaitedReads, AreNoneInALoopThatTakesWorkFromAQueue) {
  EXPECT_EQ(awaited("W: atom.add.u32 %x, [%rd], 1; setp.gt.u32 %p, %x, 99; @%p bra OUT; "
                    "st.u32 [%rd+8], %x; bra W; OUT:"),
            Texts{});
}
TEST(AwaitedReads, AreNoneInALoopThatCountsWithoutAStore) {
  EXPECT_EQ(awaited("W: atom.add.u32 %x, [%rd], 1; add.u32 %y, %y, %x; setp.lt.u32 %p, %x, 99; "
                    "@%p bra W;"),
            Texts{});
  EXPECT_EQ(awaited("W: mov.u32 %y, 0; atom.add.u32 %x, [%rd], %y; setp.lt.u32 %p, %x, 99; "
                    "@%p bra W;"),
            Texts{"atom.add.u32"});
}
TEST(AwaitedReads, AreNoneInALoopOverDataThatLooksAtABound) {
  EXPECT_EQ(awaited(".reg .b64 %at; W: ld.global.u32 %y, [%at]; add.u64 %at, %at, 4; "
                    "ld.volatile.u32 %x, [%rd]; setp.lt.u32 %p, %y, %x; @%p bra W;"),
            Texts{});
}
TEST(AwaitedReads, AreNoneInALoopThatComputesAndAsksWhetherToStop) {
  const std::string asks = "ld.volatile.u32 %x, [%rd]; setp.eq.u32 %p, %x, 0; @%p bra W; ";
  const std::string step = "W: mad.lo.u32 %y, %y, 5, 1; ";
  EXPECT_EQ(awaited(step + asks + "st.u32 [%rd+4], %y;"), Texts{});
  // Nothing reads the register after the loop, as with the time to the next try.
  EXPECT_EQ(awaited(step + "nanosleep.u32 %y; " + asks), Texts{"ld.volatile.u32"});
  // It says how often to try.
  EXPECT_EQ(
      awaited(step + "setp.gt.u32 %p, %y, 99; @%p bra OUT; " + asks + "OUT: st.u32 [%rd+4], %y;"),
      Texts{"ld.volatile.u32"});
}
TEST(AwaitedReads, AreThoseOfALoopThatCountsItsTriesOrWaitsLongerEachTime) {
  const std::string asks = "ld.volatile.u32 %x, [%rd]; setp.eq.u32 %p, %x, 0; @%p bra W; ";
  EXPECT_EQ(awaited("W: add.u32 %y, %y, 1; " + asks + "st.u32 [%rd+4], %y;"),
            Texts{"ld.volatile.u32"});
  EXPECT_EQ(awaited("W: nanosleep.u32 %y; shl.b32 %y, %y, 1; min.u32 %y, %y, 256; " + asks +
                    "nanosleep.u32 %y;"),
            Texts{"ld.volatile.u32"});
  // What it counts depends on data.
  EXPECT_EQ(awaited(".reg .pred %q; W: @%q add.u32 %y, %y, 1; " + asks + "st.u32 [%rd+4], %y;"),
            Texts{});
}
TEST(AwaitedReads, AreThoseWhoseOtherHalfIsReadAfterTheLoop) {
  EXPECT_EQ(awaited("W: ld.volatile.v2.u32 {%x, %y}, [%rd]; setp.eq.u32 %p, %x, 0; @%p bra W; "
                    "st.u32 [%rd+8], %y;"),
            Texts{"ld.volatile.v2.u32"});
}
TEST(AwaitedReads, AreNoneInALoopThatUpdatesByCompareAndSwap) {
  EXPECT_EQ(awaited("ld.volatile.u32 %x, [%rd]; W: add.u32 %y, %x, 1; "
                    "atom.cas.b32 %y, [%rd], %x, %y; setp.ne.u32 %p, %x, %y; mov.u32 %x, %y; "
                    "@%p bra W;"),
            Texts{});
  EXPECT_EQ(awaited("W: ld.volatile.u32 %x, [%rd]; atom.cas.b32 %y, [%rd], %x, 1; "
                    "setp.ne.u32 %p, %x, %y; @%p bra W;"),
            Texts{});
}
TEST(AwaitedReads, AreThoseOfALockWhoseNumbersTheLoopLoads) {
  EXPECT_EQ(awaited("W: mov.u32 %x, 0; mov.u32 %y, 1; atom.cas.b32 %x, [%rd], 0, %y; "
                    "setp.ne.u32 %p, %x, 0; @%p bra W;"),
            Texts{"atom.cas.b32"});
}
TEST(AwaitedReads, AreCountersThatTellTheLast) {
  EXPECT_EQ(awaited("atom.add.u32 %x, [%rd], 1; add.u32 %x, %x, 1; setp.eq.u32 %p, %x, %y;"),
            Texts{"atom.add.u32"});
  EXPECT_EQ(awaited("atom.inc.u32 %x, [%rd], %y; setp.ne.u32 %p, %y, %x;"), Texts{"atom.inc.u32"});
}
TEST(AwaitedReads, AreNoCountersOfQueuesOrOfTheFirst) {
  EXPECT_EQ(awaited("atom.add.u32 %x, [%rd], 1; setp.ge.u32 %p, %x, %y;"), Texts{});
  EXPECT_EQ(awaited("atom.add.u32 %x, [%rd], 1; setp.eq.u32 %p, %x, 0;"), Texts{});
  EXPECT_EQ(awaited("atom.exch.b32 %x, [%rd], 1; setp.eq.u32 %p, %x, %y;"), Texts{});
}
TEST(AwaitedReads, AreNoneWithoutALoop) {
  EXPECT_EQ(awaited("ld.volatile.u32 %x, [%rd]; setp.eq.u32 %p, %x, 0; @%p bra OUT; OUT:"),
            Texts{});
}

TEST(WordsOfCas, AreTheLoadsWhoseValueItComparesToo) {
  EXPECT_EQ(of_cas("ld.global.u32 %x, [%rd+4]; ld.global.u32 %y, [%rd]; ld.global.u16 %x, [%rd+4]; "
                   "W: atom.global.cas.b32 %y, [%rd+4], %x, 0; setp.ne.u32 %p, %x, %y; @%p bra W;"),
            (Texts{"ld.global.u32", "atom.global.cas.b32"}));
}
TEST(WordsOfCas, AreAtOnePlaceWhereTheAddressIsSplitInTwoWays) {
  EXPECT_EQ(of_cas(".reg .b64 %at; add.s64 %at, %rd, 4; ld.global.u32 %x, [%rd+4]; "
                   "ld.global.u32 %x, [%rd]; atom.global.cas.b32 %y, [%at], %x, 2;"),
            (Texts{"ld.global.u32", "atom.global.cas.b32"}));
}
TEST(WordsOfCas, AreAtOnePlaceWhereTheAddressIsGivenInTwoSpaces) {
  EXPECT_EQ(of_cas(".reg .b64 %at, %same; cvta.to.global.u64 %at, %rd; mov.b64 %same, %at; "
                   "ld.global.u32 %x, [%same]; atom.cas.b32 %y, [%rd], %x, 2;"),
            (Texts{"ld.global.u32", "atom.cas.b32"}));
}
TEST(WordsOfCas, AreNoLoadsWhoseValueItDoesNotCompare) {
  EXPECT_EQ(of_cas("ld.global.u32 %y, [%rd]; atom.global.cas.b32 %x, [%rd], 1, 2;"),
            Texts{"atom.global.cas.b32"});
  EXPECT_EQ(
      of_cas("ld.global.u32 %y, [%rd]; mov.u32 %x, %y; atom.global.cas.b32 %x, [%rd], %x, 2;"),
      (Texts{"ld.global.u32", "atom.global.cas.b32"}));
}
TEST(WordsOfCas, AreNoneOfOtherAtomics) {
  EXPECT_EQ(of_cas("ld.global.u32 %x, [%rd]; atom.global.exch.b32 %y, [%rd], %x;"), Texts{});
}

}  // namespace
}  // namespace gpuemu::ptx
