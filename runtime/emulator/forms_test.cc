// Runs forms of instructions: modifiers in any order, and none that PTX does not have.
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

LaunchReport run(const std::string& body) {
  TestKernel kernel(
      with_header(".visible .entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .pred %p<5>;\n"
                  ".shared .align 16 .b8 tile[64];\nmov.u32 %r1, %laneid; mov.u32 %r3, tile;\n"
                  "setp.eq.u32 %p2, %r1, 1;\n" +
                  body + "\nret;\n}\n"));
  kernel.arg(uint64_t{0});
  return kernel.run(false);
}

TEST(Forms, ThoseThatDoNotExistAreRefusedAndNotGuessed) {
  for (const char* body :
       {"shfl.sync.sideways.b32 %r5, %r1, 1, 31, -1;", "shfl.sync.b32 %r5, %r1, 1, 31, -1;",
        "add.rz.s32 %r5, %r1, %r1;", "mov.v2.u32 %r5, %r1;", "setp.lt.foo.s32 %p1, %r1, 3, %p2;",
        "setp.lt.s32.sat %p1, %r1, 3;", "bar.sync.slow 0;", "vote.sync.most.pred %p1, %p2, -1;",
        "fence.sc.moon;", "mov.u32 %r5, %pm0;", "add.cc.f32 %r5, %r1, %r1;",
        "vadd4.s32.s32.s32 %r5, %r1.b0, %r1, %r1;", "ld.shared.b32.fast %r5, [%r3];",
        "redux.sync.min.b32 %r5, %r1, -1;", "atom.shared.and.f32 %r5, [%r3], %r1;",
        "mov.b32 {%r5, %r6, %r7}, %r1;"}) {
    const LaunchReport report = run(body);
    ASSERT_EQ(report.findings.size(), 1u) << body;
    EXPECT_EQ(name_of(report.findings[0].kind), "unsupported_instruction") << body;
    EXPECT_EQ(report.findings[0].ptx_line, 9u) << body;
  }
}

TEST(Forms, ModifiersStandInAnyOrder) {
  for (const char* body :
       {"shfl.idx.sync.b32 %r5, %r1, 1, 31, -1;", "setp.u32.lt %p1, %r1, 3;",
        "min.s32.relu %r5, %r1, 3;", "prmt.f4e.b32 %r5, %r1, %r1, 1;",
        "prmt.b32.f4e %r5, %r1, %r1, 1;", "ld.param.u32.v2 {%r5, %r6}, [p];",
        "add.f32.ftz.rn %r5, %r1, %r1;", "cvt.f32.sat.ftz.f32 %r5, %r1;",
        "atom.relaxed.add.u32.shared.gpu %r5, [%r3], 1;", "min.s16x2.relu %r5, %r1, %r1;",
        "mul.u32.lo %r5, %r1, %r1;", "barrier.aligned.sync 0;"}) {
    if (const LaunchReport report = run(body); !report.findings.empty()) {
      EXPECT_EQ(name_of(report.findings[0].kind), "uninitialized") << report.findings[0].message;
    }
  }
}

}  // namespace
}  // namespace gpuemu::emulator
