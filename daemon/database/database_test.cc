// Tests conditional writes, and reading around damage.
#include "daemon/database/database.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "daemon/database/salvage.h"

namespace gpuemu::storage {
namespace {

namespace fs = std::filesystem;

class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/gpuemu_database_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern), nullptr);
    root_ = pattern;
    open();
  }
  void TearDown() override {
    database_.reset();
    fs::remove_all(root_);
  }
  void open() {
    database_.reset();
    auto opened = Database::open(root_ / "db");
    ASSERT_TRUE(opened) << opened.error().message;
    database_ = *std::move(opened);
  }
  Status put(const std::string& key, const std::string& value) {
    rocksdb::WriteBatch batch;
    database_->put(batch, Family::Corpus, key, value);
    return database_->write(batch);
  }
  std::string value_of(const std::string& key) {
    const auto value = database_->get(Family::Corpus, key);
    EXPECT_TRUE(value);
    return value && *value ? **value : "";
  }
  /// Returns the counts of the ledger, which is written when the database is closed.
  uint64_t counted() {
    database_.reset();
    const auto ledger = read_ledger(root_ / "db");
    EXPECT_TRUE(ledger && *ledger);
    return ledger && *ledger ? (*ledger)->records[static_cast<size_t>(Family::Corpus)] : 0;
  }

  fs::path root_;
  std::unique_ptr<Database> database_;
};

TEST_F(DatabaseTest, KeepsWritingWhileLogsEnd) {
  std::atomic<bool> ended = false;
  std::vector<std::string> problems(4);
  std::atomic<int> written = 0;
  std::vector<std::thread> writers;
  for (size_t i = 0; i < problems.size(); ++i) {
    writers.emplace_back([&, i] {
      for (int n = 0; !ended && problems[i].empty(); ++n) {
        const auto status = put(std::to_string(i), std::to_string(n));
        if (!status) problems[i] = status.error().message;
        ++written;
      }
    });
  }
  // Each ends a log and deletes it.
  for (int i = 0; i < 20; ++i) {
    const int before = written;
    EXPECT_TRUE(database_->compact());
    for (int waits = 0; written == before && waits < 1000; ++waits) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  ended = true;
  for (std::thread& writer : writers) writer.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
  EXPECT_GE(written, 20);
}

TEST_F(DatabaseTest, WritesNothingWhereTheConditionDoesNotHold) {
  ASSERT_TRUE(put("a", "1"));
  rocksdb::WriteBatch batch;
  database_->put(batch, Family::Corpus, "a", "2");
  database_->put(batch, Family::Corpus, "b", "2");
  const auto written = database_->write_if(batch, [] { return Result<bool>(false); });
  ASSERT_TRUE(written);
  EXPECT_FALSE(*written);
  EXPECT_EQ(value_of("a"), "1");
  EXPECT_EQ(value_of("b"), "");
  EXPECT_EQ(counted(), 1u);
}

TEST_F(DatabaseTest, WritesNothingWhereTheConditionCannotBeTold) {
  rocksdb::WriteBatch batch;
  database_->put(batch, Family::Corpus, "a", "2");
  const auto written =
      database_->write_if(batch, []() -> Result<bool> { return error(ErrorCode::Io, "unread"); });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "unread");
  EXPECT_EQ(value_of("a"), "");
}

TEST_F(DatabaseTest, CountsWhatIsErasedUnderACondition) {
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(put(key, "1"));
  rocksdb::WriteBatch batch;
  database_->erase(batch, Family::Corpus, "a");
  database_->erase(batch, Family::Corpus, "b");
  int asked = 0;
  const auto written = database_->write_if(batch, [&] { return Result<bool>(++asked > 0); });
  ASSERT_TRUE(written && *written);
  EXPECT_EQ(value_of("a"), "");
  EXPECT_EQ(counted(), 1u);
}

TEST_F(DatabaseTest, TheLastChangeOfAKeyInABatchCounts) {
  ASSERT_TRUE(put("a", "1"));
  ASSERT_TRUE(put("b", "1"));
  rocksdb::WriteBatch batch;
  // Keys that are not in order, changed several times, some of which are there already.
  for (int i = 60; i-- > 0;) database_->put(batch, Family::Corpus, "k" + std::to_string(i), "1");
  database_->erase(batch, Family::Corpus, "k7");
  database_->put(batch, Family::Corpus, "a", "2");
  database_->erase(batch, Family::Corpus, "b");
  database_->put(batch, Family::Corpus, "b", "3");
  database_->erase(batch, Family::Corpus, "never");
  database_->put(batch, Family::Corpus, "k9", "2");
  ASSERT_TRUE(database_->write(batch));
  EXPECT_EQ(value_of("b"), "3");
  EXPECT_EQ(value_of("k7"), "");
  EXPECT_EQ(counted(), 61u);
}

TEST_F(DatabaseTest, ARangeCountsBesideSingleKeysOfItsBatch) {
  for (const char* key : {"a1", "a2", "b1"}) ASSERT_TRUE(put(key, "1"));
  rocksdb::WriteBatch batch;
  database_->put(batch, Family::Corpus, "a3", "2");
  database_->erase_all(batch, Family::Corpus, "a");
  database_->put(batch, Family::Corpus, "a2", "2");
  database_->put(batch, Family::Corpus, "b1", "2");
  ASSERT_TRUE(database_->write(batch));
  EXPECT_EQ(value_of("a1"), "");
  EXPECT_EQ(value_of("a2"), "2");
  EXPECT_EQ(value_of("a3"), "");
  EXPECT_EQ(counted(), 2u);
}

TEST_F(DatabaseTest, NobodyWritesBetweenTheConditionAndTheBatch) {
  constexpr int kThreads = 4, kRounds = 50;
  ASSERT_TRUE(put("sum", "0"));
  std::atomic<int> successes{0};
  const auto add = [&] {
    for (int i = 0; i < kRounds; ++i) {
      const std::string before = value_of("sum");
      int number = 0;
      std::from_chars(before.data(), before.data() + before.size(), number);
      rocksdb::WriteBatch batch;
      database_->put(batch, Family::Corpus, "sum", std::to_string(number + 1));
      const auto written =
          database_->write_if(batch, [&] { return Result<bool>(value_of("sum") == before); });
      ASSERT_TRUE(written);
      if (*written) ++successes;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(add);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(successes.load(), 0);
  EXPECT_EQ(value_of("sum"), std::to_string(successes.load()));
}

std::string key_of(int number) { return fmt::format("p/000002:op:{:020}", number); }

/// Changes one byte in each of these places (parts of the file) of the largest table.
void damage_table(const fs::path& folder, const std::vector<double>& places) {
  fs::path table;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() != ".sst") continue;
    if (table.empty() || file.file_size() > fs::file_size(table)) table = file.path();
  }
  ASSERT_FALSE(table.empty());
  std::fstream file(table, std::ios::binary | std::ios::in | std::ios::out);
  for (const double place : places) {
    const auto at = static_cast<std::streamoff>(static_cast<double>(fs::file_size(table)) * place);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 0x55);
    file.seekp(at);
    file.put(byte);
  }
}

TEST_F(DatabaseTest, ReadsAllButTheDamagedBlocks) {
  constexpr int kRecords = 4000;
  rocksdb::WriteBatch batch;
  for (int i = 0; i < kRecords; ++i) {
    database_->put(batch, Family::Corpus, key_of(i), fmt::format("{:x<200}", i));
  }
  ASSERT_TRUE(database_->write(batch));
  open();  // The log becomes tables.
  database_.reset();
  damage_table(root_ / "db", {0.001, 0.3, 0.6, 0.7});
  const auto rocks = open_to_read(root_ / "db", Reading::Whatever);
  ASSERT_TRUE(rocks) << rocks.error().message;
  std::vector<std::string> read;
  const Salvaged found =
      read_all(*rocks->db, {}, rocks->handles[static_cast<size_t>(Family::Corpus)],
               [&](std::string_view key, std::string_view value) {
                 const auto number = static_cast<int>(std::stoi(std::string(value)));
                 EXPECT_EQ(key, key_of(number));
                 read.emplace_back(key);
               });
  EXPECT_TRUE(found.problem.IsCorruption()) << found.problem.ToString();
  EXPECT_TRUE(found.to_the_end);
  EXPECT_TRUE(std::ranges::is_sorted(read));
  EXPECT_EQ(std::ranges::adjacent_find(read), read.end());
  // A block has 4 KiB: about 20 of these records.
  EXPECT_LT(read.size(), size_t{kRecords});
  EXPECT_GE(read.size(), size_t{kRecords - 5 * 25});
  EXPECT_EQ(read.back(), key_of(kRecords - 1));
}

}  // namespace
}  // namespace gpuemu::storage
