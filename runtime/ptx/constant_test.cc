#include "runtime/ptx/constant.h"

#include <gtest/gtest.h>

#include "runtime/ptx/parse.h"

namespace gpuemu::ptx {
namespace {

constexpr std::string_view kHeader = ".version 8.0\n.target sm_80\n.address_size 64\n";

std::string value_of(std::string_view text) {
  Cursor in(text, "t");
  const auto number = parse_constant(in, "a constant");
  if (!number) return number.error().message;
  if (in.peek().kind != TokenKind::End) return "rest: " + std::string(in.peek().text);
  const auto bits = static_cast<int64_t>((*number).bits);
  return (*number).is_unsigned ? fmt::format("{}U", (*number).bits) : fmt::format("{}", bits);
}

TEST(PtxConstant, HasTheOperatorsOfC) {
  EXPECT_EQ(value_of("(1<<4)"), "16");
  EXPECT_EQ(value_of("-3+4"), "1");
  EXPECT_EQ(value_of("2+3*4-10/3% 2"), "13");
  EXPECT_EQ(value_of("10-4-3"), "3");
  EXPECT_EQ(value_of("1|6&3^8"), "11");
  EXPECT_EQ(value_of("~0"), "-1");
  EXPECT_EQ(value_of("!5 + !0"), "1");
  EXPECT_EQ(value_of("3 < 4 && 4 <= 4 || 0"), "1");
  EXPECT_EQ(value_of("5 == 5 != 0"), "1");
  EXPECT_EQ(value_of("0 ? 1 : 1 ? 7 : 9"), "7");
  EXPECT_EQ(value_of("(WARP_SZ - 1) * 2"), "62");
  EXPECT_EQ(value_of("-8 >> 1"), "-4");
  EXPECT_EQ(value_of("-7 / 2"), "-3");
  EXPECT_EQ(value_of("1 << 64"), "0");
}

TEST(PtxConstant, IsUnsignedWhereAnOperandIs) {
  EXPECT_EQ(value_of("3U"), "3U");
  EXPECT_EQ(value_of("-1 < 1"), "1");
  EXPECT_EQ(value_of("(.u64)-1 < 1"), "0");
  EXPECT_EQ(value_of("(.u64)(-8) >> 60"), "15U");
  EXPECT_EQ(value_of("(.s64)0xFFFFFFFFFFFFFFFF / 2"), "0");
  EXPECT_EQ(value_of("0x8000000000000000"), "9223372036854775808U");
  EXPECT_EQ(value_of("(.s64)0x8000000000000000 / -1"), "-9223372036854775808");
}

TEST(PtxConstant, RefusesWhatIsNoneWithItsPlace) {
  EXPECT_EQ(value_of("4 / (2 - 2)"), "t:1:3: division by zero in a constant expression");
  EXPECT_EQ(value_of("1 + 2.5"),
            "t:1:3: '+' of a float; expected integers in a constant expression");
  EXPECT_TRUE(value_of("1 + x").starts_with("t:1:5: unexpected 'x'"));
  EXPECT_TRUE(value_of("(1").starts_with("t:1:3: the text ends here"));
  EXPECT_NE(value_of(std::string(100'000, '(')).find("nests deeper than"), std::string::npos);
  EXPECT_NE(value_of(std::string(100'000, '-')).find("nests deeper than"), std::string::npos);
}

TEST(PtxConstant, StandsWherePtxHasNumbers) {
  const auto module =
      parse(std::string(kHeader) +
                ".global .align (1 << 3) .b8 x[2 * 8] = {1 + 2, (7), -1, 0 ? 4 : 5};\n"
                ".entry k(.param .u64 p) .maxntid 16 * 8, 1 + 1 {\n.reg .b32 %r<3>; .reg .b64 %d;\n"
                "add.u32 %r1, %r2, (1 << 4) + WARP_SZ; ld.global.u32 %r1, [%d + 4 * 2];\n"
                "ld.global.u32 %r1, [%d - 4 + 2]; mov.f32 %r1, -1.5; ret;\n}\n",
            "t");
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ((*module).variables[0].align, 8u);
  EXPECT_EQ((*module).variables[0].bytes, 16u);
  EXPECT_EQ((*module).variables[0].init[0], std::byte{3});
  EXPECT_EQ((*module).variables[0].init[3], std::byte{5});
  const Function& k = (*module).functions[0];
  EXPECT_EQ(k.maxntid[0], 128u);
  EXPECT_EQ(k.maxntid[1], 2u);
  EXPECT_EQ(k.body[0].operands[2].bits, 48u);
  EXPECT_EQ(k.body[1].operands[1].offset, 8);
  EXPECT_EQ(k.body[2].operands[1].offset, -2);
  EXPECT_EQ(k.body[3].operands[1].bits, 0xBFF8000000000000u);
}

/// The error of one instruction in a kernel with registers of all kinds; "" for none.
std::string error_of(const std::string& instruction) {
  const auto module = parse(std::string(kHeader) +
                                ".entry k(.param .u64 a) {\n.reg .pred p, q; .reg .b16 h<4>; .reg "
                                ".b32 r<4>; .reg .b64 d<4>;\n" +
                                instruction + "\nret;\n}\n",
                            "t");
  return module ? "" : module.error().message;
}

TEST(PtxVerify, RefusesRegistersOfTheWrongSizeWithTheirPlace) {
  EXPECT_EQ(error_of("mul.f32 r1, r2, d1;"),
            "t:6:1: register 'd1' of .b64 in 'mul.f32 r1, r2, d1'; expected one of .f32");
  for (const char* wrong : {"add.s32 d1, r1, r2;",
                            "add.u64 d1, p, d2;",
                            "add.u32 p, r1, r2;",
                            "mul.wide.u32 r1, r2, r3;",
                            "mad.wide.s32 d1, r1, r2, r3;",
                            "shl.b64 d1, d2, d3;",
                            "setp.lt.s32 r1, r2, r3;",
                            "setp.lt.s32 p, h1, r3;",
                            "selp.b32 r1, r2, r3, r1;",
                            "cvt.u64.u32 r1, r2;",
                            "ld.global.b64 r1, [d1];",
                            "ld.global.v2.b64 {d1, r1}, [d1];",
                            "st.global.b32 [d1], h1;",
                            "add.f16 h1, h2, r1;",
                            "popc.b64 d1, d2;",
                            "and.pred p, q, r1;",
                            "and.b32 r1, r2, p;",
                            "mov.b32 r1, d1;",
                            "shfl.sync.idx.b32 r1|r2, r3, 1, 31, -1;",
                            "vote.sync.ballot.b32 r1, r2, -1;",
                            "atom.global.add.u64 d1, [d2], r1;",
                            "red.global.add.u32 [d2], d1;",
                            "set.lt.u32.s32 h1, r1, r2;",
                            "slct.b32.f32 r1, r2, r3, d1;",
                            "testp.nan.f32 r1, r2;",
                            "fma.rn.f16x2 r1, r2, r3, h1;",
                            "add.f16 h1, h2, 0f3F800000;",
                            "bfe.u64 d1, d2, r1, d3;"}) {
    EXPECT_TRUE(error_of(wrong).starts_with("t:6:1: ")) << wrong << ": " << error_of(wrong);
  }
}

TEST(PtxVerify, TakesWiderRegistersWhereTheyAreAllowed) {
  for (const char* right : {"ld.global.u8 r1, [d1];",
                            "ld.global.s16 d2, [d1];",
                            "st.global.b8 [d1], r1;",
                            "cvt.u8.u32 r1, r2;",
                            "cvt.s64.s8 d1, h1;",
                            "mul.wide.u32 d1, r1, r2;",
                            "mad.wide.u16 r1, h1, h2, r3;",
                            "add.f32 r1, r2, 0f3F800000;",
                            "mov.b64 {r1, r2}, d1;",
                            "mov.b32 r1, {h1, h2};",
                            "setp.lt.s32 p|q, r1, r2;",
                            "popc.b64 r1, d1;",
                            "cvt.rn.f16x2.f32 r1, r2, r3;",
                            "min.s16x2 r1, r2, r3;",
                            "slct.b64.s32 d1, d2, d3, r1;",
                            "match.all.sync.b64 r1|p, d1, -1;",
                            "atom.global.cas.b16 h1, [d1], h2, h3;",
                            "shfl.sync.idx.b32 r1|p, r3, 1, 31, -1;",
                            "vote.sync.all.pred p, !q, -1;",
                            "add.u32 r1, r2, 0f3F800000;",
                            "mov.u32 r1, %clock64;",
                            "vadd4.s32.s32.s32 r1, r2, r3, r1;"}) {
    EXPECT_EQ(error_of(right), "") << right;
  }
}

}  // namespace
}  // namespace gpuemu::ptx
