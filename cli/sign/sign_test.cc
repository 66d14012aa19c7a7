#include "cli/sign/sign.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/base/files.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

const std::string kPage = "<html><body><p>all good</p>\n</body></html>\n";

class SignTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "gpuemu-sign-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string signed_page(const std::string& keys = "keys") {
    auto key = SigningKey::load_or_create(folder_ / keys);
    EXPECT_TRUE(key) << key.error().message;
    auto page = key->sign(kPage);
    EXPECT_TRUE(page);
    return *page;
  }
  SignatureCheck check(const std::string& page, const std::string& keys = "keys") {
    auto checked = verify_page(page, folder_ / keys / "sign-ed25519.pub");
    EXPECT_TRUE(checked) << checked.error().message;
    return *checked;
  }
  fs::path folder_;
};

TEST_F(SignTest, AcceptsWhatItSignedWithTheSameKeyEveryTime) {
  const std::string page = signed_page();
  EXPECT_TRUE(check(page).valid) << check(page).why;
  EXPECT_EQ(signed_page(), page) << "the key is kept, and Ed25519 is deterministic";
  struct stat info{};
  ASSERT_EQ(::stat((folder_ / "keys/sign-ed25519.sec").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(SignTest, RefusesAChangeOfOneByteAnywhere) {
  const std::string page = signed_page();
  for (size_t at = 0; at < page.size(); at += 23) {  // Reading the key takes a while.
    std::string changed = page;
    changed[at] = changed[at] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(check(changed).valid) << "at " << at;
  }
}

TEST_F(SignTest, RefusesTruncationsAndWhatIsAdded) {
  const std::string page = signed_page();
  for (size_t length = 0; length < page.size(); length += 37) {
    EXPECT_FALSE(check(page.substr(0, length)).valid) << "cut at " << length;
  }
  EXPECT_FALSE(check(page + " ").valid);
  EXPECT_FALSE(check(" " + page).valid);
  EXPECT_EQ(check(kPage).why, "it has no signature");
}

TEST_F(SignTest, TellsAnotherKeyFromAChangedText) {
  const std::string page = signed_page();
  signed_page("others");
  EXPECT_NE(check(page, "others").why.find("another key"), std::string::npos);
}

TEST_F(SignTest, RefusesFilesThatAreNoKeys) {
  const std::string page = signed_page();
  ASSERT_TRUE(write_file(folder_ / "keys/sign-ed25519.sec", "no key"));
  EXPECT_EQ(SigningKey::load_or_create(folder_ / "keys").error().code, ErrorCode::Corruption);
  ASSERT_TRUE(write_file(folder_ / "keys/sign-ed25519.pub", "no key"));
  EXPECT_FALSE(verify_page(page, folder_ / "keys/sign-ed25519.pub"));
  fs::remove(folder_ / "keys/sign-ed25519.sec");
  EXPECT_FALSE(SigningKey::load_or_create(folder_ / "keys")) << "half a pair";
}

}  // namespace
}  // namespace gpuemu::cli
