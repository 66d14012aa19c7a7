#include "judge/explain/narrow_steps.h"

#include <gtest/gtest.h>

#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

std::string step_of(const std::string& body, DType dtype = DType::Float16) {
  const auto module = ptx::parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"/src/half.cu\"\n"
      ".visible .entry k(.param .u64 p) {\n .reg .b16 %h<8>; .reg .f32 %f<8>; .reg .b64 %rd<4>;\n"
      " ld.param.u64 %rd1, [p];\n ld.global.f32 %f1, [%rd1];\n" +
          body + " ret;\n}\n",
      "test");
  EXPECT_TRUE(module) << (module ? "" : module.error().message);
  return module ? narrow_step(*module, dtype) : "";
}

TEST(NarrowSteps, WhatIsOnlyStoredIsRoundedOnce) {
  const std::string body =
      " add.rn.f32 %f2, %f1, %f1;\n cvt.rn.f16.f32 %h1, %f2;\n mov.b16 %h2, %h1;\n"
      " st.global.b16 [%rd1], %h2;\n";
  EXPECT_EQ(step_of(body), "");
}

TEST(NarrowSteps, WhatIsComputedWithIsNamedByTheLineThatRounded) {
  const std::string body =
      " .loc 1 12 0\n cvt.rn.f16.f32 %h1, %f1;\n .loc 1 13 0\n mov.b16 %h2, %h1;\n"
      " add.rn.f16 %h3, %h2, %h2;\n st.global.b16 [%rd1], %h3;\n";
  EXPECT_EQ(step_of(body), "rounds to float16 between steps at half.cu:12");
  EXPECT_EQ(step_of(body, DType::BFloat16), "");
  EXPECT_EQ(step_of(body, DType::Float32), "");
}

TEST(NarrowSteps, SharedMemoryIsInBetween) {
  const std::string body = " .loc 1 20 0\n cvt.rn.f16.f32 %h1, %f1;\n st.shared.b16 [%rd1], %h1;\n";
  EXPECT_EQ(step_of(body), "rounds to float16 between steps at half.cu:20");
}

TEST(NarrowSteps, InputsOfTheTypeAreNoRounding) {
  const std::string body =
      " ld.global.b16 %h1, [%rd1];\n cvt.f32.f16 %f2, %h1;\n cvt.rn.f16.f32 %h2, %f2;\n"
      " st.global.b16 [%rd1], %h2;\n";
  EXPECT_EQ(step_of(body), "");
}

}  // namespace
}  // namespace gpuemu
