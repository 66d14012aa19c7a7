// Measures the cost of the ledger for storing results, and the migration of many results.
//   gpuemu_bench_storage [results = 100000]
// Baselines of the same run: RocksDB alone with the same batches, alternately; storing those
// results.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/db.h>

#include "common/base/project_id.h"
#include "daemon/database/database.h"
#include "daemon/database/rocks.h"
#include "daemon/records/keys.h"
#include "daemon/records/values.h"
#include "daemon/storage/project_stores.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;
using storage::Database;
using storage::Family;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kPerBatch = 32, kBatches = 400;
constexpr int kRounds = 9;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void fail(const Error& error) {
  std::fprintf(stderr, "bench_storage: %s\n", error.message.c_str());
  std::exit(1);
}

template <typename T>
T must(Result<T> result) {
  if (!result) fail(result.error());
  return *std::move(result);
}
void must(const Status& status) {
  if (!status) fail(status.error());
}

ValidationResult result_of(uint64_t seed) {
  ValidationResult result;
  result.passed = true;
  result.seed = seed;
  result.op_name = "softmax";
  result.max_diff = static_cast<double>(seed) * 1e-9;
  ReproductionInfo info;
  info.seed = seed;
  info.shape = {static_cast<int64_t>(seed % 1000), 64};
  info.dims = {{"rows", static_cast<int64_t>(seed % 1000)}, {"cols", 64}};
  info.value_strategy = "default";
  result.repro_info = std::move(info);
  return result;
}

/// Calls `put(key, value)` for each record of a batch of results, in the form in which a store
/// writes them: the keys of a family are in order.
template <typename Put>
void fill(uint64_t first, const Put& put) {
  std::vector<std::pair<std::string, std::string>> index;
  for (uint64_t seed = first; seed < first + kPerBatch; ++seed) {
    const std::string key = storage::result_key("softmax", seed);
    put(Family::Results, "p/" + key, storage::encode_result(result_of(seed), seed, 0));
    index.emplace_back("p/" + storage::time_key('r', seed), key);
    index.emplace_back("p/" + storage::seed_key('r', seed, seed), key);
  }
  std::ranges::sort(index);
  for (const auto& [entry, key] : index) put(Family::Index, entry, key);
}

/// Returns the seconds for kBatches batches; each call returns after its batch is on disk.
double with_ledger(Database& database, uint64_t& next) {
  const auto start = Clock::now();
  for (uint64_t i = 0; i < kBatches; ++i, next += kPerBatch) {
    rocksdb::WriteBatch batch;
    fill(next, [&](Family family, const std::string& key, const std::string& value) {
      database.put(batch, family, key, value);
    });
    must(database.write(batch));
  }
  return seconds_since(start);
}

double without_ledger(storage::OpenedRocks& rocks, uint64_t& next) {
  rocksdb::WriteOptions options;
  options.sync = true;
  const auto start = Clock::now();
  for (uint64_t i = 0; i < kBatches; ++i, next += kPerBatch) {
    rocksdb::WriteBatch batch;
    fill(next, [&](Family family, const std::string& key, const std::string& value) {
      batch.Put(rocks.handles[static_cast<size_t>(family)], key, value);
    });
    if (!rocks.db->Write(options, &batch).ok()) fail({ErrorCode::Io, "RocksDB cannot write"});
  }
  return seconds_since(start);
}

void measure_ledger(const fs::path& root) {
  const auto database = must(Database::open(root / "with"));
  fs::create_directories(root / "without");
  auto rocks = must(storage::open_to_write(root / "without"));
  uint64_t next = 1, other = 1;
  std::vector<double> ratios, with;
  for (int round = 0; round < kRounds; ++round) {
    const double plain = without_ledger(rocks, other);
    with.push_back(with_ledger(*database, next));
    ratios.push_back(plain / with.back());
  }
  std::ranges::sort(ratios);
  std::ranges::sort(with);
  const double stored = static_cast<double>(kPerBatch * kBatches);
  std::printf("stored with the ledger     %8.0f results/s   %.3f times RocksDB alone\n",
              stored / with[kRounds / 2], ratios[kRounds / 2]);
}

/// Moves all records to their keys in the schema before projects.
void take_projects_away(const fs::path& folder) {
  const auto database = must(Database::open(folder));
  const std::string prefix = storage::project_prefix(kNoProject);
  for (size_t i = 0; i < storage::kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    rocksdb::WriteBatch batch;
    must(database->scan(family, prefix,
                        [&](std::string_view key, std::string_view value) -> Result<bool> {
                          database->put(batch, family, key.substr(prefix.size()), value);
                          database->erase(batch, family, key);
                          return true;
                        }));
    if (family == Family::Meta) database->put(batch, family, storage::kSchemaVersionKey, "1");
    must(database->write(batch));
  }
}

void measure_migration(const fs::path& folder, uint64_t count) {
  auto start = Clock::now();
  {
    const auto stores = must(open_stores(folder, {.id = kNoProject, .ops = {}, .kernels = {}}));
    const auto store = must(stores->of(kNoProject));
    for (uint64_t first = 0; first < count; first += kPerBatch) {
      std::vector<ValidationResult> results;
      for (uint64_t seed = first; seed < std::min(count, first + kPerBatch); ++seed) {
        results.push_back(result_of(seed));
      }
      std::vector<ResultToKeep> batch;
      for (const ValidationResult& one : results) batch.push_back({one, one.seed % 8 == 0, 0});
      must(store->put_results(batch));
    }
  }
  const double storing = seconds_since(start);
  take_projects_away(folder);
  start = Clock::now();
  const auto stores =
      must(open_stores(folder, {.id = "0123456789abcdef", .ops = {"softmax"}, .kernels = {}}));
  const double took = seconds_since(start);
  const auto store = must(stores->of("0123456789abcdef"));
  if (must(store->count_results()) != count) fail({ErrorCode::Internal, "results were lost"});
  std::printf("migrating %llu results  %8.2f s   %.3f times storing them\n",
              static_cast<unsigned long long>(count), took, took / storing);
}

}  // namespace
}  // namespace gpuemu

int main(int argc, char** argv) {
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  std::string root = (std::filesystem::temp_directory_path() / "gpuemu-bench-XXXXXX").string();
  if (::mkdtemp(root.data()) == nullptr) return 1;
  gpuemu::measure_ledger(root);
  gpuemu::measure_migration(std::filesystem::path(root) / "db", count);
  std::filesystem::remove_all(root);
  return 0;
}
