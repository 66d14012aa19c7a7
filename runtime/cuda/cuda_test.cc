// Tests that need no GPU; the others are in tests/conformance.
#include <gtest/gtest.h>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/entry_info.h"
#include "runtime/cuda/pin_rounding.h"
#include "runtime/ptx/parse.h"

namespace gpuemu::cuda {
namespace {

TEST(PinRounding, PinsWhatMayBeFusedAndNothingElse) {
  struct Case {
    const char *before, *after;
  };
  const Case cases[] = {{"add.f32 %f1, %f2, %f3;", "add.rn.f32 %f1, %f2, %f3;"},
                        {"@%p1 mul.f64 %d1, %d2, %d3;", "@%p1 mul.rn.f64 %d1, %d2, %d3;"},
                        {"sub.ftz.sat.f32 a, b, c;", "sub.rn.ftz.sat.f32 a, b, c;"},
                        {"mul.f16x2 a, b, c;", "mul.rn.f16x2 a, b, c;"},
                        {"\tadd.f32\t%f1", "\tadd.rn.f32\t%f1"},
                        {"{add.f32 a,b,c;mul.f32 d,e,f;}", "{add.rn.f32 a,b,c;mul.rn.f32 d,e,f;}"},
                        {"add.rz.f32 a, b, c;", nullptr},
                        {"add.rn.f32 a, b, c;", nullptr},
                        {"add.s32 a, b, c;", nullptr},
                        {"mul.lo.s32 a, b, c;", nullptr},
                        {"mul.wide.u32 a, b, c;", nullptr},
                        {"atom.global.add.f32 a, [b], c;", nullptr},
                        {"red.add.f32 [b], c;", nullptr},
                        {"fma.rn.f32 a, b, c, d;", nullptr},
                        {"// add.f32 a", nullptr},
                        {"/* add.f32 a */", nullptr},
                        {".file 1 \"add.f32\"", nullptr},
                        {"_add.f32 x", nullptr},
                        {"add.cc.u32 a, b, c;", nullptr},
                        {"add. ", nullptr},
                        {"add", nullptr},
                        {"\"open", nullptr},
                        {"/* open add.f32", nullptr},
                        {"# 1 add.f32 \"x\"", nullptr},
                        {"%add.f32 = mul.f32x;", nullptr},
                        {"add /* c */ .f32 a, b, c;", nullptr},
                        {"fma.rn.f32 a,b,c,d;// mul.f32\r\n\tmul.f32 x,y,z;",
                         "fma.rn.f32 a,b,c,d;// mul.f32\r\n\tmul.rn.f32 x,y,z;"},
                        {"", nullptr}};
  for (const Case& c : cases) EXPECT_EQ(pin_rounding(c.before), c.after ? c.after : c.before);
}

TEST(PinRounding, KeepsTheNumberOfLines) {
  EXPECT_EQ(pin_rounding("// a\nadd.f32 a,b,c;\n\n"), "// a\nadd.rn.f32 a,b,c;\n\n");
}

TEST(LoadDriver, NamesTheLibraryThatIsMissing) {
  const auto driver = load_driver("libgpuemu-no-such.so");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::Unavailable);
  EXPECT_NE(driver.error().message.find("libgpuemu-no-such.so"), std::string::npos);
}

TEST(LoadDriver, NamesTheFunctionThatIsMissing) {
  const auto driver = load_driver("libc.so.6");
  ASSERT_FALSE(driver);
  EXPECT_NE(driver.error().message.find("has no 'cuCtxSetCurrent'"), std::string::npos)
      << driver.error().message;
}

TEST(EntriesOf, GivesSizesOffsetsAndBlockLimits) {
  const auto module = ptx::parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u32 n, .param .u64 p, .param .align 4 .b8 s[12])\n"
      ".maxntid 128, 1, 1\n{\nret;\n}\n",
      "t");
  ASSERT_TRUE(module) << module.error().message;
  const auto entries = entries_of(*module);
  ASSERT_EQ(entries.size(), 1U);
  const auto& params = entries[0].params;
  ASSERT_EQ(params.size(), 3U);
  EXPECT_EQ(params[1].offset, 8U);
  EXPECT_TRUE(params[1].is_pointer);
  EXPECT_EQ(params[2].offset, 16U);
  EXPECT_EQ(params[2].bytes, 12U);
  EXPECT_FALSE(params[2].is_pointer);
  EXPECT_EQ(entries[0].max_block[0], 128U);
}

TEST(CudaDevices, AreAsManyAsCounted) { EXPECT_EQ(cuda_devices().size(), cuda_device_count()); }

}  // namespace
}  // namespace gpuemu::cuda
