// Names of kernels, as users, PTX and the demangler spell them.
#include "runtime/compile/source_text/entry_names.h"

#include <gtest/gtest.h>

namespace gpuemu::compile {
namespace {

TEST(PtxEntries, AreListedInOrderWithoutComments) {
  EXPECT_EQ(ptx_entries(".visible .entry b(\n)\n// .entry no(\n.entry a()\n.weak .entry\n_Z1cv()"),
            (std::vector<std::string>{"b", "a", "_Z1cv"}));
  EXPECT_TRUE(ptx_entries(".entry").empty());
}

TEST(PlainName, IsWhatTheUserWrites) {
  struct Case {
    const char *entry, *name;
  };
  const Case cases[] = {{"scale", "scale"},
                        {"_Z5plainPf", "plain"},
                        {"_Z5scaleIfLi4EEvPT_if", "scale<float,4>"},
                        {"_Z5scaleI6__halfLi3EEvPT_if", "scale<__half,3>"},
                        {"_ZN2ns5scaleIhEEvPT_", "ns::scale<unsigned char>"},
                        {"_ZN12_GLOBAL__N_11kEv", "(anonymous namespace)::k"},
                        {"_Z3mapIXadL_ZN3actL4reluEfEEfEvPKT0_PS1_", "map<&act::relu, float>"},
                        {"_Z3mapIXadL_ZN3act4reluEfEEfEvPKT0_", "map<act::relu, float>"},
                        {"_Z3mapIXadL_ZN15_INTERNAL_1f_cu4reluEfEEfEvPKT0_", "map<relu, float>"},
                        {"_Znot_mangled", "_Znot_mangled"}};
  for (const Case& c : cases) EXPECT_EQ(plain_name(c.entry), normalised(c.name)) << c.entry;
}

TEST(ParameterTypes, AreThoseOfTheMangledName) {
  EXPECT_EQ(parameter_types("_Z6gatherPKfPKiPfii"),
            (std::vector<std::string>{"float const*", "int const*", "float*", "int", "int"}));
  EXPECT_EQ(parameter_types("_Z5scaleIfEvPT_i"), (std::vector<std::string>{"float*", "int"}));
  EXPECT_TRUE(parameter_types("_Z4nonev").empty());
  EXPECT_TRUE(parameter_types("scale").empty());
}

TEST(Normalised, SpellsTypesAsTheDemanglerDoes) {
  EXPECT_EQ(normalised("k< int32_t , 256u >"), "k<int,256>");
  EXPECT_EQ(normalised("k<uint8_t>"), "k<unsigned char>");
  EXPECT_EQ(normalised("k<unsigned>"), "k<unsigned int>");
  EXPECT_EQ(normalised("k<unsigned char>"), "k<unsigned char>");
  EXPECT_EQ(normalised("::ns::k<half>"), "ns::k<__half>");
}

constexpr const char* kPtx =
    ".entry _Z5scaleIfEvPT_() .entry _Z5plainPf() .entry c_name() .entry _ZN2ns1kEv()";

TEST(ResolveEntries, FindsMangledTemplatedAndPlainNames) {
  auto found = resolve_entries({"scale<float>", "plain", "c_name", "k", "ns::k", "_Z5plainPf"},
                               kPtx, "", {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->at("scale<float>"), "_Z5scaleIfEvPT_");
  EXPECT_EQ(found->at("plain"), "_Z5plainPf");
  EXPECT_EQ(found->at("k"), "_ZN2ns1kEv");
  EXPECT_EQ(found->at("ns::k"), "_ZN2ns1kEv");
}

TEST(ResolveEntries, ListsWhatThereIsAndTheTemplatesOfTheSource) {
  const auto missing = resolve_entries(
      {"nope"}, kPtx, "template <class T> __global__ void __launch_bounds__(64) more(T*);", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_EQ(missing.error().message,
            "no entry 'nope'; the source has: scale<float>, plain, c_name, ns::k, more<...>");
}

TEST(ResolveEntries, ListsTheNearestOfMany) {
  std::string ptx;
  for (int i = 10; i < 90; ++i) {
    ptx += ".entry _Z6kernelILi" + std::to_string(i) + "EEvPf() ";
    ptx += ".entry other_" + std::to_string(i) + "() ";
  }
  const auto missing = resolve_entries({"kernal<47, 3>"}, ptx, "", {});
  ASSERT_FALSE(missing);
  const std::string& message = missing.error().message;
  EXPECT_NE(message.find("kernel<47>"), std::string::npos) << message;
  EXPECT_EQ(message.find("other_"), std::string::npos) << message;
  EXPECT_TRUE(message.ends_with(" and 152 more")) << message;
}

TEST(ResolveEntries, KnowsEnumeratorsOfTheSource) {
  const char* source =
      "enum class Op : int { Add, Mul = 4, Max, };\nenum Mode { kFast };\nenum class Odd { A = 1 + "
      "1 };";
  // k<(Op)0, float>, k<(Op)5, float>, m<(Mode)0>, m<(Mode)1>
  const char* ptx =
      ".entry _Z1kIL2Op0EfEvv() .entry _Z1kIL2Op5EfEvv() .entry _Z1mIL4Mode0EEvv() "
      ".entry _Z1mIL4Mode1EEvv()";
  const auto found =
      resolve_entries({"k<Op::Add, float>", "k<Op::Max, float>", "m<kFast>"}, ptx, source, {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->at("k<Op::Add, float>"), "_Z1kIL2Op0EfEvv");
  EXPECT_EQ(found->at("k<Op::Max, float>"), "_Z1kIL2Op5EfEvv");
  EXPECT_EQ(found->at("m<kFast>"), "_Z1mIL4Mode0EEvv");
  EXPECT_FALSE(resolve_entries({"k<Op::Mul, float>"}, ptx, source, {}));
  EXPECT_FALSE(resolve_entries({"k<Odd::A, float>"}, ptx, source, {}));
}

TEST(ResolveEntries, RefusesAnAmbiguousName) {
  const auto two = resolve_entries({"k"}, ".entry _Z1kPf() .entry _Z1kPi()", "", {});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code, ErrorCode::InvalidArgument);
}

TEST(ResolveEntries, BelievesTheCompilerFirst) {
  EXPECT_EQ(resolve_entries({"k<T>"}, kPtx, "", {{"k<T>", "_Z1x"}})->at("k<T>"), "_Z1x");
}

}  // namespace
}  // namespace gpuemu::compile
