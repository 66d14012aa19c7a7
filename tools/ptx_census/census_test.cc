#include "tools/ptx_census/census.h"

#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/files.h"
#include "tools/ptx_census/coverage.h"
#include "tools/ptx_census/report.h"

namespace gpuemu::census {
namespace {

std::string kernel(const std::string& body, const std::string& version = "8.0") {
  return ".version " + version + "\n.target sm_80\n.address_size 64\n.entry k() {\n.reg .b32 r;\n" +
         body + "\nret;\n}\n";
}

TEST(Census, CountsSpellingsAndSaysWhereTheFirstMissingOneStands) {
  Census census;
  add_text(census, kernel("add.s32 r, r, 1;\nadd.s32 r, r, 2;\nfrob.x.b32 r, r;"), "a.ptx");
  add_text(census, kernel("frob.x.b32 r, r;\nadd.u32 r, r, 2;"), "b.ptx");
  EXPECT_EQ(census.files, 2u);
  EXPECT_EQ(census.instructions, 7u);
  EXPECT_EQ(census.families(), 3u);
  EXPECT_EQ(census.missing(), 1u);
  EXPECT_EQ(census.opcodes.at("add.s32").count, 2u);
  EXPECT_EQ(census.opcodes.at("add.s32").missing, 0u);
  const Opcode& frob = census.opcodes.at("frob.x.b32");
  EXPECT_EQ(frob.count, 2u);
  EXPECT_EQ(frob.files, 2u);
  EXPECT_EQ(frob.first_missing.file, "a.ptx");
  EXPECT_EQ(frob.first_missing.line, 8u);
  EXPECT_EQ(frob.first_missing.column, 1u);
  EXPECT_NE(to_text(census, true).find("missing: frob.x.b32 (2 of 2), first at a.ptx:8:1: frob.x"),
            std::string::npos)
      << to_text(census, true);
  EXPECT_NE(to_json(census).find("\"line\": 8"), std::string::npos);
}

TEST(Census, TextThatDoesNotParseIsIncomplete) {
  Census census;
  add_text(census, "hello", "c.ptx");
  EXPECT_FALSE(census.complete());
  ASSERT_EQ(census.refused.size(), 1u);
  EXPECT_TRUE(census.refused[0].starts_with("c.ptx:1:1: ")) << census.refused[0];
}

TEST(Census, KeepsTheWarningOfANewerVersion) {
  Census census;
  add_text(census, kernel("", "99.0"), "d.ptx");
  EXPECT_TRUE(census.complete());
  ASSERT_EQ(census.warnings.size(), 1u);
  EXPECT_NE(census.warnings[0].find("99.0"), std::string::npos);
}

TEST(Census, FindsTextsBelowFoldersAndRefusesPathsThatAreNotThere) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("gpuemu-census-{}", ::getpid());
  std::filesystem::create_directories(folder / "deeper");
  for (const char* name : {"b.ptx", "deeper/a.ptx", "c.txt"}) std::ofstream(folder / name) << "x";
  const auto found = find_texts({folder, folder / "c.txt"});
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (std::vector<std::filesystem::path>{folder / "b.ptx", folder / "deeper/a.ptx",
                                                        folder / "c.txt"}));
  EXPECT_EQ(find_texts({folder / "nowhere"}).error().code, ErrorCode::NotFound);
  std::filesystem::remove_all(folder);
}

TEST(Coverage, ThePageOfTheDocumentationIsUpToDate) {
  const auto page = read_file(
      std::filesystem::path(GPUEMU_SOURCE_DIR) / "docs/reference/ptx-coverage.md", size_t{1} << 24);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_TRUE(*page == coverage_page())
      << "run gpuemu-ptx-census --coverage >docs/reference/ptx-coverage.md and look at what has "
         "changed";
}

TEST(Coverage, ThePageHasWhatIsExecutedAndWhatIsRefused) {
  const std::string page = coverage_page();
  EXPECT_NE(page.find("| `bfi` |"), std::string::npos);
  EXPECT_NE(page.find("| `redux` | `sync add\\|min\\|max u32\\|s32` | |"), std::string::npos);
  EXPECT_EQ(page.find("| `suq` |"), std::string::npos);
  EXPECT_NE(page.find(" `suq`"), std::string::npos);
}

}  // namespace
}  // namespace gpuemu::census
