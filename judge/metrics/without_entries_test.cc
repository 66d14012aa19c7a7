#include "judge/metrics/without_entries.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

constexpr const char* kHead =
    ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 shared_by_all;\n";
constexpr const char* kFirst =
    ".visible .entry first(\n\t.param .u64 p\n)\n.maxntid 128, 1, 1\n{\n\t{ // a "
    "call\n\t}\n\tret;\n}\n";
constexpr const char* kSecond = ".entry second()\n{\n\tret;\n\n}\n";
constexpr const char* kTail = "\t.file\t1 \"k.cu\"\n";

std::string all() { return std::string(kHead) + kFirst + "// .entry told\n" + kSecond + kTail; }

TEST(WithoutEntries, DropsTheOthersFromTheirFirstLineToTheirLast) {
  EXPECT_EQ(without_entries(all(), {"first"}),
            std::string(kHead) + "// .entry told\n" + kSecond + kTail);
  EXPECT_EQ(without_entries(all(), {"second"}),
            std::string(kHead) + kFirst + "// .entry told\n" + kTail);
}

TEST(WithoutEntries, DropsBodiesWithBracesAtTheBeginningOfALine) {
  // As inline assembly of cuda_fp16.hpp has them.
  const std::string inner =
      ".entry inner()\n{\n{.reg.b32 p;\n  mov.b32 r, {hl, hu}; // }\n}\n{\n}\n\tret;\n}\n";
  EXPECT_EQ(without_entries(kHead + inner + kSecond, {"inner"}), std::string(kHead) + kSecond);
  EXPECT_EQ(without_entries(kHead + inner + kSecond, {"second"}), kHead + inner);
}

TEST(WithoutEntries, LeavesATextAsItIsThatHasNoneOfThem) {
  EXPECT_EQ(without_entries(all(), {"sec", "told", "p"}), all());
  EXPECT_EQ(without_entries("", {"first"}), "");
  EXPECT_EQ(without_entries("no line end", {"first"}), "no line end");
}

TEST(OnlyEntries, DropsAllOthers) {
  EXPECT_EQ(only_entries(all(), {"second"}), without_entries(all(), {"first"}));
  const std::string comment = "\t// .globl\tfirst\n";
  EXPECT_EQ(only_entries(comment + all(), {"second"}), comment + without_entries(all(), {"first"}));
  EXPECT_EQ(only_entries(all(), {"first", "second", "third"}), all());
}

TEST(OnlyEntries, LeavesATextAsItIsWhoseKernelsNameEachOther) {
  const std::string launches = ".entry child()\n{\n\tmov.u64 %rd1, first;\n}\n";
  EXPECT_EQ(only_entries(all() + launches, {"child"}), all() + launches);
  // A part of a longer name does not match.
  const std::string other = ".entry child()\n{\n\tcall first_of_all;\n}\n";
  EXPECT_EQ(only_entries(all() + other, {"child"}),
            without_entries(all(), {"first", "second"}) + other);
}

}  // namespace
}  // namespace gpuemu
