#include "runtime/ptx/flow/written_params.h"

#include <string>

#include <gtest/gtest.h>

#include "runtime/ptx/parse.h"

namespace gpuemu::ptx {
namespace {

using Params = std::optional<std::vector<uint32_t>>;
using List = std::vector<uint32_t>;

/// Returns written_params() of an entry whose parameters p, q and n are in %a, %b and %n.
Params written(const std::string& body) {
  const auto module = parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n.global .b32 counter;\n"
      ".extern .shared .align 16 .b8 tile[];\n.func other(.param .b64 x) { ret; }\n"
      ".entry k(.param .u64 p, .param .u64 q, .param .u32 n) { .reg .b32 %x, %y, %n, %r<4>; "
      ".reg .b64 %a, %b, %c, %d, %e; .reg .pred %t; ld.param.u64 %a, [p]; "
      "ld.param.u64 %b, [q]; ld.param.u32 %n, [n]; mov.u32 %x, %tid.x;\n" +
          body + "\nret; }",
      "test.ptx");
  EXPECT_TRUE(module) << module.error().message;
  return written_params(*module->find("k"));
}

TEST(WrittenParams, AreThoseOfTheAddressesThatAreWritten) {
  EXPECT_EQ(written("ld.global.b32 %y, [%a]; st.global.b32 [%b], %y;"), List({1}));
  EXPECT_EQ(written("mad.wide.s32 %c, %x, 4, %a; st.global.b32 [%c], %x;"), List({0}));
  EXPECT_EQ(written("add.s64 %c, %a, %b; red.global.add.u32 [%c], 1;"), List({0, 1}));
  EXPECT_EQ(written("selp.b64 %c, %a, %b, %t; atom.global.add.u32 %y, [%c], 1;"), List({0, 1}));
  EXPECT_EQ(written("mul.wide.u32 %c, %n, 4; add.s64 %c, %b, %c; st.global.b32 [%c], %x;"),
            List({1, 2}));
  EXPECT_EQ(written("ld.global.b32 %y, [%a];"), List());
}
TEST(WrittenParams, FollowLoopsBackwards) {
  EXPECT_EQ(written("mov.b64 %c, %a; L: st.global.b32 [%c], %x; mov.b64 %c, %d; "
                    "add.s64 %d, %b, 4; @%t bra L;"),
            List({0, 1}));
}
TEST(WrittenParams, FollowHalvesOfAddresses) {
  EXPECT_EQ(written("mov.b64 {%r0, %r1}, %b; shfl.sync.idx.b32 %r2, %r0, 0, 31, -1; "
                    "mov.b64 %c, {%r2, %r1}; st.global.b32 [%c], %x;"),
            List({1}));
}
TEST(WrittenParams, LeaveOutSharedMemory) {
  EXPECT_EQ(written("mov.u32 %y, tile; st.shared.b32 [%y], %x; "
                    "cp.async.cg.shared.global [%y], [%a], 16; st.global.b32 [%b], %x;"),
            List({1}));
}
TEST(WrittenParams, TakeNumbersOf32BitsFromMemoryForOffsets) {
  EXPECT_EQ(written("ld.global.b32 %y, [%a]; mad.wide.s32 %c, %y, 4, %b; st.global.b32 [%c], %x;"),
            List({1}));
  EXPECT_EQ(written("ld.global.b32 %y, [%a]; cvt.s64.s32 %c, %y; shl.b64 %c, %c, 2; "
                    "add.s64 %c, %c, %b; st.global.b32 [%c], %x;"),
            List({1}));
}
TEST(WrittenParams, AreUnknownWhereAnAddressComesFromElsewhere) {
  for (const char* body :
       {"ld.global.b64 %c, [%a]; st.global.b32 [%c], %x;",
        "mov.u32 %y, tile; st.shared.b64 [%y], %b; ld.shared.b64 %c, [%y]; st.global.b32 [%c], %x;",
        "ld.global.v2.b32 {%r0, %r1}, [%a]; mov.b64 %c, {%r0, %r1}; st.global.b32 [%c], %x;",
        "ld.global.v2.b32 {%r0, %r1}, [%a]; cvt.u64.u32 %c, %r0; cvt.u64.u32 %d, %r1; "
        "shl.b64 %d, %d, 32; or.b64 %c, %c, %d; st.b32 [%c], %x;",
        "mov.u64 %c, counter; st.global.b32 [%c], %x;", "st.global.b32 [counter], %x;",
        "atom.global.exch.b64 %c, [%a], 0; st.global.b32 [%c], %x;",
        "mov.b64 %c, p; ld.param.b64 %d, [%c]; st.global.b32 [%d], %x;",
        "{ .param .b64 x; st.param.b64 [x], %a; call other, (x); }"}) {
    EXPECT_EQ(written(body), std::nullopt) << body;
  }
}

}  // namespace
}  // namespace gpuemu::ptx
