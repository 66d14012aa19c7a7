#include "runtime/ptx/parse.h"

#include <ctime>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "runtime/ptx/flow/cfg.h"

namespace gpuemu::ptx {
namespace {

using Kind = Operand::Kind;

constexpr std::string_view kHeader = ".version 8.0\n.target sm_80\n.address_size 64\n";

Result<Module> parse_items(std::string_view items) {
  return parse(std::string(kHeader) + std::string(items), "t");
}

Result<Module> parse_body(std::string_view body) {
  return parse_items(fmt::format(".entry k(.param .u64 a) {{\n{}\n}}", body));
}

// The function, or an empty one after a failure that names the error.
Function body_of(std::string_view body) {
  auto module = parse_body(body);
  EXPECT_TRUE(module) << module.error().message;
  return module ? module->functions.at(0) : Function{};
}

Variable variable_of(std::string_view text) {
  auto module = parse_items(text);
  EXPECT_TRUE(module) << module.error().message;
  return module ? module->variables.back() : Variable{};
}

std::vector<int> bytes_of(const Variable& variable) {
  std::vector<int> out;
  for (const std::byte b : variable.init) out.push_back(static_cast<int>(b));
  return out;
}

TEST(PtxParse, ReadsHeaderAndWarnsOfANewerVersion) {
  const auto module = parse(".version 9.5\n.target sm_90a, debug\n.address_size 64", "t");
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(module->version, "9.5");
  EXPECT_EQ(module->target, "sm_90a");
  ASSERT_EQ(module->warnings.size(), 1u);
  EXPECT_EQ(module->warnings[0], "line 1: .version 9.5 is newer than the newest known, 9.0");
}

TEST(PtxParse, WarnsOfATargetThatNobodyKnows) {
  for (const char* name : {"sm_10", "sm_75", "sm_90a", "sm_100f", "sm_121"}) {
    EXPECT_TRUE(parse(fmt::format(".version 9.0\n.target {}\n", name), "t")->warnings.empty())
        << name;
  }
  for (const char* name : {"sm_999", "sm_", "sm_80x", "compute_80"}) {
    const auto module = parse(fmt::format(".version 9.0\n.target {}\n", name), "t");
    ASSERT_EQ(module->warnings.size(), 1u) << name;
    EXPECT_NE(module->warnings[0].find(fmt::format("line 2: .target {} is no", name)),
              std::string::npos)
        << module->warnings[0];
  }
}

TEST(PtxParse, RefusesAddressesOf32Bits) {
  const auto module = parse(".version 8.0\n.target sm_80\n.address_size 32\n", "t");
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().message.find("t:3:15: addresses of 32 bits, expected 64"),
            std::string::npos)
      << module.error().message;
}

TEST(PtxParse, KeepsModifiersInOrder) {
  const Function f =
      body_of(".reg .b64 %d; .reg.f32 %f<4>; ld.global.nc.v4.f32 {%f0,%f1,%f2,%f3}, [%d+-4];");
  ASSERT_EQ(f.body.size(), 1u);
  EXPECT_EQ(f.body[0].opcode, Opcode::Ld);
  EXPECT_TRUE(f.body[0].has(Modifier::Nc));
  EXPECT_FALSE(f.body[0].has(Modifier::Volatile));
  EXPECT_EQ(f.body[0].spelling(), "ld.global.nc.v4.f32");
  EXPECT_EQ(f.body[0].text(), "ld.global.nc.v4.f32 {%f0, %f1, %f2, %f3}, [%d-4]");
  EXPECT_EQ(f.body[0].operands[1].offset, -4);
}

TEST(PtxParse, TakesTheAddressOfAnArraysElement) {
  const Function f = body_of(
      ".reg .b64 %d; .shared .align 16 .b8 bytes[64]; .shared .f32 rows[4][8]; mov.u64 %d, "
      "bytes[0]; mov.u64 %d, bytes[5]; mov.u64 %d, rows[2]; mov.u64 %d, rows[2][3];");
  ASSERT_EQ(f.body.size(), 4u);
  const int64_t expected[] = {0, 5, 8, 76};
  for (size_t i = 0; i < f.body.size(); ++i) {
    EXPECT_EQ(f.body[i].operands[1].kind, Operand::Kind::Variable);
    EXPECT_EQ(f.body[i].operands[1].offset, expected[i]) << i;
  }
  const auto refused = parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n .reg .b64 %d;\n"
      " mov.u64 %d, nothing[1];\n ret;\n}\n",
      "t");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("'[' behind 'nothing'; expected an array"),
            std::string::npos)
      << refused.error().message;
}

TEST(PtxParse, KeepsTheNameOfAnInstructionThatItDoesNotKnow) {
  const Function f = body_of(".reg .b32 %r<3>; frobnicate.u32 %r0, %r1; add.u32 %r0, %r1, %r2;");
  ASSERT_EQ(f.body.size(), 2u);
  EXPECT_EQ(f.body[0].opcode, Opcode::Unknown);
  EXPECT_EQ(f.body[0].name(), "frobnicate");
  EXPECT_EQ(f.body[0].text(), "frobnicate.u32 %r0, %r1");
  EXPECT_EQ(f.body[1].opcode, Opcode::Add);
  EXPECT_EQ(f.body[1].name(), "add");
}

TEST(PtxParse, KnowsWhatHasAResult) {
  const Function f = body_of(
      ".reg .b32 %r<3>; .reg .b64 %d; .reg .pred %p; add.u32 %r0, %r1, %r2; st.global.u32 [%d], "
      "%r0; nanosleep.u32 %r0; bar.sync 0; bar.red.popc.u32 %r1, 0, %p; atom.global.add.u32 %r1, "
      "[%d], %r0; red.global.add.u32 [%d], %r0;");
  std::vector<bool> results;
  for (const Instruction& one : f.body) results.push_back(one.has_result());
  EXPECT_EQ(results, (std::vector<bool>{true, false, false, false, true, true, false}));
}

TEST(PtxParse, ReadsEveryFormOfImmediate) {
  const Function f = body_of(
      ".reg .b64 %d<9>; foo %d0, 0x1F, 017, 0b101, -3, 12U, 0fBF800000, -0f3F800000, 1.5, "
      "0d3FF0000000000000;");
  const auto& o = f.body.at(0).operands;
  EXPECT_EQ(o[1].bits, 31u);
  EXPECT_EQ(o[2].bits, 15u);
  EXPECT_EQ(o[3].bits, 5u);
  EXPECT_EQ(o[4].bits, ~uint64_t{2});
  EXPECT_EQ(o[5].bits, 12u);
  EXPECT_EQ(o[6].bits, 0xBF800000u);
  EXPECT_EQ(o[6].float_bits, 32u);
  EXPECT_EQ(o[7].bits, 0xBF800000u);
  EXPECT_EQ(o[8].bits, 0x3FF8000000000000u);
  EXPECT_EQ(o[9].float_bits, 64u);
}

TEST(PtxParse, TellsPairsSinksSpecialsAndNegationsApart) {
  const Function f = body_of(
      ".reg .pred p, q; .reg .b32 r; setp.lt.and.s32 p|q, r, %tid.x, !p; shfl.sync.idx.b32 r|_, r, "
      "0, 31, -1;"
      " @!p foo _, %laneid, WARP_SZ;");
  EXPECT_EQ(f.body[0].operands[0].kind, Kind::PredPair);
  EXPECT_EQ(f.body[0].operands[2].name, "%tid.x");
  EXPECT_TRUE(f.body[0].operands[3].negated);
  EXPECT_EQ(f.body[1].operands[0].elements[1].kind, Kind::Sink);
  ASSERT_TRUE(f.body[2].guard);
  EXPECT_TRUE(f.body[2].guard->negated);
  EXPECT_EQ(f.body[2].operands[1].kind, Kind::Special);
  EXPECT_EQ(f.body[2].operands[2].bits, 32u);
  EXPECT_EQ(f.body[2].text(), "@!p foo _, %laneid, 32");
}

TEST(PtxParse, KeepsEqualNamesOfNestedScopesDistinct) {
  const Function f = body_of(
      ".reg .b32 %r<2>; { .reg.b16 t; mov.b16 t, 1; { .reg .b32 t; mov.b32 t, 2; } mov.b16 t, 3; }"
      " { .reg .b32 t<2>; mov.b32 t1, 4; }");
  EXPECT_EQ(f.registers[f.body[0].operands[0].reg].type, Type::B16);
  EXPECT_EQ(f.registers[f.body[1].operands[0].reg].type, Type::B32);
  EXPECT_EQ(f.body[2].operands[0].reg, f.body[0].operands[0].reg);
  EXPECT_EQ(f.body[1].operands[0].name, "t@2");
}

TEST(PtxParse, RenamesParamsOfEveryCallSequence) {
  const auto module = parse_items(
      ".func (.param .b32 r) f (.param .b32 a) { ret; }\n"
      ".entry k() { .reg .b32 %r<3>;\n"
      "{ .param .b32 p0; st.param.b32 [p0+0], 1; .param .b32 r0; call.uni (r0), f, (p0); }\n"
      "{ .param .b32 p0; st.param.b32 [p0+0], 2; .param .b32 r0; call.uni (r0), f, (p0); } ret; }");
  ASSERT_TRUE(module) << module.error().message;
  const Function& k = *module->find("k");
  ASSERT_EQ(k.variables.size(), 4u);
  EXPECT_EQ(k.body[1].call_arguments[0].name, "p0");
  EXPECT_EQ(k.body[3].call_arguments[0].name, "p0@2");
  EXPECT_EQ(k.body[3].operands[0].name, "f");
  EXPECT_EQ(k.body[3].text(), "call.uni (r0@2), f, (p0@2)");
}

TEST(PtxParse, ResolvesLabelsOfTheNearestScope) {
  const Function f = body_of("bra x; { bra x; x: ret; } { x: bra x; } x: ret;");
  const auto target = [&](size_t i) { return f.labels[f.body[i].operands[0].label].instruction; };
  EXPECT_EQ(target(0), 4u);
  EXPECT_EQ(target(1), 2u);
  EXPECT_EQ(target(3), 3u);
}

TEST(PtxParse, ReadsBranchTablesAndIndirectCalls) {
  const Function f = body_of(
      ".reg .b32 %r; .reg .b64 %d; .param .b32 x;\n"
      "ts: .branchtargets one, two; brx.idx %r, ts; one: ret; two:\n"
      "pr: .callprototype (.param .b32 _) _ (.param .b32 _); call (x), %d, (x), pr; ret;");
  EXPECT_EQ(f.branch_targets.at("ts"), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(f.body[2].call_prototype, "pr");
  EXPECT_EQ(f.body[2].operands[0].kind, Kind::Register);
  EXPECT_EQ(analyse(f).blocks[0].successors, (std::vector<uint32_t>{1, 2}));
}

TEST(PtxParse, ReadsRangesOfBranchTargets) {
  const Function f = body_of(
      ".reg .b32 %r; ts: .branchtargets L<2>, last; brx.idx.uni %r, ts; L0: ret; L1: ret; last: "
      "ret;");
  EXPECT_EQ(f.branch_targets.at("ts"), (std::vector<std::string>{"L0", "L1", "last"}));
  EXPECT_FALSE(parse_body(".reg .b32 %r; ts: .branchtargets L<3>; brx.idx %r, ts; L0: L1: ret;"));
}

TEST(PtxParse, ReadsWhatCompilersWriteAroundCode) {
  const auto module = parse_items(
      ".pragma \"nounroll\";\n.file 1 \"a.cu\", 1700000000, 1234\n"
      ".visible .func (.param .b32 r) f(.param .b32 a) .noreturn ;\n"
      ".func (.param .b32 r) g(.param .b32 a)\n{ .reg.b32 x; trap; }\n.alias h, g;\n"
      ".weak .entry k() .maxntid 128 .minnctapersm 2 .maxclusterrank 8 .blocksareclusters\n"
      ".pragma \"nounroll\" { .pragma \"unroll 4\"; .loc 1 2 3, function_name $L__info_string0, "
      "inlined_at 1 7 1\n ret; }\n"
      ".section .debug_abbrev { .b8 1,17,1\n .b8 37\n .b64 .debug_line, L1+4\n }\n"
      ".section .debug_str { $L__info_string0: .b8 102,0 }\n");
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_NE(module->find("h"), nullptr);
  EXPECT_TRUE(module->find("f")->noreturn);
  EXPECT_EQ(module->find("k")->minnctapersm, 2u);
}

TEST(PtxParse, ReadsLaunchBounds) {
  const auto module = parse_items(
      ".entry k(.param .u64 .ptr .global .align 16 a, .param .align 4 .b8 s[12]) .explicitcluster\n"
      ".reqnctapercluster 2, 1, 1 .reqntid 128 .maxntid 256, 2 .minnctapersm 3 .maxnreg 64 .newer "
      "7 { ret; }");
  ASSERT_TRUE(module) << module.error().message;
  const Function& k = module->functions[0];
  EXPECT_TRUE(k.params[0].ptr);
  EXPECT_EQ(k.params[0].align, 8u);
  EXPECT_EQ(k.params[1].bytes, 12u);
  EXPECT_EQ(k.reqntid[0], 128u);
  EXPECT_EQ(k.reqntid[2], 1u);
  EXPECT_EQ(k.maxntid[1], 2u);
  EXPECT_EQ(k.minnctapersm, 3u);
  EXPECT_EQ(k.maxnreg, 64u);
  EXPECT_EQ(k.reqnctapercluster[0], 2u);
}

TEST(PtxParse, FollowsInlinedLinesToTheKernel) {
  const auto module = parse_items(
      ".entry k() { .loc 1 30 2\n .loc 2 7 3, function_name $L__s0, inlined_at 1 30 2\n"
      ".loc 3 9 4, function_name $L__s0+8, inlined_at 2 7 3\n ret; }\n.file 1 \"k.cu\"\n");
  ASSERT_TRUE(module) << module.error().message;
  const SourceLine inner = module->functions[0].body[0].source;
  EXPECT_EQ(inner.file, 3u);
  EXPECT_EQ(module->outermost(inner).file, 1u);
  EXPECT_EQ(module->outermost(inner).line, 30u);
  EXPECT_EQ(module->files.at(1), "k.cu");
}

TEST(PtxParse, TakesNoLineNumberFromWithinInlinePtx) {
  const auto module = parse_items(
      ".entry k() { .loc 1 6 9\n // begin inline asm\n .loc 1 6 9\n bar.sync 0;\n .loc 1 7 9\n"
      "bar.sync 0;\n // end inline asm\n .loc 1 9 1\n ret; }\n");
  ASSERT_TRUE(module) << module.error().message;
  const auto& body = module->functions[0].body;
  EXPECT_EQ(body[0].source.line, 6u);
  EXPECT_EQ(body[1].source.line, 6u);
  EXPECT_EQ(body[2].source.line, 9u);
}

TEST(PtxParse, TellsTheCallsOfOneInlinedFunctionApart) {
  const auto module = parse_items(
      ".entry k() { .loc 1 30 2\n .loc 2 7 3, function_name $L__s0, inlined_at 1 30 2\n bar.sync "
      "0;\n"
      ".loc 1 31 2\n .loc 2 7 3, function_name $L__s0, inlined_at 1 31 2\n bar.sync 0;\n"
      ".loc 2 7 3\n ret; }\n");
  ASSERT_TRUE(module) << module.error().message;
  const auto& body = module->functions[0].body;
  EXPECT_EQ(module->outermost(body[0].source).line, 30u);
  EXPECT_EQ(module->outermost(body[1].source).line, 31u);
  EXPECT_EQ(module->outermost(body[2].source).line, 7u);
}

TEST(PtxParse, PadsNestedInitialisers) {
  EXPECT_EQ(bytes_of(variable_of(".global .b8 x[2][3] = {{1}, {2, 3}};")),
            (std::vector<int>{1, 0, 0, 2, 3, 0}));
  EXPECT_EQ(bytes_of(variable_of(".const .u16 x[] = {1, -1};")),
            (std::vector<int>{1, 0, 255, 255}));
  EXPECT_EQ(bytes_of(variable_of(".global .f32 x = 1.0;")), (std::vector<int>{0, 0, 128, 63}));
  EXPECT_EQ(bytes_of(variable_of(".global .b8 s[3] = \"ab\";")), (std::vector<int>{97, 98, 0}));
}

TEST(PtxParse, RecordsAddressesInInitialisers) {
  const Variable v =
      variable_of(".global .b8 a[64]; .global .u64 p[3] = {a+4, generic(a)+12, generic(a+8)};");
  ASSERT_EQ(v.relocations.size(), 3u);
  EXPECT_EQ(v.relocations[0].addend, 4);
  EXPECT_FALSE(v.relocations[0].generic);
  EXPECT_EQ(v.relocations[1].offset, 8u);
  EXPECT_EQ(v.relocations[1].addend, 12);
  EXPECT_TRUE(v.relocations[2].generic);
  EXPECT_EQ(v.init.size(), v.bytes);
}

TEST(PtxParse, LeavesDynamicSharedMemoryWithoutSize) {
  const Variable v = variable_of(".extern .shared .align 16 .b8 smem[];");
  EXPECT_EQ(v.bytes, 0u);
  EXPECT_EQ(v.align, 16u);
  EXPECT_TRUE(v.is_extern);
  EXPECT_EQ(v.space, Space::Shared);
}

TEST(PtxParse, RefusesDeepNestingWithoutRecursion) {
  for (const char c : {'{', '[', '('}) {
    const std::string deep(100'000, c);
    EXPECT_FALSE(parse_body(deep));
    EXPECT_FALSE(parse_body("foo " + deep));
    EXPECT_FALSE(parse_items(".global .b8 x[4] = " + deep));
  }
}

TEST(PtxParse, RefusesMillionsOfVariablesFromAFewLines) {
  std::string text;
  for (int i = 0; i < 5; ++i) text += fmt::format(".global .b8 v{}_<65536>;\n", i);
  const auto module = parse_items(text);
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().message.find("t:8:13: more than 262144 variables"), std::string::npos)
      << module.error().message;
}

TEST(PtxParse, AddressOfTextureKeepsItsCoordinates) {
  const Function f = body_of(
      ".reg .b64 %d; .reg .f32 %f<6>; tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%d, {%f4, %f5}];");
  const Operand& address = f.body[0].operands[1];
  ASSERT_EQ(address.elements.size(), 2u);
  EXPECT_EQ(address.elements[1].kind, Kind::Vector);
}

TEST(PtxParse, AVectorMayHaveAPredicateBehindIt) {
  const Function f = body_of(
      ".reg .b64 %d; .reg .f32 %f<6>; .reg .pred %p; tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}|%p, [%d, "
      "{%f4, %f5}];");
  const Operand& to = f.body[0].operands[0];
  ASSERT_EQ(to.kind, Kind::PredPair);
  EXPECT_EQ(to.elements[0].kind, Kind::Vector);
  EXPECT_EQ(text(to), "{%f0, %f1, %f2, %f3}|%p");
}

TEST(PtxParse, NamesOfTypesComeBack) {
  for (uint8_t i = 1; i <= static_cast<uint8_t>(Type::Pred); ++i) {
    const Type type = static_cast<Type>(i);
    EXPECT_EQ(type_from_name(name_of(type)), type);
    EXPECT_GT(byte_size(type), 0u);
  }
  EXPECT_FALSE(type_from_name("none"));
}

/// Time that this thread had a processor: other work on the machine does not count.
double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
/// Bytes per second of reading `lines` times three lines, the best of three turns.
double reading_speed(int lines) {
  std::string body = ".reg .b32 %r<64>; .reg .pred %p; .reg .b64 %d;\n";
  for (int i = 0; i < lines; ++i) {
    body += "\tadd.s32 \t%r1, %r2, %r63;\n\t@%p ld.global.f32 \t%r4, [%d+16];\n\t.loc\t1 30 2\n";
  }
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    const double start = processor_seconds();
    EXPECT_TRUE(parse_body(body));
    best = std::max(best, static_cast<double>(body.size()) / (processor_seconds() - start));
  }
  return best;
}
TEST(PtxParse, TakesTimeInProportionToTheText) {
  // Thirty times the text; a quadratic step would make its speed thirty times lower.
  EXPECT_GT(reading_speed(15'000), reading_speed(500) / 6);
}

TEST(PtxControlFlow, FindsWhereLanesMeetAgain) {
  const Function f = body_of(
      ".reg .pred %p; @%p bra then; mov.b32 _, 1; bra join; then: mov.b32 _, 2; join: bar.sync 0; "
      "ret;");
  const ControlFlow flow = analyse(f);
  ASSERT_EQ(flow.blocks.size(), 4u);
  EXPECT_EQ(flow.blocks[0].successors, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(flow.blocks[0].ipdom, 3);
  EXPECT_EQ(flow.reconvergence(0), 4u);
  EXPECT_EQ(flow.blocks[3].ipdom, -1);
}

TEST(PtxControlFlow, LanesThatStayMeetBehindAnEarlyReturn) {
  const Function f = body_of(
      ".reg .pred %p; @%p bra rest; @%p bra out; mov.b32 _, 1; rest: bar.sync 0; mov.b32 _, 2; "
      "out: ret;");
  const ControlFlow flow = analyse(f);
  EXPECT_EQ(flow.reconvergence(0), 3u);
  EXPECT_EQ(flow.reconvergence(1), f.body.size());  // Lanes of the branch before meet at 3.
}

TEST(PtxControlFlow, LanesThatStayMeetBehindALoopWithAnAssertion) {
  const Function f = body_of(
      ".reg .pred %p; top: @%p bra fail; mov.b32 _, 1; @%p bra top; bra behind; fail: trap; "
      "behind: "
      "bar.sync 0; ret;");
  EXPECT_EQ(analyse(f).reconvergence(2), 3u);
}

TEST(PtxControlFlow, TheMeetingPointIsNotPassedBy) {
  const Function f = body_of(
      ".reg .pred %p; @%p bra either; @!%p bra behind; either: mov.b32 _, 1; behind: bar.sync 0; "
      "@%p bra out; bar.sync 0; out: ret;");
  EXPECT_EQ(analyse(f).reconvergence(0), 3u);
}

TEST(PtxControlFlow, LoopsMeetBehindAndEarlyExitsAtTheEnd) {
  const Function f = body_of(
      ".reg .pred %p; top: mov.b32 _, 1; @%p ret; @%p bra top; mov.b32 _, 2; here: bra here;");
  const ControlFlow flow = analyse(f);
  ASSERT_EQ(flow.blocks.size(), 4u);
  EXPECT_EQ(flow.blocks[0].ipdom, -1);
  EXPECT_EQ(flow.reconvergence(1), f.body.size());
  EXPECT_EQ(flow.blocks[1].ipdom, 0);
  EXPECT_EQ(flow.blocks[3].ipdom, -1);
  EXPECT_TRUE(analyse(Function{}).blocks.empty());
}

TEST(Parse, ReadsTheBytesOfAFileNameThatCompilersEscape) {
  const auto module = parse(
      ".version 7.0\n.target sm_80\n.address_size 64\n"
      ".file 1 \"/tmp/\\303\\251 \\\"x\\\\y/k.cu\"\n",
      "k.ptx");
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(module->files.at(1), "/tmp/\xC3\xA9 \"x\\y/k.cu");
}

}  // namespace
}  // namespace gpuemu::ptx
