// Compares both stores, and tests the database with crashes and damage.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/unique_fd.h"
#include "daemon/database/database.h"
#include "daemon/records/keys.h"
#include "daemon/storage/open_for_test.h"

namespace gpuemu {
namespace {

ValidationResult result_of(const std::string& op, uint64_t seed, double diff = 0) {
  ValidationResult result;
  result.op_name = op;
  result.seed = seed;
  result.max_diff = diff;
  result.passed = diff == 0;
  return result;
}

/// Every member set to something that is not its default.
ValidationResult full_result() {
  ValidationResult result = result_of("op:with:colons", std::numeric_limits<uint64_t>::max(), 0.5);
  result.max_rel_diff = std::numeric_limits<double>::infinity();
  result.failures = {
      {FindingKind::NonDeterministic, "text \xc3\xa9", 17, 0.5, -0.0, "y", "k.cu", 9},
      {FindingKind::NaNDetected, "", std::nullopt, std::nullopt, std::nullopt, "", "", 0}};
  result.timestamp = -5;
  result.duration_ms = 7;
  ReproductionInfo info{.seed = 1, .fuzz_config = FuzzConfig{}};
  info.fuzz_config->op_schema =
      OpSchema{"s", {{"N", {4, 8}}}, {{"x", {"N"}}}, OpSchema::TensorDims{"y", {"N"}}};
  info.shape = {2, 3};
  info.strides = {3, -1};
  info.dtype = DType::Bool;
  info.layout = LayoutKind::Transposed;
  info.input_snapshot = std::vector<std::byte>{std::byte{0}, std::byte{255}};
  info.base_seed = 0;
  info.iteration = 12;
  info.dims = {{"N", 4}};
  info.attrs = {{"eps", 1e-5}};
  info.value_strategy = "normal";
  info.kernel = "softmax";
  info.value_scale = 0.25;
  info.layout_name = "reversed";
  info.program_folder = "/tmp/program-7";
  info.input_strides = {{"x", {-1}}};
  result.repro_info = info;
  result.error_stats = ErrorStats{4, 1, 2, 3, 4, 5, 6, 7, 8, ~uint64_t{0}, 9.5, -0.25};
  return result;
}

/// The same for the metrics of a kernel.
ArtifactMetrics full_artifact() {
  ArtifactMetrics metrics{"k", 1, 2,     3,  4, 5, {"add.f32"}, ArtifactSource::Both,
                          9,   0, "ptx", {}, {}};
  metrics.ptx = PtxMetrics{"k_entry",
                           "sm_80",
                           "k.cu",
                           3,
                           {{"f32", 4}},
                           5,
                           {{"control", 6}},
                           {{"global.4", 7}},
                           {{"shared.8", 8}},
                           {{"ex2.approx.f32", 9}},
                           10,
                           11,
                           12,
                           13,
                           14,
                           15,
                           16,
                           17,
                           18,
                           19,
                           20,
                           21,
                           22,
                           true,
                           {{"0.5", 23}},
                           {{"p0", "u64", 8}}};
  metrics.compiled = {{"sm_80",
                       1,
                       2,
                       3,
                       4,
                       5,
                       6,
                       {{"0", 7}},
                       Occupancy{8, 9, 10, 11, 12, 0.5, OccupancyLimiter::Warps},
                       13,
                       {{"float", 14}},
                       {{"loops", 15}}},
                      {"sm_90", 1, 2, 3, 4, 5, 6, {}, std::nullopt, 0, {}, {}}};
  return metrics;
}

class Storage : public testing::Test {
 protected:
  void SetUp() override {
    // In memory where that is possible: the tests sync often, and the machine stays on.
    const bool in_memory = ::access("/dev/shm", W_OK) == 0;
    std::string folder = std::string(in_memory ? "/dev/shm" : "/tmp") + "/gpuemu_storage_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::shared_ptr<Store> open() {
    auto store = open_store(folder_ / "db");
    if (!store) ADD_FAILURE() << store.error().message;
    return store ? *std::move(store) : nullptr;
  }
  std::filesystem::path folder_;
};

void expect_equal(Store& store, Store& model, const std::vector<std::string>& ops) {
  for (const std::string& op : ops) {
    EXPECT_EQ(*store.list_results(1000, op), *model.list_results(1000, op)) << op;
    EXPECT_EQ(*store.list_failures(3, op, 100), *model.list_failures(3, op, 100)) << op;
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const auto got = store.failure(seed, op);
      const auto expected = model.failure(seed, op);
      ASSERT_EQ(got.ok(), expected.ok()) << op << " " << seed;
      if (got) {
        EXPECT_EQ(*got, *expected);
      }
      const auto result = store.result(seed, op);
      ASSERT_EQ(result.ok(), model.result(seed, op).ok());
      if (result) {
        EXPECT_EQ(*result, *model.result(seed, op));
      }
    }
    EXPECT_EQ(*store.list_corpus(op), *model.list_corpus(op));
  }
  EXPECT_EQ(*store.count_results(), *model.count_results());
  EXPECT_EQ(*store.count_failures(), *model.count_failures());
  const std::vector<std::string> tags = *model.list_baselines();
  ASSERT_EQ(*store.list_baselines(), tags);
  for (const std::string& tag : tags) {
    EXPECT_EQ(*store.baseline(tag), *model.baseline(tag)) << tag;
  }
  const std::vector<std::string> artifact_tags = *model.list_artifact_baselines();
  ASSERT_EQ(*store.list_artifact_baselines(), artifact_tags);
  for (const std::string& tag : artifact_tags) {
    EXPECT_EQ(*store.artifact_baseline(tag), *model.artifact_baseline(tag)) << tag;
  }
  EXPECT_EQ(*store.list_artifacts(), *model.list_artifacts());
}

TEST_F(Storage, BehavesAsTheStoreInMemoryUnderRandomOperations) {
  const std::vector<std::string> ops = {"a", "a:00000000000000000001", "b", ":", "\xff"};
  const std::vector<std::string> tags = {"v1", "v1:a", "", "main"};
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto store = open();
  ASSERT_NE(store, nullptr);
  auto model = make_memory_store();
  const auto both = [&](auto change) { EXPECT_EQ(change(*store).ok(), change(*model).ok()); };
  for (int step = 0; step < 100; ++step) {
    const std::string op = ops[random() % ops.size()];
    const std::string tag = tags[random() % tags.size()];
    ValidationResult result =
        result_of(op, random() % 6, step % 5 == 0 ? 0 : static_cast<double>(step));
    result.timestamp = step;
    ReproductionInfo& info = result.repro_info.emplace();
    info.input_snapshot.emplace(random() % 3);
    if (step % 2 == 0) info.base_seed = info.iteration = 1;
    const auto choice = random() % 13;
    const std::byte byte{static_cast<uint8_t>(step)};
    const bool fails = choice < 2 && !result.passed;
    if (!fails) result.repro_info.reset();  // As producers of results do.
    if (choice < 4) both([&](Store& s) { return s.put_result(result, fails); });
    if (choice == 4) {
      const ValidationResult other = result_of("b", random() % 6, static_cast<double>(step));
      const ResultToKeep kept[] = {{result, true}, {other, false}, {result, false}};
      both([&](Store& s) { return s.put_results(kept); });
    }
    if (choice == 5) both([&](Store& s) { return s.put_baseline(tag, *s.list_results(5)); });
    if (choice == 6) both([&](Store& s) { return s.delete_baseline(tag); });
    if (choice == 7) both([&](Store& s) { return s.put_corpus(op, {&byte, 1}); });
    if (choice == 9 && step % 4 == 1) {
      both([&](Store& s) { return s.replace_corpus(op, {{byte}, {byte, byte}}); });
    }
    if (choice == 8) {
      ArtifactMetrics metrics;
      metrics.kernel_name = op;
      metrics.register_count = static_cast<uint32_t>(step);
      both([&](Store& s) { return s.put_artifact(metrics); });
    }
    if (choice == 10) {
      both([&](Store& s) { return s.put_artifact_baseline(tag, *s.list_artifacts()); });
    }
    if (choice == 12) {
      const auto one = random() % 2 == 0 ? std::optional<uint64_t>(random() % 6) : std::nullopt;
      const std::string meant = one || random() % 2 == 0 ? op : "";
      EXPECT_EQ(*store->delete_failures(one, meant), *model->delete_failures(one, meant));
    }
    if (choice == 11) both([&](Store& s) { return s.delete_artifact_baseline(tag); });
    if (choice == 9 && step % 4 == 0) {
      store.reset();
      store = open();
      ASSERT_NE(store, nullptr);
    }
  }
  expect_equal(*store, *model, {"a", "a:00000000000000000001", "b", ":", "\xff", ""});
}

TEST_F(Storage, KeepsEveryMemberOverAReopen) {
  const ArtifactMetrics metrics = full_artifact();
  {
    auto store = open();
    ASSERT_TRUE(store->put_result(full_result(), true));
    ASSERT_TRUE(store->put_baseline("v1", {full_result()}));
    ASSERT_TRUE(store->put_artifact_baseline("main", {metrics}));
    ASSERT_TRUE(store->put_meta("name", "value"));
  }
  auto store = open();
  EXPECT_EQ(*store->result(full_result().seed), full_result());
  EXPECT_EQ(*store->failure(full_result().seed, "op:with:colons"), full_result());
  EXPECT_EQ(store->baseline("v1")->at(0), full_result());
  EXPECT_EQ(store->artifact_baseline("main")->at(0), metrics);
  EXPECT_EQ(*store->meta("name"), "value");
  EXPECT_EQ(*store->meta("schema_version"), std::nullopt);
}

TEST_F(Storage, TheSameCaseIsOneFailureHoweverOftenItIsKept) {
  auto disk = open();
  auto memory = make_memory_store();
  for (Store* store : {disk.get(), memory.get()}) {
    ValidationResult failure = full_result();
    failure.repro_info->base_seed = failure.repro_info->iteration = 5;
    ASSERT_TRUE(store->put_result(failure, true));
    failure.timestamp += 60;
    failure.failures.front().message = "another kernel fails otherwise";
    ASSERT_TRUE(store->put_result(failure, true));
    ASSERT_EQ(store->list_failures(10)->size(), 1u);
    EXPECT_EQ(store->failure(failure.seed)->failures, failure.failures);
    ValidationResult other = failure, submitted = failure;
    other.repro_info->dims["n"] += 1;
    ASSERT_TRUE(store->put_result(other, true));
    other.op_name += ":" + std::string(20, '0');
    ASSERT_TRUE(store->put_result(other, true));
    submitted.repro_info.reset();  // By a client: each time may be another one.
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(store->put_result(submitted, true));
    EXPECT_EQ(*store->count_failures(), 5u);
  }
}

TEST_F(Storage, DeletedFailuresAreGoneAndTheDiskHasTheirSpaceBack) {
  const auto disk_bytes = [&] {
    uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      // Logs and files set aside for them are not what failures take.
      if (entry.path().extension() == ".sst") bytes += entry.file_size();
    }
    return bytes;
  };
  auto store = open();
  ValidationResult failure = result_of("a", 1, 0.5);
  failure.repro_info.emplace();
  std::mt19937_64 random(1);
  std::vector<std::byte>& snapshot = failure.repro_info->input_snapshot.emplace(size_t{1} << 20);
  for (std::byte& byte : snapshot) byte = static_cast<std::byte>(random());
  for (failure.seed = 1; failure.seed <= 8; ++failure.seed) {
    ASSERT_TRUE(store->put_result(failure, true));
  }
  ASSERT_TRUE(store->put_result(result_of("b", 1), false));
  EXPECT_EQ(*store->delete_failures(3, "b"), 0u);
  EXPECT_EQ(*store->delete_failures(3), 1u);
  EXPECT_FALSE(store->failure(3));
  EXPECT_FALSE(store->result(3));
  EXPECT_TRUE(store->failure(4));
  const uintmax_t before = disk_bytes();
  EXPECT_GT(before, size_t{7} << 20);
  EXPECT_EQ(*store->delete_failures(std::nullopt), 7u);
  EXPECT_EQ(*store->count_failures(), 0u);
  EXPECT_EQ(*store->count_results(), 1u);
  EXPECT_LT(disk_bytes(), before / 4);
  store.reset();
  store = open();
  EXPECT_TRUE(store->list_failures(10)->empty());
  EXPECT_EQ(store->list_results(10)->size(), 1u);
}

TEST_F(Storage, ListingsCarrySnapshotsUpToTheirBudgetAndSingleRecordsAlways) {
  auto store = open();
  ValidationResult failure = full_result();
  failure.repro_info->input_snapshot.emplace(1000, std::byte{7});
  for (failure.seed = 1; failure.seed <= 5; ++failure.seed) {
    ASSERT_TRUE(store->put_result(failure, true));
  }
  failure.repro_info->input_snapshot.emplace();
  ASSERT_TRUE(store->put_result(failure, false));
  const auto with_snapshots = [](const std::vector<ValidationResult>& listed) {
    return std::ranges::count_if(
        listed, [](const auto& one) { return one.repro_info->input_snapshot.has_value(); });
  };
  EXPECT_EQ(with_snapshots(*store->list_failures(10)), 0);
  EXPECT_EQ(with_snapshots(*store->list_failures(10, "", 2500)), 2);
  EXPECT_EQ(with_snapshots(*store->list_results(10)), 0);
  EXPECT_EQ(store->result(3)->repro_info->input_snapshot->size(), 1000u);
  EXPECT_EQ(store->failure(3)->repro_info->input_snapshot->size(), 1000u);
}

TEST_F(Storage, SaysWhatIsNotThere) {
  auto store = open();
  auto found = store->failure(7, "softmax");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::NotFound);
  EXPECT_EQ(found.error().message,
            "no failure with seed 7 of op 'softmax'; `gpuemu failures` lists the failures");
  EXPECT_EQ(store->baseline("x").error().code, ErrorCode::NotFound);
  EXPECT_EQ(store->artifact("x").error().code, ErrorCode::NotFound);
}

TEST_F(Storage, RefusesASecondDaemonOnTheSameFolder) {
  auto first = open();
  auto second = open_store(folder_ / "db");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Unavailable);
  EXPECT_NE(second.error().message.find("in use by another daemon"), std::string::npos);
}

TEST_F(Storage, RefusesADatabaseOfANewerVersion) {
  open().reset();
  {
    auto database = storage::Database::open(folder_ / "db");
    rocksdb::WriteBatch batch;
    (*database)->put(batch, storage::Family::Meta, storage::kSchemaVersionKey, "3");
    ASSERT_TRUE((*database)->write(batch));
  }
  auto store = open_store(folder_ / "db");
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::Unsupported);
  EXPECT_NE(store.error().message.find("schema version 3, this gpuemu knows version 2"),
            std::string::npos);
}

TEST_F(Storage, ADamagedValueIsCorruptionAndNoCrash) {
  constexpr uint64_t kRecords = 60;
  auto record = [result = full_result()](uint64_t seed) mutable {
    result.seed = seed;
    return result;
  };
  {
    auto store = open();
    for (uint64_t s = 0; s < kRecords; ++s) ASSERT_TRUE(store->put_result(record(s), false));
  }
  {
    std::mt19937 random(1);
    auto database = storage::Database::open(folder_ / "db");
    ASSERT_TRUE(database);
    rocksdb::WriteBatch batch;
    for (uint64_t seed = 0; seed < kRecords; ++seed) {
      const std::string key =
          storage::project_prefix(kNoProject) + storage::result_key(full_result().op_name, seed);
      std::string value = **(*database)->get(storage::Family::Results, key);
      if (seed == 0) value.clear();
      if (seed == 1) value = "garbage";
      if (seed >= 2 && seed < 20) value.resize(random() % value.size());
      if (seed >= 20) value[random() % value.size()] ^= static_cast<char>(1 + random() % 255);
      (*database)->put(batch, storage::Family::Results, key, value);
    }
    ASSERT_TRUE((*database)->write(batch));
  }
  auto store = open();
  for (uint64_t seed = 0; seed < kRecords; ++seed) {
    const auto read = store->result(seed);
    if (seed < 2) {
      ASSERT_FALSE(read.ok());
      EXPECT_EQ(read.error().code, ErrorCode::Corruption) << read.error().message;
    }
  }
  EXPECT_FALSE(store->list_results(kRecords));
  // A damaged record can be replaced.
  EXPECT_TRUE(store->put_result(record(0), false));
  EXPECT_TRUE(store->result(0).ok());
}

/// Fills the store until it refuses; 0 when the refusal is clear and reading goes on.
int fill_until_refused(Store& store, const std::filesystem::path& folder) {
  ValidationResult large = full_result();
  large.repro_info->input_snapshot = std::vector<std::byte>(size_t{1} << 20);
  Status kept;
  for (uint64_t seed = 100; seed < 200 && kept; ++seed) {
    large.seed = seed;
    kept = store.put_result(large, true);
  }
  if (kept || kept.error().code != ErrorCode::ResourceExhausted) return 2;
  if (kept.error().message.find((folder / "db").native()) == std::string::npos) return 3;
  // The refused one is not there. Another may be taken: RocksDB makes room as it compacts.
  if (!store.result(1, "kept") || store.result(large.seed)) return 4;
  return 0;
}

int exit_code_of(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + status;
}

TEST_F(Storage, AFileSizeLimitIsAFullDiskUntilTheNextStart) {
  const auto limit_to = [](rlim_t bytes) {
    const rlimit limit{bytes, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(90);
  };
  EXPECT_EQ(exit_code_of([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              auto store = open_store(folder_ / "db");
              if (!store || !(*store)->put_result(result_of("kept", 1), true)) return 1;
              limit_to(rlim_t{4} << 20);
              const int refused = fill_until_refused(**store, folder_);
              store->reset();
              limit_to(RLIM_INFINITY);
              return refused;
            }),
            0);
  auto store = open();
  ASSERT_NE(store, nullptr);
  EXPECT_TRUE(store->result(1, "kept").ok());
  EXPECT_TRUE(store->put_result(result_of("later", 2), true));
}

TEST_F(Storage, AFullDiskIsSaidAndReadingGoesOnUntilThereIsRoom) {
  constexpr int kCannotMount = 80;
  const int code = exit_code_of([&] {
    // In a separate mount namespace, which ends with the child.
    const std::filesystem::path disk = folder_ / "disk";
    std::filesystem::create_directory(disk);
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=96m") != 0) {
      return kCannotMount;
    }
    auto store = open_store(disk / "db");
    if (!store || !(*store)->put_result(result_of("kept", 1), true)) return 1;
    const std::filesystem::path ballast = disk / "ballast";
    std::ofstream(ballast) << std::string(size_t{40} << 20, 'x');
    if (const int refused = fill_until_refused(**store, disk); refused != 0) return refused;
    std::filesystem::remove(ballast);
    if (!(*store)->put_result(result_of("later", 2), true)) return 5;
    return (*store)->result(2, "later") ? 0 : 6;
  });
  if (code == kCannotMount) GTEST_SKIP() << "no right to mount a small disk";
  EXPECT_EQ(code, 0);
}

TEST_F(Storage, EveryAcknowledgedResultSurvivesKill) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto store = open_store(folder_ / "db");
    for (uint64_t seed = 0;; ++seed) {
      if (!(*store)->put_result(result_of("op", seed, 1), true)) ::_exit(1);
      if (::write(write_end.get(), &seed, sizeof(seed)) != sizeof(seed)) ::_exit(2);
    }
  }
  write_end.reset();
  uint64_t acknowledged = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(::read(read_end.get(), &acknowledged, sizeof(acknowledged)),
              static_cast<ssize_t>(sizeof(acknowledged)));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  while (::read(read_end.get(), &acknowledged, sizeof(acknowledged)) > 0) {
  }
  auto store = open();
  ASSERT_NE(store, nullptr);
  for (uint64_t seed = 0; seed <= acknowledged; ++seed) {
    ASSERT_TRUE(store->result(seed).ok()) << seed << " of " << acknowledged;
    ASSERT_TRUE(store->failure(seed, "op").ok()) << seed << " of " << acknowledged;
  }
  EXPECT_EQ(*store->count_results(), *store->count_failures());
}

}  // namespace
}  // namespace gpuemu
