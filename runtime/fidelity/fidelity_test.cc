#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/fidelity/fidelity_report.h"
#include "runtime/fidelity/form.h"
#include "runtime/fidelity/kernel_forms.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

using Class = FidelityClass;

Class class_of(std::string_view form, int sm = 80) { return fidelity_of(form, sm).what; }

TEST(Fidelity, RecordedOperationsThatTheIsaDefinesAreExactOnEveryArchitecture) {
  for (const char* form : {"add.rn.f32", "fma.rn.f32", "div.rn.f64", "cvt.rzi.s32.f32",
                           "setp.lt.f32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"}) {
    EXPECT_EQ(class_of(form, 80), Class::Exact) << form;
    EXPECT_EQ(class_of(form, 90), Class::Exact) << form;
  }
}

TEST(Fidelity, OtherSpellingsOfARecordedFormAreTheSameForm) {
  EXPECT_EQ(class_of("add.f32"), Class::Exact);  // Rounds to the nearest, too.
  EXPECT_EQ(class_of("min.xorsign.abs.ftz.NaN.f32"), class_of("min.ftz.NaN.xorsign.abs.f32"));
  EXPECT_EQ(class_of("min.ftz.NaN.xorsign.abs.f32"), Class::Exact);
  EXPECT_EQ(class_of("ld.global.f32"), Class::Exact);    // Moves the bits of ld.global.b32.
  EXPECT_EQ(class_of("ld.global.s32"), Class::Defined);  // May extend a sign.
  EXPECT_EQ(class_of("cvt.f32.f16"), Class::Exact);
  EXPECT_NE(class_of("atom.shared.add.u32"), class_of("atom.shared.add.f32"));
}

TEST(Fidelity, IntegersMovesComparisonsAndControlAreDefined) {
  for (const char* form :
       {"add.s32", "mad.lo.s64", "shl.b64", "mov.b64", "setp.ge.s32", "bra", "bar.sync",
        "ld.param.u64", "shfl.sync.bfly.b32", "red.global.add.u32", "atom.global.max.s64",
        "vadd4.u32.u32.u32.add", "add.rz.ftz.sat.f32", "cp.async.ca.shared.global",
        "wgmma.fence.sync.aligned", "wmma.load.a.sync.aligned.row.m16n16k16.global.f16",
        "wmma.mma.sync.aligned.row.col.m16n16k16.s32.u8.u8.s32", "call.uni"}) {
    EXPECT_EQ(class_of(form), Class::Defined) << form;
  }
  EXPECT_NE(fidelity_of("add.s32", 80).why, fidelity_of("bra.uni", 80).why);
}

TEST(Fidelity, ApproximationsAndSumsOfTensorCoresAreExactWhereTheArchitectureIsRecorded) {
  for (const char* form :
       {"ex2.approx.ftz.f32", "rsqrt.approx.f32", "div.full.f32", "tanh.approx.bf16x2",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"}) {
    EXPECT_EQ(class_of(form, 90), Class::Exact) << form;
    EXPECT_EQ(class_of(form, 80), Class::Modelled) << form;
    EXPECT_TRUE(fidelity_of(form, 80).of_architecture) << form;
  }
  EXPECT_EQ(fidelity_of("ex2.approx.f32", 80).why,
            "an approximation, of which the ISA bounds the error; recorded are the answers of an "
            "NVIDIA H200 (sm_90), not of sm_80");
}

TEST(Fidelity, WhatNoGpuAnsweredOrNoOrderFixesIsModelledOnEveryArchitecture) {
  for (const char* form : {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "red.global.add.f32",
                           "atom.shared.add.noftz.f16x2", "atom.global.v4.f32.add",
                           "tex.2d.v4.f32.f32", "tld4.r.2d.v4.f32.f32", "activemask.b32",
                           "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"}) {
    EXPECT_EQ(class_of(form, 80), Class::Modelled) << form;
    EXPECT_EQ(class_of(form, 90), Class::Modelled) << form;
  }
}

TEST(Fidelity, SurfacesMoveBitsThatTheIsaDefines) {
  EXPECT_EQ(class_of("suld.b.2d.b32.trap"), Class::Defined);
  EXPECT_EQ(class_of("sust.b.3d.v4.b32.zero"), Class::Defined);
}

TEST(Fidelity, UnknownAndRefusedInstructionsAreUnsupported) {
  EXPECT_EQ(class_of("frobnicate.f32"), Class::Unsupported);
  EXPECT_EQ(class_of("tcgen05.mma.cta_group::1.kind::f16"), Class::Unsupported);
  EXPECT_EQ(class_of("suq.width.b32"), Class::Unsupported);
  EXPECT_EQ(class_of(""), Class::Unsupported);
}

TEST(Fidelity, MatrixProductsHaveShortNames) {
  EXPECT_EQ(short_name("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), "mma.m16n8k16.f16");
  EXPECT_EQ(short_name("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"), "wmma.m16n16k16.f16");
  EXPECT_EQ(short_name("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"),
            "wgmma.m64n128k16.bf16");
  EXPECT_EQ(short_name("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"),
            "mma.sp.m16n8k32.f16");
  EXPECT_EQ(short_name("ex2.approx.f32"), "ex2.approx.f32");
}

TEST(Fidelity, ASparseProductIsNotTakenForTheDenseOneThatWasRecorded) {
  EXPECT_EQ(class_of("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 90), Class::Exact);
  for (const char* sp : {"sp", "sp::ordered_metadata"}) {
    EXPECT_EQ(
        class_of(std::string("mma.") + sp + ".sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 90),
        Class::Modelled);
  }
}

TEST(KernelForms, FollowCallsAndLeaveOutOtherFunctions) {
  const auto module = ptx::parse(
      ".version 7.0\n.target sm_70\n.address_size 64\n"
      ".func inner() { .reg .f32 %f<2>; sin.approx.f32 %f0, %f1; ret; }\n"
      ".func outer() { call.uni inner; ret; }\n"
      ".func unused() { .reg .f32 %f<2>; cos.approx.f32 %f0, %f1; ret; }\n"
      ".visible .entry k() { call outer; exit; }\n"
      ".visible .entry other() { trap; }\n",
      "test");
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(forms_of(*module, "k"),
            (std::set<std::string>{"call", "call.uni", "exit", "ret", "sin.approx.f32"}));
  EXPECT_EQ(forms_of(*module, "other"), (std::set<std::string>{"trap"}));
  EXPECT_TRUE(forms_of(*module, "missing").empty());
}

RunRecords records_of(const std::vector<RunForm>& forms) {
  RunRecords made;
  made.forms = forms;
  return made;
}

TEST(FidelityReport, CountsFormsOnceAndNamesModelledOnes) {
  const auto made = fidelity_of(records_of({{"k", "k", "add.s32", 80, 64},
                                            {"l", "l", "add.s32", 80, 32},
                                            {"k", "k", "ex2.approx.f32", 80, 64},
                                            {"k", "k", "ex2.approx.f32", 90, 64},
                                            {"k", "k", "red.global.add.f32", 80, 1}}),
                                "");
  ASSERT_TRUE(made);
  ASSERT_EQ(made->size(), 5u);
  EXPECT_EQ(fidelity_text(*made),
            "fidelity: 4 forms: 1 exact, 1 defined, 2 modelled (ex2.approx.f32 on sm_80, "
            "red.global.add.f32)\nfidelity: not covered: the choices of ptxas (contraction, "
            "scheduling), weak memory order, timing\n");
  const auto findings = unmeasured(*made);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].kind, "Unmeasured");
  EXPECT_EQ(findings[0].kernel, "k");
  EXPECT_EQ(findings[0].count, 64u);
  EXPECT_EQ(fidelity_text({}), "");
}

TEST(FidelityReport, ARefusedInstructionIsUnsupportedInItsKernel) {
  RunRecords records =
      records_of({{"k", "k", "ld.global.f32", 80, 1}, {"l", "l", "ld.global.f32", 80, 1}});
  RunFinding refused;
  refused.kind = run_kind_of(DeviceFindingKind::UnsupportedInstruction);
  refused.ptx_kernel = "k";
  refused.message = "no such form";
  refused.instruction = "@%p ld.global.f32 %f1, [%rd1]";
  records.findings = {refused};
  const auto made = fidelity_of(records, "");
  ASSERT_TRUE(made);
  EXPECT_EQ((*made)[0].what, "unsupported");
  EXPECT_EQ((*made)[0].why, "no such form");
  EXPECT_EQ((*made)[1].what, "exact");
  EXPECT_NE(fidelity_text(*made).find("0 modelled, 1 unsupported (ld.global.f32)"),
            std::string::npos);
}

TEST(FidelityReport, SaysWhichCodeCannotBeRead) {
  RunRecords records;
  records.code = {{"k", "k", "gone.ptx", 80}};
  const auto made = fidelity_of(records, "/nonexistent");
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("gone.ptx"), std::string::npos);
}

}  // namespace
}  // namespace gpuemu
