// Tests the rules for fusing of ptxas 13.0 for sm_90, as read from its machine code.
#include "runtime/emulator/decode/contract.h"

#include <gtest/gtest.h>

#include "runtime/ptx/parse.h"

namespace gpuemu::emulator {
namespace {

/// The instructions of a body after contraction, without its `ret`.
std::string contracted(const std::string& body) {
  auto module = ptx::parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p) {\n"
      ".reg .f32 %a, %b, %c, %m, %n, %s, %t; .reg .f64 %x, %y, %z, %w; .reg .b16 %h<9>;\n"
      ".reg .b64 %q; .reg .pred %p;\n" +
          body + "\nret;\n}\n",
      "t");
  if (!module) return module.error().message;
  contract(*module);
  std::string out;
  for (const ptx::Instruction& instruction : module->functions[0].body) {
    if (instruction.opcode != ptx::Opcode::Ret) {
      out += instruction.text() + "; ";
    }
  }
  return out;
}

TEST(Contract, MakesOneInstructionOfAProductAndItsSum) {
  struct Case {
    const char *body, *expected;
  };
  const Case cases[] = {
      {"mul.f32 %m, %a, %b; add.f32 %s, %m, %c;", "fma.rn.f32 %s, %a, %b, %c; "},
      {"mul.f32 %m, %a, %b; add.f32 %s, %c, %m;", "fma.rn.f32 %s, %a, %b, %c; "},
      {"mul.ftz.f32 %m, %a, %b; add.ftz.sat.f32 %s, %m, %c;",
       "fma.rn.ftz.sat.f32 %s, %a, %b, %c; "},
      {"mul.f32 %m, %a, %b; bar.sync 0; @%p add.f32 %s, %m, %c;",
       "bar.sync 0; @%p fma.rn.f32 %s, %a, %b, %c; "},
      {"mul.f16 %h1, %h2, %h3; add.f16 %h4, %h1, %h5;", "fma.rn.f16 %h4, %h2, %h3, %h5; "},
      {"mul.bf16 %h1, %h2, %h3; add.bf16 %h4, %h1, %h5;", "fma.rn.bf16 %h4, %h2, %h3, %h5; "},
      {"mul.f32 %m, %a, %b; add.f32 %s, %m, %c; add.f32 %t, %m, %a;",
       "fma.rn.f32 %s, %a, %b, %c; fma.rn.f32 %t, %a, %b, %a; "}};
  for (const Case& c : cases) EXPECT_EQ(contracted(c.body), c.expected);
}

TEST(Contract, TurnsASignWhereTheSumSubtracts) {
  EXPECT_EQ(contracted("mul.f32 %m, %a, %b; sub.f32 %s, %c, %m;"),
            "neg.f32 %fused22, %a; fma.rn.f32 %s, %fused22, %b, %c; ");
  EXPECT_EQ(contracted("mul.f32 %m, %a, %b; sub.f32 %s, %m, %c;"),
            "neg.f32 %fused22, %c; fma.rn.f32 %s, %a, %b, %fused22; ");
  EXPECT_EQ(contracted("mul.f32 %m, %a, %b; sub.f32 %s, %m, 0f3F800000;"),
            "fma.rn.f32 %s, %a, %b, 0fBF800000; ");
}

TEST(Contract, FusesTheProductThatEndsAQuotient) {
  EXPECT_EQ(contracted("div.approx.ftz.f32 %m, %a, %b; add.ftz.f32 %s, %m, %c;"),
            "rcp.approx.ftz.f32 %fused22, %b; fma.rn.ftz.f32 %s, %a, %fused22, %c; ");
  EXPECT_EQ(contracted("div.approx.f32 %m, %a, %b; add.f32 %s, %m, %c;"),
            "abs.f32 %fused22, %b; setp.lt.f32 %fused23, %fused22, 0f00800000; "
            "selp.f32 %fused24, 0f4B800000, 0f3F800000, %fused23; mul.rn.f32 %fused25, %a, "
            "%fused24; mul.rn.f32 %fused26, %b, %fused24; rcp.approx.ftz.f32 %fused27, %fused26; "
            "fma.rn.f32 %s, %fused25, %fused27, %c; ");
  for (const char* body : {"div.rn.f32 %m, %a, %b; add.f32 %s, %m, %c; ",
                           "div.full.f32 %m, %a, %b; add.rn.f32 %s, %m, %c; "}) {
    EXPECT_EQ(contracted(body), body);
  }
}

TEST(Contract, TakesTheFirstOfTwoProducts) {
  const std::string products = "mul.f32 %m, %a, %b; mul.f32 %n, %c, %a; ";
  EXPECT_EQ(contracted(products + "add.f32 %s, %m, %n;"),
            "mul.f32 %n, %c, %a; fma.rn.f32 %s, %a, %b, %n; ");
  EXPECT_EQ(contracted(products + "add.f32 %s, %n, %m;"),
            "mul.f32 %m, %a, %b; fma.rn.f32 %s, %c, %a, %m; ");
}

TEST(Contract, LeavesAloneWhatMustBeRoundedTwice) {
  for (const char* body :
       {"mul.rn.f32 %m, %a, %b; add.f32 %s, %m, %c; ",
        "mul.f32 %m, %a, %b; add.rn.f32 %s, %m, %c; ",
        "mul.ftz.f32 %m, %a, %b; add.f32 %s, %m, %c; ",
        "mul.f32 %m, %a, %b; add.ftz.f32 %s, %m, %c; ",
        "mul.sat.f32 %m, %a, %b; add.f32 %s, %m, %c; ", "mul.f32 %m, %a, %b; add.f32 %s, %m, %m; ",
        "mul.f32 %m, %a, %b; add.f32 %s, %m, %c; st.global.f32 [%q], %m; ",
        "mul.f32 %m, %a, %b; mov.f32 %a, %c; add.f32 %s, %m, %c; ",
        "mul.f32 %a, %a, %b; add.f32 %s, %a, %c; ", "mul.f64 %w, %x, %y; add.f64 %w, %w, %z; ",
        "@%p mul.f32 %m, %a, %b; add.f32 %s, %m, %c; "}) {
    EXPECT_EQ(contracted(body), body);
  }
}

TEST(Contract, DrawsFromASeedWhichProductsAreFused) {
  std::string body = ".version 8.0\n.target sm_90\n.entry k() { .reg .f32 %a<100>;\n";
  constexpr int kProducts = 32;
  for (int i = 0; i < kProducts; ++i) {
    const std::string product = "%a" + std::to_string(3 * i);
    body += "mul.f32 " + product + ", %a97, %a98; add.f32 %a" + std::to_string(3 * i + 1) + ", " +
            product + ", %a99;\n";
  }
  const auto left_after = [&](uint64_t seed) {
    auto module = ptx::parse(body + "ret; }", "t");
    contract(*module, seed);
    std::string left;
    for (const ptx::Instruction& instruction : module->functions[0].body) {
      left += std::string(instruction.name()) + " ";
    }
    return left;
  };
  EXPECT_EQ(left_after(1), left_after(1));
  EXPECT_NE(left_after(1), left_after(2));
  for (const uint64_t seed : {1, 2, 3}) {
    EXPECT_NE(left_after(seed).find("fma"), std::string::npos);
    EXPECT_NE(left_after(seed).find("mul"), std::string::npos);
  }
}

TEST(Contract, KeepsToOneBasicBlockAndMovesLabels) {
  EXPECT_EQ(contracted("mul.f32 %m, %a, %b; @%p bra L; add.f32 %s, %m, %c; L:"),
            "mul.f32 %m, %a, %b; @%p bra L; add.f32 %s, %m, %c; ");
  auto module = ptx::parse(
      ".version 8.0\n.target sm_90\n.entry k() { .reg .f32 %a<6>; .reg .pred %p;\n"
      "mul.f32 %a1, %a2, %a3; add.f32 %a4, %a1, %a5; @%p bra L; mov.f32 %a4, %a2; L: ret; }",
      "t");
  ASSERT_TRUE(module);
  contract(*module);
  EXPECT_EQ(module->functions[0].body.size(), 4U);
  EXPECT_EQ(module->functions[0].labels[0].instruction, 3U);
}

}  // namespace
}  // namespace gpuemu::emulator
