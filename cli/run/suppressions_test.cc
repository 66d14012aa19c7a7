#include "cli/run/suppressions.h"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/files.h"

namespace gpuemu::cli {
namespace {

Result<std::vector<Suppression>> read(const std::string& text) {
  // Tests run side by side, in processes of their own.
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) /
                                     fmt::format("gpuemu-suppressions-{}.toml", ::getpid());
  EXPECT_TRUE(write_file(path, text));
  auto entries = read_suppressions(path.string());
  std::filesystem::remove(path);
  return entries;
}

RunFinding outside() {
  RunFinding one;
  one.kind = "OutOfBounds";
  one.kernel = "add<float>";
  one.ptx_kernel = "_Z3addIfE";
  one.file = "/src/scale.cu";
  one.line = 7;
  return one;
}

TEST(Suppressions, PatternsHaveToFitAll) {
  auto entries = read(
      "[[suppress]]\nkind = \"Out*\"\nfile = \"scale.cu\"\nline = 7\nreason = \"known\"\n"
      "[[suppress]]\nkernel = \"sub*\"\nreason = \"other\"\n");
  ASSERT_TRUE(entries) << entries.error().message;
  std::vector<RunFinding> findings{outside(), outside()};
  findings[1].line = 8;
  suppress(findings, *entries);
  EXPECT_TRUE(findings[0].suppressed);
  EXPECT_FALSE(findings[1].suppressed);
  EXPECT_EQ((*entries)[0].matched, 1u);
  EXPECT_EQ((*entries)[1].matched, 0u);
}

TEST(Suppressions, AnEntryNeedsAReasonAPatternAndKnownKeys) {
  EXPECT_FALSE(read("[[suppress]]\nkind = \"Out*\"\n"));
  EXPECT_FALSE(read("[[suppress]]\nreason = \"why\"\n"));
  EXPECT_FALSE(read("[[suppress]]\nkin = \"Out*\"\nreason = \"why\"\n"));
  EXPECT_FALSE(read("[[suppressed]]\nkind = \"Out*\"\nreason = \"why\"\n"));
}

TEST(Suppressions, ATemplateWithReasonsMatchesItsFindings) {
  std::string text = suppression_template({outside()});
  for (size_t at = text.find("\"\""); at != text.npos; at = text.find("\"\"", at + 1)) {
    text.insert(at + 1, "known");
  }
  auto entries = read(text);
  ASSERT_TRUE(entries) << entries.error().message;
  std::vector<RunFinding> findings{outside()};
  suppress(findings, *entries);
  EXPECT_TRUE(findings[0].suppressed);
}

}  // namespace
}  // namespace gpuemu::cli
