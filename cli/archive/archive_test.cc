#include "cli/archive/archive.h"

#include <gtest/gtest.h>

#include "cli/archive/gzip.h"

namespace gpuemu::cli {
namespace {

RunArchive a_run() {
  RunArchive archive;
  archive.version = "1.0.0";
  archive.config = "gpuemu.toml";
  archive.files = {{"gpuemu.toml", "[project]\n"}, {"kernels/a.cu", std::string("\0\xff", 2)}};
  archive.run.failed = 1;
  archive.run.validation_results = {
      ValidationResult{.passed = false, .seed = 7, .op_name = "gelu"}};
  ReproduceResultReply one;
  one.result = archive.run.validation_results.front();
  one.inputs["x"] = Tensor{DType::Float32, {1}, std::vector<std::byte>(4)};
  archive.cases = {one};
  archive.page = "<!DOCTYPE html>\n";
  archive.left_out = {"/elsewhere/ref.py"};
  return archive;
}

TEST(Archive, HoldsWhatWasPacked) {
  const auto packed = pack_archive(a_run());
  ASSERT_TRUE(packed) << packed.error().message;
  const auto archive = unpack_archive(*packed);
  ASSERT_TRUE(archive) << archive.error().message;
  EXPECT_EQ(archive->files, a_run().files);
  EXPECT_EQ(archive->run.validation_results.front().seed, 7U);
  EXPECT_EQ(archive->cases.front().inputs, a_run().cases.front().inputs);
  EXPECT_EQ(archive->page, a_run().page);
  EXPECT_EQ(archive->left_out, a_run().left_out);
}

TEST(Archive, RefusesEveryTruncationAndEveryChangedByte) {
  const std::string packed = *pack_archive(a_run());
  for (size_t length = 0; length < packed.size(); ++length) {
    EXPECT_FALSE(unpack_archive(std::string_view(packed).substr(0, length))) << "cut at " << length;
  }
  EXPECT_FALSE(unpack_archive(packed + "x"));
  // The first ten bytes are gzip's frame, of which time and system mean nothing here.
  for (size_t at = 10; at < packed.size(); ++at) {
    std::string changed = packed;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(unpack_archive(changed)) << "changed at " << at;
  }
}

TEST(Archive, RefusesPathsThatLeadElsewhere) {
  for (const char* path : {"../a", "/etc/a", "a/../../b", "a//b", "a/", "", ".git/hooks/x", "a\\b",
                           "a/.hidden", "a\nb"}) {
    EXPECT_FALSE(is_harmless_path(path)) << path;
    RunArchive archive = a_run();
    archive.files[path] = "";
    EXPECT_FALSE(unpack_archive(*pack_archive(archive))) << path;
  }
  EXPECT_TRUE(is_harmless_path("kernels/b.v2/a b.cu"));
}

TEST(Archive, RefusesAFileThatIsTheFolderOfAnother) {
  RunArchive archive = a_run();
  archive.files["kernels"] = "";
  EXPECT_FALSE(unpack_archive(*pack_archive(archive)));
}

TEST(Archive, RefusesWhatNobodyWrote) {
  for (const char* text : {"", "[]", "{}", "{\"gpuemu_archive\":2}", "{\"gpuemu_archive\":1}",
                           "{\"gpuemu_archive\":1,\"config\":\"a\",\"files\":{\"a\":\"\"},"
                           "\"run\":{},\"cases\":[]}"}) {
    EXPECT_FALSE(unpack_archive(*gzip(text))) << text;
  }
  const std::string deep = "{\"gpuemu_archive\":1,\"run\":" + std::string(1'000'000, '[');
  EXPECT_FALSE(unpack_archive(*gzip(deep)));
}

TEST(Gzip, StopsWhereATextGrowsTooLarge) {
  const std::string packed = *gzip(std::string(size_t{4} << 20, 'a'));
  EXPECT_LT(packed.size(), size_t{8} << 10);
  const auto text = gunzip(packed, size_t{1} << 20);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::ResourceExhausted);
  EXPECT_TRUE(gunzip(packed, size_t{4} << 20));
}

}  // namespace
}  // namespace gpuemu::cli
