// Tests every file of tests/golden/ptx, whose first line has the expected result.
#include <algorithm>
#include <filesystem>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "common/base/files.h"
#include "runtime/ptx/flow/cfg.h"
#include "runtime/ptx/parse.h"

namespace gpuemu::ptx {
namespace {

constexpr std::string_view kMark = "// expect: ";

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder =
      std::filesystem::path(GPUEMU_SOURCE_DIR) / "tests/golden/ptx";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string outcome(const Result<Module>& parsed) {
  if (!parsed) return parsed.error().message;
  size_t instructions = 0;
  size_t blocks = 0;
  for (const Function& function : parsed->functions) {
    instructions += function.body.size();
    blocks += analyse(function).blocks.size();
  }
  return fmt::format("functions {}, instructions {}, blocks {}, warnings {}",
                     parsed->functions.size(), instructions, blocks, parsed->warnings.size());
}

TEST(PtxGolden, EveryFileGivesWhatItsFirstLineSays) {
  size_t good = 0;
  size_t bad = 0;
  for (const auto& path : golden_files()) {
    const auto text = read_file(path, size_t{1} << 20);
    ASSERT_TRUE(text) << text.error().message;
    const std::string line = (*text).substr(0, (*text).find('\n'));
    ASSERT_TRUE(line.starts_with(kMark)) << path;
    const std::string name = path.filename();
    const bool is_bad = name.starts_with("bad_");
    const auto parsed = parse(*text, name);
    EXPECT_EQ(parsed.ok(), !is_bad) << name << ": " << outcome(parsed);
    const std::string expected = line.substr(kMark.size());
    const std::string wanted = is_bad ? name + ":" + expected : expected;
    EXPECT_TRUE(outcome(parsed).starts_with(wanted)) << name << ": " << outcome(parsed);
    ++(is_bad ? bad : good);
  }
  EXPECT_GE(good, 10u);
  EXPECT_GE(bad, 10u);
}

// Mutants are parsed, and analysed when they parse; what is tested is that nothing crashes and that
// each refusal names its place.
class Mutator {
 public:
  std::string mutate(std::string text) {
    const uint64_t edits = 1 + next() % 4;
    for (uint64_t i = 0; i < edits && !text.empty(); ++i) edit(text);
    return text;
  }

 private:
  // xorshift64*: the mutants are the same on every run and every machine.
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 2685821657736338717u;
  }

  void edit(std::string& text) {
    constexpr std::string_view kChars = "{}[]()<>,;:.@!|_-+%\"/*0a=\n\x01\xff";
    const size_t at = next() % text.size();
    const size_t length = std::min<size_t>(1 + next() % 40, text.size() - at);
    switch (next() % 5) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(next() % text.size(), length));
        break;
      case 3:
        text[at] = kChars[next() % kChars.size()];
        break;
      default:
        text.insert(at, 1, kChars[next() % kChars.size()]);
        break;
    }
  }

  uint64_t state_ = 88172645463325252u;
};

TEST(PtxGolden, MutatedTextIsParsedOrRefusedWithItsPlace) {
  constexpr int kMutantsPerFile = 150;
  Mutator mutator;
  size_t refused = 0;
  for (const auto& path : golden_files()) {
    const auto text = read_file(path, size_t{1} << 20);
    ASSERT_TRUE(text) << text.error().message;
    for (int i = 0; i < kMutantsPerFile; ++i) {
      const auto parsed = parse(mutator.mutate(*text), "m");
      outcome(parsed);
      if (parsed) continue;
      ++refused;
      EXPECT_EQ(parsed.error().code, ErrorCode::Compile);
      EXPECT_TRUE(parsed.error().message.starts_with("m:")) << parsed.error().message;
    }
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace gpuemu::ptx
