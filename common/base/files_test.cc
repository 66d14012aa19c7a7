// Tests write_file on regular files and on others, such as pipes and links.
#include "common/base/files.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/unique_fd.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (fs::temp_directory_path() / "gpuemu_files_XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string content(const fs::path& path) {
    const auto text = read_file(path, 1 << 20);
    return text ? *text : text.error().message;
  }
  /// Returns the names in the folder, including temporary files that were left behind.
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      all.push_back(entry.path().filename());
    }
    std::ranges::sort(all);
    return all;
  }
  mode_t mode(const fs::path& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  fs::path folder_;
};

TEST_F(Files, ReplaceAndReadBack) {
  const fs::path path = folder_ / "file";
  EXPECT_EQ(read_file(path, 2).error().code, ErrorCode::NotFound);
  ASSERT_TRUE(write_file(path, "one"));
  ASSERT_TRUE(write_file(path, "two"));
  EXPECT_EQ(content(path), "two");
  EXPECT_EQ(read_file(path, 2).error().code, ErrorCode::ResourceExhausted);
  EXPECT_EQ(names(), std::vector<std::string>{"file"});
}

TEST_F(Files, AReplacedFileKeepsItsPermissions) {
  const fs::path path = folder_ / "script";
  ASSERT_TRUE(write_file(path, "one"));
  ASSERT_EQ(::chmod(path.c_str(), 0751), 0);
  ASSERT_TRUE(write_file(path, "two"));
  EXPECT_EQ(mode(path), 0751u);
  EXPECT_EQ(content(path), "two");
}

TEST_F(Files, ALinkStaysALinkAndItsTargetIsWritten) {
  fs::create_directory(folder_ / "real");
  ASSERT_TRUE(write_file(folder_ / "real/results.xml", "old"));
  fs::create_symlink("real/results.xml", folder_ / "one");
  fs::create_symlink("one", folder_ / "two");
  ASSERT_TRUE(write_file(folder_ / "two", "new"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "two"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "one"));
  EXPECT_EQ(content(folder_ / "real/results.xml"), "new");
}

TEST_F(Files, ALinkToNothingMakesItsTarget) {
  fs::create_symlink("later", folder_ / "link");
  ASSERT_TRUE(write_file(folder_ / "link", "new"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(folder_ / "later"), "new");
}

TEST_F(Files, ALinkToItselfIsAnError) {
  fs::create_symlink("ring", folder_ / "ring");
  EXPECT_FALSE(write_file(folder_ / "ring", "new"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "ring"));
}

TEST_F(Files, APipeIsWrittenIntoAndStaysAPipe) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  auto reader = std::async(std::launch::async, [&] { return content(path); });
  ASSERT_TRUE(write_file(path, "report"));
  EXPECT_EQ(reader.get(), "report");
  EXPECT_EQ(fs::status(path).type(), fs::file_type::fifo);
  EXPECT_EQ(names(), std::vector<std::string>{"pipe"});
}

TEST_F(Files, ALinkToAnOwnDescriptorWritesWhereItStands) {
  const fs::path path = folder_ / "log";
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(file.get(), "before ", 7), 7);
  fs::create_symlink("/proc/self/fd/" + std::to_string(file.get()), folder_ / "out");
  EXPECT_TRUE(can_write_file(folder_ / "out"));
  ASSERT_TRUE(write_file(folder_ / "out", "report"));
  ASSERT_EQ(::write(file.get(), " after", 6), 6);
  EXPECT_TRUE(fs::is_symlink(folder_ / "out"));
  EXPECT_EQ(content(path), "before report after");
}

TEST_F(Files, AnOwnDescriptorMayBeAPipe) {
  int ends[2] = {};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd from(ends[0]), to(ends[1]);
  ASSERT_TRUE(write_file("/proc/self/fd/" + std::to_string(to.get()), "report"));
  char text[16] = {};
  EXPECT_EQ(::read(from.get(), text, sizeof text), 6);
  EXPECT_STREQ(text, "report");
}

TEST_F(Files, AFolderIsRefusedAndNothingIsLeftBehind) {
  fs::create_directory(folder_ / "place");
  const Status written = write_file(folder_ / "place", "text");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("place"), std::string::npos);
  EXPECT_EQ(names(), std::vector<std::string>{"place"});
}

TEST_F(Files, ThreadsThatWriteOnePathNeverMixTheirTexts) {
  const fs::path path = folder_ / "file";
  const auto write_often = [&](char letter) {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(write_file(path, std::string(100'000, letter)));
  };
  {
    std::jthread one([&] { write_often('a'); });
    std::jthread two([&] { write_often('b'); });
    for (int i = 0; i < 200; ++i) {
      const std::string text = content(path);
      if (text.size() != 100'000) continue;  // Not written yet.
      EXPECT_EQ(text.find_first_not_of(text.front()), std::string::npos);
    }
  }
  EXPECT_EQ(names(), std::vector<std::string>{"file"});
  EXPECT_EQ(content(path).size(), 100'000u);
}

TEST_F(Files, SaysBeforeWhetherItCanBeWritten) {
  EXPECT_TRUE(can_write_file(folder_ / "new"));
  EXPECT_FALSE(can_write_file(folder_ / "no/such/folder"));
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(can_write_file(folder_ / "pipe"));
}

}  // namespace
}  // namespace gpuemu
