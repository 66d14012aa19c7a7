// Tests whether a product and a sum are rounded once or twice, by the bits of the result.
#include <gtest/gtest.h>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

/// a * b - c, where the product is just not c.
float difference(Contraction contraction) {
  const auto device = make_emulator({.threads = 1, .contraction = contraction});
  const std::string ptx = with_header(
      ".entry k(.param .u64 y, .param .f32 a, .param .f32 c) { .reg .f32 %f<5>; .reg .b64 %rd; "
      "ld.param.u64 %rd, [y]; ld.param.f32 %f1, [a]; ld.param.f32 %f2, [c];\n"
      "mul.f32 %f3, %f1, %f1; sub.f32 %f4, %f3, %f2; st.global.f32 [%rd], %f4; ret; }\n");
  const uint64_t y = *device->allocate(4, "y");
  const auto bytes = [](auto value) {
    std::vector<std::byte> out(sizeof value);
    std::memcpy(out.data(), &value, sizeof value);
    return out;
  };
  const float a = 1.0f + 0x1p-23f, c = 1.0f + 0x1p-22f;
  const auto module = device->load_module(ptx, "t");
  const auto report = device->launch(*module, {LaunchShape{}, "k", {bytes(y), bytes(a), bytes(c)}});
  EXPECT_TRUE(report && report->findings.empty());
  float out = -1;
  EXPECT_TRUE(device->download(std::as_writable_bytes(std::span(&out, 1)), y));
  return out;
}

TEST(Contraction, IsOffUnlessAskedFor) {
  EXPECT_EQ(difference(Contraction::Auto), 0.0f);
  EXPECT_EQ(difference(Contraction::Never), 0.0f);
  EXPECT_EQ(difference(Contraction::Always), 0x1p-46f);
}

}  // namespace
}  // namespace gpuemu::emulator
