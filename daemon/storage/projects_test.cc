// Projects see only their own records; migrating a database without projects loses none.
#include <filesystem>

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/project_id.h"
#include "daemon/database/database.h"
#include "daemon/records/keys.h"
#include "daemon/storage/project_stores.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;
using storage::Family;

const ProjectNames kNobody{.id = kNoProject, .ops = {}, .kernels = {}};
const ProjectNames kOurs{.id = "ours", .ops = {"a", "a:b"}, .kernels = {"k"}};

ValidationResult result_of(const std::string& op, uint64_t seed) {
  ValidationResult result;
  result.op_name = op;
  result.seed = seed;
  result.max_diff = static_cast<double>(seed + 1);
  ReproductionInfo& info = result.repro_info.emplace();
  info.seed = info.base_seed.emplace(seed);
  info.iteration = 0;
  info.input_snapshot.emplace(seed % 7, std::byte{3});
  return result;
}

ArtifactMetrics metrics_of(const std::string& kernel) {
  ArtifactMetrics metrics;
  metrics.kernel_name = kernel;
  metrics.register_count = 12;
  return metrics;
}

class Projects : public testing::Test {
 protected:
  void SetUp() override {
    const bool in_memory = ::access("/dev/shm", W_OK) == 0;
    std::string folder = std::string(in_memory ? "/dev/shm" : "/tmp") + "/gpuemu_projects_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    root_ = folder;
    db_ = root_ / "db";
  }
  void TearDown() override { fs::remove_all(root_); }

  std::unique_ptr<ProjectStores> open(const ProjectNames& first = kNobody) {
    auto stores = open_stores(db_, first);
    if (!stores) ADD_FAILURE() << stores.error().message;
    return stores ? *std::move(stores) : nullptr;
  }
  static std::shared_ptr<Store> store_of(ProjectStores& stores, const std::string& project) {
    auto store = stores.of(project);
    if (!store) ADD_FAILURE() << store.error().message;
    return store ? *store : nullptr;
  }

  /// A database without projects that holds `cases` results for each of the ops a, a:b and other.
  void make_database_of_before(uint64_t cases) {
    {
      const auto stores = open();
      const auto store = store_of(*stores, kNoProject);
      for (const std::string op : {"a", "a:b", "other"}) {
        for (uint64_t seed = 0; seed < cases; ++seed) {
          ASSERT_TRUE(store->put_result(result_of(op, seed), seed % 2 == 0));
        }
        const std::byte entry{static_cast<uint8_t>(op.size())};
        ASSERT_TRUE(store->put_corpus(op, {&entry, 1}));
      }
      ASSERT_TRUE(store->put_baseline("shared", {result_of("a", 1), result_of("other", 1)}));
      ASSERT_TRUE(store->put_baseline("theirs", {result_of("other", 1)}));
      ASSERT_TRUE(store->put_artifact_baseline("shared", {metrics_of("x")}));
      ASSERT_TRUE(store->put_artifact_baseline("kernels", {metrics_of("k"), metrics_of("x")}));
      for (const std::string kernel : {"k", "x"}) {
        ASSERT_TRUE(store->put_artifact(metrics_of(kernel)));
      }
      ASSERT_TRUE(store->put_meta("ci:summary", "report"));
      ASSERT_TRUE(store->put_meta(std::string(kOpVerdictMeta) + "f32:a", "verdict"));
    }
    take_projects_away();
  }
  /// Moves the records back to their keys of schema 1.
  void take_projects_away() {
    const std::string prefix = storage::project_prefix(kNoProject);
    auto database = storage::Database::open(db_);
    ASSERT_TRUE(database);
    for (size_t i = 0; i < storage::kFamilyCount; ++i) {
      const auto family = static_cast<Family>(i);
      rocksdb::WriteBatch batch;
      ASSERT_TRUE((*database)->scan(
          family, prefix, [&](std::string_view key, std::string_view value) -> Result<bool> {
            (*database)->put(batch, family, key.substr(prefix.size()), value);
            (*database)->erase(batch, family, key);
            return true;
          }));
      if (family == Family::Meta) {
        (*database)->put(batch, family, storage::kSchemaVersionKey, "1");
      }
      ASSERT_TRUE((*database)->write(batch));
    }
  }
  void expect_migrated(uint64_t cases, ProjectStores& stores) {
    const auto ours = store_of(stores, "ours"), legacy = store_of(stores, kLegacyProject);
    EXPECT_EQ(*ours->count_results(), 2 * cases);
    EXPECT_EQ(*legacy->count_results(), cases);
    EXPECT_EQ(*ours->count_failures(), 2 * ((cases + 1) / 2));
    EXPECT_EQ(*legacy->count_failures(), (cases + 1) / 2);
    EXPECT_EQ(*store_of(stores, kNoProject)->count_results(), 0u);
    for (uint64_t seed = 0; seed < cases; ++seed) {
      EXPECT_FALSE(ours->result(seed, "other"));
      for (const std::string op : {"a", "a:b", "other"}) {
        const auto& store = op == "other" ? legacy : ours;
        const auto result = store->result(seed, op);
        ASSERT_TRUE(result) << op << " " << seed;
        EXPECT_EQ(result->max_diff, result_of(op, seed).max_diff);
        if (seed % 2 != 0) continue;
        const auto failure = store->failure(seed, op);
        ASSERT_TRUE(failure) << op << " " << seed;
        EXPECT_EQ(*failure, result_of(op, seed));
      }
    }
  }

  fs::path root_, db_;
};

TEST_F(Projects, KeepWhatTheyStoreToThemselves) {
  const auto stores = open();
  // One id is a prefix of the other.
  const auto one = store_of(*stores, "p"), two = store_of(*stores, "p1");
  const std::byte entry{1};
  for (const auto& store : {one, two}) {
    ASSERT_TRUE(store->put_result(result_of("op", 1), true));
    ASSERT_TRUE(store->put_baseline("v1", {result_of("op", 1)}));
    ASSERT_TRUE(store->put_artifact_baseline("v1", {metrics_of("k")}));
    ASSERT_TRUE(store->put_artifact(metrics_of("k")));
    ASSERT_TRUE(store->put_corpus("op", {&entry, 1}));
    ASSERT_TRUE(store->put_meta("name", "value"));
  }
  ASSERT_TRUE(two->put_result(result_of("op", 2), true));
  EXPECT_EQ(one->list_results(10)->size(), 1u);
  EXPECT_EQ(one->list_failures(10)->size(), 1u);
  EXPECT_FALSE(one->failure(2));
  EXPECT_EQ(*one->delete_failures(std::nullopt), 1u);
  ASSERT_TRUE(one->delete_baseline("v1"));
  ASSERT_TRUE(one->delete_artifact_baseline("v1"));
  ASSERT_TRUE(one->replace_corpus("op", {}));
  ASSERT_TRUE(one->put_meta("name", "another"));
  EXPECT_EQ(*one->count_failures(), 0u);
  EXPECT_EQ(*two->count_failures(), 2u);
  EXPECT_EQ(*two->count_results(), 2u);
  EXPECT_EQ(two->list_baselines()->size(), 1u);
  EXPECT_EQ(two->list_artifact_baselines()->size(), 1u);
  EXPECT_EQ(two->list_artifacts()->size(), 1u);
  EXPECT_EQ(two->list_corpus("op")->size(), 1u);
  EXPECT_EQ(*two->meta("name"), "value");
}

TEST_F(Projects, HaveAsManyBytesForWhoListsThemAsForStatusAndPruning) {
  const auto stores = open();
  const auto one = store_of(*stores, "p"), two = store_of(*stores, "p1");
  for (const uint64_t seed : {1, 2, 3}) ASSERT_TRUE(one->put_result(result_of("op", seed), true));
  ASSERT_TRUE(one->put_artifact(metrics_of("k")));
  ASSERT_TRUE(one->put_baseline("v1", {result_of("op", 1)}));
  ASSERT_TRUE(one->put_meta("name", "value"));
  ASSERT_TRUE(one->put_result(result_of("op", 3), true)) << "in the place of the one before";
  ASSERT_TRUE(two->put_result(result_of("op", 1), true));
  const uint64_t bytes = *stores->bytes("p");
  const auto status = stores->status({{.id = "p", .path = "", .name = "p"}});
  ASSERT_TRUE(status);
  EXPECT_EQ(status->projects.front().bytes, bytes);
  uint64_t by_kind = 0;
  for (const auto& [kind, of_kind] : status->projects.front().bytes_by_kind) by_kind += of_kind;
  EXPECT_EQ(by_kind, bytes);
  Pruning fits{.project = "p", .bytes = bytes, .shrink_passing = true, .shrink_failures = true};
  EXPECT_EQ(stores->prune(fits)->bytes, 0u);
  const uint64_t noted = *stores->bytes("p");  // When pruning was, which is kept as well.
  fits.bytes = noted - 1;
  const auto pruned = stores->prune(fits);
  ASSERT_TRUE(pruned);
  EXPECT_GT(pruned->bytes, 0u);
  EXPECT_EQ(*stores->bytes("p"), noted - pruned->bytes);
}

TEST_F(Projects, AreListedWithWhatWasLastSaidOfThem) {
  const StoredProject first{.id = "2", .path = "/a/gpuemu.toml", .name = "a", .last_used = 5};
  StoredProject second{.id = "1", .path = "/b/gpuemu.toml", .name = "a", .last_used = 6};
  {
    const auto stores = open();
    ASSERT_TRUE(stores->remember(first));
    ASSERT_TRUE(stores->remember(second));
    second.last_used = 7;
    ASSERT_TRUE(stores->remember(second));
  }
  EXPECT_EQ(*open()->projects(), (std::vector<StoredProject>{second, first}));
}

TEST_F(Projects, ADatabaseOfBeforeIsDividedWithoutLoss) {
  make_database_of_before(40);
  const auto stores = open(kOurs);
  ASSERT_NE(stores, nullptr);
  EXPECT_NE(stores->note().find(db_.string() + ".schema1"), std::string::npos) << stores->note();
  expect_migrated(40, *stores);
  const auto ours = store_of(*stores, "ours"), legacy = store_of(*stores, kLegacyProject);
  EXPECT_EQ(ours->list_results(1)->at(0).op_name, "a:b");  // The newest result.
  EXPECT_EQ(*ours->list_baselines(), std::vector<std::string>{"shared"});
  EXPECT_EQ(ours->baseline("shared")->size(), 2u);
  EXPECT_EQ(*legacy->list_baselines(), std::vector<std::string>{"theirs"});
  EXPECT_EQ(*ours->list_artifact_baselines(), (std::vector<std::string>{"kernels", "shared"}));
  EXPECT_TRUE(legacy->list_artifact_baselines()->empty());
  EXPECT_EQ(*ours->list_artifacts(), std::vector<ArtifactMetrics>{metrics_of("k")});
  EXPECT_EQ(*legacy->list_artifacts(), std::vector<ArtifactMetrics>{metrics_of("x")});
  EXPECT_EQ(ours->list_corpus("a:b")->at(0).at(0), std::byte{3});
  EXPECT_EQ(ours->list_corpus("other")->size(), 0u);
  EXPECT_EQ(legacy->list_corpus("other")->size(), 1u);
  EXPECT_EQ(*ours->meta("ci:summary"), "report");
  EXPECT_EQ(*ours->meta(std::string(kOpVerdictMeta) + "f32:a"), std::nullopt);
}

TEST_F(Projects, AnotherProjectTakesWhatItsNamesMatch) {
  make_database_of_before(10);
  {
    const auto stores = open(kOurs);
    const auto theirs = store_of(*stores, "theirs"), legacy = store_of(*stores, kLegacyProject);
    ValidationResult newer = result_of("other", 3);
    newer.max_diff = 99;
    ASSERT_TRUE(theirs->put_result(newer, true));
    const Taking nothing{.from = kLegacyProject, .to = "theirs", .ops = {"a"}, .kernels = {"k"}};
    EXPECT_EQ(*stores->take(nothing), Taken());
    const Taking own{.from = kLegacyProject, .to = "theirs", .ops = {"other"}, .kernels = {"x"}};
    EXPECT_EQ(*stores->take(own), (Taken{10, 5, 1, 1, 1, {"other"}}));
    EXPECT_EQ(*stores->take(own), Taken());
    EXPECT_EQ(*legacy->count_results() + *legacy->count_failures(), 0u);
    EXPECT_TRUE(legacy->list_results(10)->empty());
  }
  const auto stores = open(kNobody);
  const auto theirs = store_of(*stores, "theirs");
  EXPECT_EQ(theirs->list_results(100)->size(), 10u);
  EXPECT_EQ(theirs->list_failures(100)->size(), 6u);
  EXPECT_EQ(theirs->result(3, "other")->max_diff, 99);
  EXPECT_EQ(*theirs->failure(2, "other"), result_of("other", 2));
  EXPECT_EQ(*theirs->list_baselines(), std::vector<std::string>{"theirs"});
  EXPECT_EQ(theirs->artifact("x")->register_count, 12u);
  EXPECT_EQ(theirs->list_corpus("other")->size(), 1u);
}

TEST_F(Projects, TheDatabaseOfBeforeIsKeptAsItWas) {
  make_database_of_before(3);
  open(kOurs).reset();
  const auto kept = storage::Database::open(db_.string() + ".schema1");
  ASSERT_TRUE(kept);
  EXPECT_EQ(*(*kept)->get(Family::Meta, storage::kSchemaVersionKey), "1");
  EXPECT_TRUE(*(*kept)->get(Family::Results, storage::result_key("other", 2)));
  // An older copy with the same name is kept too.
  fs::remove_all(db_);
  make_database_of_before(1);
  EXPECT_NE(open(kOurs)->note().find(".schema1-2"), std::string::npos);
  EXPECT_TRUE(fs::exists(db_.string() + ".schema1"));
}

TEST_F(Projects, AKilledMigrationIsUndoneOrDone) {
  constexpr uint64_t kCases = 300;
  make_database_of_before(kCases);
  const fs::path original = root_ / "original";
  fs::rename(db_, original);
  for (int round = 0; round < 12; ++round) {
    for (const fs::path& entry : {db_, fs::path(db_.string() + ".schema1")}) fs::remove_all(entry);
    fs::copy(original, db_, fs::copy_options::recursive);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(open_stores(db_, kOurs) ? 0 : 1);
    ::usleep(static_cast<useconds_t>(3000 + 8000 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    const auto stores = open(kOurs);
    ASSERT_NE(stores, nullptr) << round;
    expect_migrated(kCases, *stores);
    EXPECT_TRUE(fs::exists(db_.string() + ".schema1"));
    EXPECT_FALSE(fs::exists(db_.string() + ".migrating"));
  }
}

TEST_F(Projects, WhatAKilledMigrationLeftIsFinished) {
  make_database_of_before(5);
  const fs::path left = db_.string() + ".migrating", kept = db_.string() + ".schema1";
  open(kOurs).reset();
  // Killed after the exchange, before the old database was renamed.
  fs::rename(kept, left);
  expect_migrated(5, *open(kOurs));
  EXPECT_TRUE(fs::exists(kept));
  EXPECT_FALSE(fs::exists(left));
  // Killed between two moves: the old database was renamed, its place was empty.
  fs::rename(db_, left);
  fs::create_directory(db_);
  expect_migrated(5, *open(kOurs));
  // An incomplete copy is removed.
  fs::create_directory(left);
  expect_migrated(5, *open(kOurs));
  EXPECT_FALSE(fs::exists(left));
}

}  // namespace
}  // namespace gpuemu
