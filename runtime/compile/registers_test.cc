#include "runtime/compile/registers.h"

#include <gtest/gtest.h>

#include "runtime/compile/machine_code.h"

namespace gpuemu {
namespace {

/// `count` values that are all read before the first of them is written.
std::string kept(const std::string& target, int count) {
  std::string loads, stores;
  for (int i = 0; i < count; ++i) {
    const std::string value = "%f" + std::to_string(i);
    const std::string place = "[%rd1+" + std::to_string(4 * i) + "]";
    loads.append("ld.volatile.global.f32 ").append(value + ", " + place + ";\n");
    stores.append("st.volatile.global.f32 ").append(place + ", " + value + ";\n");
  }
  return ".version 8.0\n.target " + target +
         "\n.address_size 64\n"
         ".visible .entry small(.param .u64 p) { ret; }\n"
         ".visible .entry large(.param .u64 p) {\n.reg .f32 %f<" +
         std::to_string(count) + ">; .reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n" + loads +
         stores + "ret;\n}\n";
}

bool has_ptxas() {
  return assemble({.ptx = kept("sm_80", 2), .name = "k", .disassemble = false}).ok();
}

TEST(RegistersByPtxas, AreThoseOfEachEntry) {
  if (!has_ptxas()) GTEST_SKIP() << "no ptxas";
  const auto found = registers_by_ptxas(kept("sm_80", 100), 80);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_GE(found.at("large"), 100);
  EXPECT_LE(found.at("large"), 255);
  EXPECT_LT(found.at("small"), 32);
  EXPECT_EQ(registers_by_ptxas(kept("sm_90a", 40), 90).size(), 2U) << "code for sm_90a is for it";
}

TEST(RegistersByPtxas, OfWhatDoesNotCompileAreNotKnown) {
  EXPECT_TRUE(registers_by_ptxas("this is no PTX", 80).empty());
  EXPECT_TRUE(registers_by_ptxas(kept("sm_90", 2), 80).empty()) << "it is for a newer GPU";
}

}  // namespace
}  // namespace gpuemu
