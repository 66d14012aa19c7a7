// Tests forms that no compiler emits but the parser accepts: each is refused with its location and
// never crashes.
#include <string>

#include <gtest/gtest.h>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

constexpr const char* kDeclared =
    ".reg .pred %p, %q; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %d<4>; "
    ".shared .align 16 .b8 s[64]; .reg .b32 %table; ";

class Malformed : public testing::TestWithParam<const char*> {};

TEST_P(Malformed, IsReportedAsUnsupported) {
  TestKernel kernel(with_header(std::string(".func g() { ret; }\n.entry k() { ") + kDeclared +
                                GetParam() + "\nret;\n}\n"));
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "unsupported_instruction")
      << report.findings[0].message;
  EXPECT_EQ(report.findings[0].ptx_line, 5u);
}

INSTANTIATE_TEST_SUITE_P(Forms, Malformed,
                         testing::Values("cvt.rz %r1, %r2;", "setp.lt.foo.f32 %p, %f1, %f2, %q;",
                                         "mov.b32 {%h1, %h2, %h3}, %r1;", "mov.b64 %d1, {%p, %q};",
                                         "bar.warp.sync;", "bar.red.popc.u32 %r1, 0;",
                                         "ld.param.v2.u32 %r1, [%d1];",
                                         "cp.async.ca.shared.global [s], [%d1], 200;",
                                         "t: .calltargets g; brx.idx %r1, t;"));

TEST(MalformedMask, AStmatrixWithoutItsLanesTouchesNothing) {
  TestKernel kernel(
      with_header(std::string(".entry k() { ") + kDeclared +
                  "mov.u32 %r1, %laneid; setp.gt.u32 %p, %r1, 20; mov.u32 %r2, s;"
                  "@%p stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r3}; ret; }\n"));
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "illegal_mask");
}

}  // namespace
}  // namespace gpuemu::emulator
