#include "runtime/ptx/link/link.h"

#include <gtest/gtest.h>

#include "runtime/ptx/parse.h"

namespace gpuemu::ptx {
namespace {

constexpr const char* kHeader = ".version 7.0\n.target sm_70\n.address_size 64\n";

struct Made {
  Linked linked;
  Module module;
};

/// What texts of these items are linked to, as the parser reads it.
Made link_items(const std::vector<std::string>& items) {
  std::vector<LinkInput> inputs;
  for (const std::string& one : items) {
    inputs.push_back({"text " + std::to_string(inputs.size() + 1), kHeader + one});
  }
  auto linked = link(inputs);
  EXPECT_TRUE(linked) << linked.error().message;
  if (!linked) return {};
  auto module = parse(linked->text, "t");
  EXPECT_TRUE(module) << module.error().message << "\n" << linked->text;
  return {std::move(*linked), module ? std::move(*module) : Module{}};
}

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const Variable& one : module.variables) names.push_back(one.name);
  for (const Function& one : module.functions) names.push_back(one.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(PtxLink, KeepsTheLocalNamesOfEachTextApart) {
  const Made made =
      link_items({".global .b8 $str[2] = {97, 0};\n.visible .entry a() { .reg .b64 %r; mov.u64 %r, "
                  "$str; ret; }",
                  ".global .b8 $str[2] = {98, 0};\n.visible .entry b() { .reg .b64 %r; mov.u64 %r, "
                  "$str; ret; }"});
  EXPECT_EQ(names_of(made.module), (Names{"$str", "$str$2", "a", "b"}));
  EXPECT_EQ(made.module.find("a")->body.at(0).text(), "mov.u64 %r, $str");
  EXPECT_EQ(made.module.find("b")->body.at(0).text(), "mov.u64 %r, $str$2");
  EXPECT_TRUE(made.linked.warnings.empty());
}

TEST(PtxLink, RenamesALocalFunctionThatAnotherTextShares) {
  const Made made = link_items(
      {".func f() { ret; }\n.visible .entry k() { call f; ret; }", ".visible .func f() { trap; }"});
  EXPECT_EQ(names_of(made.module), (Names{"f$1", "k", "f"}));
  EXPECT_EQ(made.module.find("k")->body.at(0).text(), "call f$1");
}

TEST(PtxLink, KeepsOneOfSeveralWeakDefinitions) {
  const Made made = link_items({".weak .func f() { ret; }\n.weak .global .b32 v = 1;",
                                ".weak .func f() { trap; }\n.weak .global .b32 v = 2;"});
  EXPECT_EQ(names_of(made.module), (Names{"v", "f"}));
  EXPECT_EQ(made.module.find("f")->body.at(0).text(), "ret");
  EXPECT_EQ(made.module.variables.at(0).init.at(0), std::byte{1});
  EXPECT_TRUE(made.linked.warnings.empty());
}

TEST(PtxLink, PrefersADefinitionThatIsNotWeak) {
  const Made made = link_items({".weak .func f() { ret; }", ".visible .func f() { trap; }"});
  EXPECT_EQ(made.module.find("f")->body.at(0).text(), "trap");
}

TEST(PtxLink, RenamesTheVariablesOfARange) {
  const std::string text =
      ".global .b32 a<3>[2];\n.visible .entry NAME() { .reg .b64 %r; mov.u64 %r, a1; ret; }";
  const auto named = [&](const char* name) {
    std::string made = text;
    return made.replace(made.find("NAME"), 4, name);
  };
  const Made made = link_items({named("j"), named("k")});
  EXPECT_EQ(names_of(made.module), (Names{"a0", "a1", "a2", "a0$2", "a1$2", "a2$2", "j", "k"}));
  for (const Variable& one : made.module.variables) EXPECT_EQ(one.bytes, 8u) << one.name;
  EXPECT_EQ(made.module.find("k")->body.at(0).text(), "mov.u64 %r, a1$2");
}

TEST(PtxLink, KeepsTheVariablesOfARangeThatHaveNotLost) {
  const Made made = link_items({".weak .global .b32 a1;",
                                ".weak .global .b32 a<3>, b;\n"
                                ".visible .entry k() { .reg .b64 %r; "
                                "mov.u64 %r, a1; ret; }"});
  EXPECT_EQ(names_of(made.module), (Names{"a1", "a0", "a1$2", "a2", "b", "k"}));
  EXPECT_EQ(made.module.find("k")->body.at(0).text(), "mov.u64 %r, a1");
}

TEST(PtxLink, RenamesRegistersOfARangeWithTheNamesOfVariables) {
  const Made made =
      link_items({".global .b32 a0;",
                  ".global .b32 a0;\n.visible .entry k() { .reg .b32 a<2>; mov.u32 a0, 1; "
                  "mov.u32 a1, a0; ret; }"});
  EXPECT_EQ(made.module.find("k")->body.at(1).text(), "mov.u32 a1, a0$2");
}

TEST(PtxLink, KeepsTheOtherVariablesOfAStatement) {
  const Made made = link_items({".weak .global .b32 a = 1;",
                                ".weak .global .b32 a = 2, b = 3;\n.visible .entry k() { .reg .b64 "
                                "%r; mov.u64 %r, a; mov.u64 %r, b; ret; }",
                                ".weak .global .b32 a = 4, b = 5;"});
  EXPECT_EQ(names_of(made.module), (Names{"a", "a$2", "b", "k"}));
  EXPECT_EQ(made.module.variables.at(0).init.at(0), std::byte{1});
  EXPECT_EQ(made.module.variables.at(2).init.at(0), std::byte{3});
  EXPECT_EQ(made.module.find("k")->body.at(0).text(), "mov.u64 %r, a");
}

TEST(PtxLink, TellsOfTwoDefinitionsAndTakesTheFirst) {
  const Made made = link_items({".visible .func f() { ret; }", ".visible .func f() { trap; }"});
  EXPECT_EQ(made.module.find("f")->body.at(0).text(), "ret");
  EXPECT_EQ(made.linked.conflicts,
            (Names{"'f' is defined in 'text 1' and again in 'text 2'; define it once"}));
}

TEST(PtxLink, TellsOfVariablesThatAreDeclaredOtherwiseThanDefined) {
  const Made sizes = link_items({".extern .global .b64 v;", ".visible .global .b32 v;"});
  EXPECT_EQ(sizes.linked.conflicts,
            (Names{"'v' has 8 bytes in 'text 1' and 4 in 'text 2', where it is defined; "
                   "declare it as it is defined"}));
  const Made spaces = link_items({".visible .global .b32 v;", ".weak .const .b32 v;"});
  EXPECT_EQ(spaces.linked.conflicts,
            (Names{"'v' is in another memory in 'text 2' than in 'text 1', where it is defined; "
                   "declare it as it is defined"}));
  const Made twice = link_items({".visible .global .b32 v;", ".visible .global .b64 v;"});
  EXPECT_EQ(twice.linked.conflicts.size(), 1u) << "a second definition is a conflict";
  const Made unsized = link_items({".extern .global .b32 v[];", ".visible .global .b32 v[4];"});
  EXPECT_TRUE(unsized.linked.conflicts.empty());
}

TEST(PtxLink, CallsAFunctionThatIsDeclaredOtherwiseThroughAnotherOne) {
  const Made made =
      link_items({".extern .func (.param .b32 r) f(.param .b64 a);\n"
                  ".visible .entry k() { .param .b32 y; .param .b64 x; call (y), f, (x); ret; }",
                  ".visible .func f(.param .b64 a) { ret; }"});
  EXPECT_EQ(names_of(made.module), (Names{"f$1", "k", "f"}));
  EXPECT_EQ(made.module.find("k")->body.at(0).text(), "call (y), f$1, (x)");
  const Function& between = *made.module.find("f$1");
  ASSERT_EQ(between.body.size(), 4u);
  EXPECT_EQ(between.body[2].text(), "call f, (passed_0)");
  ASSERT_EQ(made.linked.warnings.size(), 1u);
  EXPECT_EQ(made.linked.warnings[0],
            "the prototype of 'f' in 'text 1' differs from its definition in 'text 2' (1 parameter "
            "and 1 result beside 1 parameter and 0 results); what the caller misses is undefined: "
            "declare it as it is defined");
}

TEST(PtxLink, RefusesANameThatIsAFunctionAndAVariable) {
  const auto linked = link({{"a.ptx", std::string(kHeader) + ".visible .func f() { ret; }"},
                            {"b.ptx", std::string(kHeader) + ".extern .global .b32 f;"}});
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().message,
            "'f' is a function in 'a.ptx' and a variable in 'b.ptx'; name one of them otherwise");
}

TEST(PtxLink, KeepsTheSourceFilesOfEachTextApart) {
  const Made made =
      link_items({".file 1 \"a.cu\"\n.file 2 \"a.h\"\n.visible .entry a() {\n.loc 1 7 1\n ret; }",
                  ".file 1 \"b.cu\"\n.file 2 \"b.h\"\n.visible .entry b() {\n"
                  ".loc 1 8 1, function_name $L, inlined_at 2 9 1\n ret; }"});
  const auto file_of = [&](const char* name) {
    return made.module.files.at(made.module.find(name)->body.at(0).source.file);
  };
  EXPECT_EQ(file_of("a"), "a.cu");
  EXPECT_EQ(file_of("b"), "b.cu");
  ASSERT_EQ(made.module.sites.size(), 1u);
  EXPECT_EQ(made.module.files.at(made.module.sites[0].file), "b.h");
}

TEST(PtxLink, TakesTheNewestVersionAndTarget) {
  const auto linked =
      link({{"a", ".version 7.0\n.target sm_80, debug\n.visible .func f() { ret; }"},
            {"b", ".version 8.3\n.target sm_70\n.visible .func g() { ret; }"}});
  ASSERT_TRUE(linked);
  EXPECT_TRUE(linked->text.starts_with(".version 8.3\n.target sm_80, debug\n.address_size 64\n"))
      << linked->text;
  EXPECT_EQ(linked->text.find(".version", 1), std::string::npos);
}

TEST(PtxLink, RefusesTextsThatDoNotEnd) {
  for (const char* text : {".func f() {", ".func f(", ".global .b32 v = {", ".section .a {",
                           ".func \"", ".global .b32 v = mask(((("}) {
    EXPECT_FALSE(link({{"a", kHeader + std::string(text)}, {"b", kHeader}})) << text;
  }
}

}  // namespace
}  // namespace gpuemu::ptx
