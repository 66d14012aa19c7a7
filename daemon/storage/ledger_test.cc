// Tests that the ledger counts what is stored and detects any changed byte of the database.
#include "daemon/database/ledger.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "daemon/database/rocks.h"
#include "daemon/storage/open_for_test.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

ValidationResult result_of(const std::string& op, uint64_t seed) {
  ValidationResult result;
  result.op_name = op;
  result.seed = seed;
  result.max_diff = static_cast<double>(seed);
  result.timestamp = 1'700'000'000;
  return result;
}

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put_content(const fs::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

class LedgerTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/gpuemu_ledger_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern), nullptr);
    root_ = pattern;
    folder_ = root_ / "db";
  }
  void TearDown() override { fs::remove_all(root_); }

  std::shared_ptr<Store> open(const fs::path& folder) {
    auto store = open_store(folder);
    if (!store) ADD_FAILURE() << store.error().message;
    return store ? *std::move(store) : nullptr;
  }
  /// Fails `rounds` times `per_round` cases, the first of them in tables and the rest in a log.
  void fill(uint64_t rounds, uint64_t per_round) {
    for (uint64_t round = 0; round < rounds; ++round) {
      auto store = open(folder_);
      for (uint64_t i = 0; i < per_round; ++i) {
        ASSERT_TRUE(store->put_result(result_of("op", round * per_round + i), true));
      }
    }
  }
  /// The ledger's counts are those of the database; with the file names they are kept under.
  void expect_counted() {
    const auto ledger = storage::read_ledger(folder_);
    ASSERT_TRUE(ledger && *ledger);
    const auto rocks = storage::open_to_read(folder_, storage::Reading::Strict);
    ASSERT_TRUE(rocks) << rocks.error().message;
    EXPECT_EQ((*ledger)->records, storage::count_records(*rocks, nullptr));
    EXPECT_EQ((*ledger)->sequence, rocks->db->GetLatestSequenceNumber());
    EXPECT_FALSE((*ledger)->opening);
    EXPECT_FALSE((*ledger)->shrinking);
  }

  fs::path root_, folder_;
};

TEST_F(LedgerTest, CountsWhatIsStored) {
  std::mt19937 random(7);
  for (int round = 0; round < 6; ++round) {
    {
      auto store = open(folder_);
      ASSERT_NE(store, nullptr);
      for (int step = 0; step < 30; ++step) {
        const std::string name(1, static_cast<char>('a' + random() % 4));
        const uint64_t seed = random() % 12;
        switch (random() % 9) {
          case 0:
            ASSERT_TRUE(store->delete_failures(seed, name));
            break;
          case 1:
            ASSERT_TRUE(store->put_baseline(name, *store->list_results(random() % 9)));
            break;
          case 2:
            static_cast<void>(store->delete_baseline(name).ok());
            break;
          case 3:
            ASSERT_TRUE(store->replace_corpus(name, {random() % 5, std::vector<std::byte>(3)}));
            break;
          case 4:
            ASSERT_TRUE(store->put_meta(name, "x"));
            break;
          default: {
            const ValidationResult one = result_of(name, seed), two = result_of(name, seed + 1);
            const ResultToKeep both[] = {{one, random() % 2 == 0}, {two, false}, {one, false}};
            ASSERT_TRUE(store->put_results(both));
          }
        }
      }
    }
    expect_counted();
  }
}

TEST_F(LedgerTest, CountsBatchesOfManyThreads) {
  {
    auto store = open(folder_);
    ASSERT_NE(store, nullptr);
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < 8; ++number) {
      threads.emplace_back([&store, number] {
        std::mt19937 random(number);
        for (int step = 0; step < 40; ++step) {
          EXPECT_TRUE(store->put_result(result_of("op", random() % 10), random() % 2 == 0));
          if (step % 10 != 9) continue;
          EXPECT_TRUE(store->delete_failures(random() % 10));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  expect_counted();
}

TEST_F(LedgerTest, NoChangedByteGoesUnnoticed) {
  constexpr uint64_t kRounds = 2, kPerRound = 6;
  fill(kRounds, kPerRound);
  std::mt19937 random(3);
  size_t refused = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name == "LOG" || name.starts_with("LOG.") || name == "LOCK") continue;
    const std::string whole = content_of(entry.path());
    for (int attempt = 0; attempt < 6 && !whole.empty(); ++attempt) {
      const fs::path copy = root_ / "copy";
      fs::remove_all(copy);
      fs::copy(folder_, copy, fs::copy_options::recursive);
      std::string changed = whole;
      changed[random() % changed.size()] ^= static_cast<char>(1 << random() % 8);
      if (attempt % 4 == 3) changed.resize(whole.size() - 1 - random() % whole.size());
      put_content(copy / name, changed);
      const auto store = open_store(copy);
      if (!store) {
        EXPECT_EQ(content_of(copy / name), changed) << name << " is not as it was found";
        ++refused;
        continue;
      }
      const auto listed = (*store)->list_failures(1000);
      EXPECT_TRUE(!listed || listed->size() == kRounds * kPerRound) << "a change of " << name;
      for (uint64_t seed = 0; seed < kRounds * kPerRound; ++seed) {
        const auto one = (*store)->result(seed);
        EXPECT_TRUE(!one || one->max_diff == static_cast<double>(seed)) << name;
        EXPECT_TRUE(one || one.error().code != ErrorCode::NotFound) << name << ", seed " << seed;
      }
    }
  }
  EXPECT_GT(refused, 10U);
}

TEST_F(LedgerTest, ARemovedFileIsDamageAndSaysHowMuchIsLost) {
  fill(2, 10);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    const bool needed = name == "CURRENT" || name.starts_with("MANIFEST-") ||
                        name.ends_with(".sst") || (name.ends_with(".log") && entry.file_size() > 0);
    if (!needed) continue;
    const fs::path copy = root_ / "copy";
    fs::remove_all(copy);
    fs::copy(folder_, copy, fs::copy_options::recursive);
    fs::remove(copy / name);
    const Status found = check_store(copy);
    ASSERT_FALSE(found) << name << " was removed";
    EXPECT_EQ(found.error().code, ErrorCode::Corruption);
    EXPECT_NE(found.error().message.find(" of 40 records cannot be read"), std::string::npos)
        << found.error().message;
  }
}

TEST_F(LedgerTest, AnUnfinishedCreationIsANewDatabase) {
  fs::create_directory(folder_);
  put_content(folder_ / "MANIFEST-000001", "half");
  put_content(folder_ / "LEDGER.new", "half");
  EXPECT_TRUE(check_store(folder_).ok());
  EXPECT_NE(open(folder_), nullptr);
}

}  // namespace
}  // namespace gpuemu
