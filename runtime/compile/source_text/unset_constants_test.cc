#include "runtime/compile/source_text/unset_constants.h"

#include <gtest/gtest.h>

#include "runtime/ptx/parse.h"
#include "runtime/ptx/variables.h"

namespace gpuemu {
namespace {

ptx::Module module_with(const std::string& variables) {
  return *ptx::parse(".version 7.0\n.target sm_80\n.address_size 64\n" + variables, "test.ptx");
}

TEST(UnsetConstants, AreThoseThatTheSourceDeclaresWithoutAnInitialiser) {
  const ptx::Module module = module_with(
      ".const .align 4 .b8 w[64];\n.const .align 4 .f32 zero;\n.const .align 4 .f32 a;\n"
      ".const .align 4 .f32 b;\n.const .align 4 .b8 _ZN5model4biasE[16];\n.const .f32 hidden;\n"
      ".global .f32 counter;\n");
  const std::string source = R"(
__constant__ alignas(16) float w[16];  // __constant__ float zero;
__constant__ float zero = 0;
/* __constant__ float hidden; */
__constant__ float a, b;
namespace model { __constant__ float bias[4]; }
__device__ float counter;
)";
  EXPECT_EQ(unset_constants(module, source),
            (std::set<std::string>{"w", "a", "b", "_ZN5model4biasE"}));
}

TEST(FindVariable, TakesTheNameOfTheSource) {
  const ptx::Module module = module_with(
      ".global .f32 _ZN1a1xE;\n.global .f32 _ZN1b1xE;\n.const .f32 _ZL5scale;\n.const .f32 y;\n");
  EXPECT_EQ((*ptx::find_variable(module, "scale"))->name, "_ZL5scale");
  EXPECT_EQ((*ptx::find_variable(module, "b::x"))->name, "_ZN1b1xE");
  EXPECT_EQ((*ptx::find_variable(module, "y"))->name, "y");
  EXPECT_NE(ptx::find_variable(module, "x").error().message.find("_ZN1a1xE or _ZN1b1xE"),
            std::string::npos);
  EXPECT_NE(ptx::find_variable(module, "scales").error().message.find("_ZL5scale, y"),
            std::string::npos);
}

}  // namespace
}  // namespace gpuemu
