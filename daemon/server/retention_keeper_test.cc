// Tests what the daemon prunes automatically, and when.
#include "daemon/server/retention_keeper.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/base/project_id.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

class Keeper : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = "/tmp/gpuemu_retention_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    root_ = folder;
    auto stores = open_stores(root_ / "db", {.id = kNoProject, .ops = {}, .kernels = {}});
    ASSERT_TRUE(stores) << stores.error().message;
    stores_ = *std::move(stores);
  }
  void TearDown() override {
    stores_.reset();
    fs::remove_all(root_);
  }

  /// A project with a gpuemu.toml and ten passing results.
  StoredProject add(const std::string& name, const std::string& toml) {
    const fs::path file = root_ / name / "gpuemu.toml";
    fs::create_directory(file.parent_path());
    std::ofstream(file) << toml;
    return fill({.id = project_id(file.native()), .path = file.native(), .name = name});
  }
  StoredProject fill(const StoredProject& project) {
    EXPECT_TRUE(stores_->remember(project));
    for (uint64_t seed = 0; seed < 10; ++seed) {
      ValidationResult result;
      result.op_name = "op";
      result.seed = seed;
      result.passed = true;
      EXPECT_TRUE((*stores_->of(project.id))->put_result(result, false));
    }
    return project;
  }
  uint64_t count(const StoredProject& project) {
    return *(*stores_->of(project.id))->count_results();
  }
  RetentionKeeper::Tell tell() {
    return [this](const std::string& line) { told_.push_back(line); };
  }
  Environment environment() const { return {{"HOME", root_.native()}}; }

  fs::path root_;
  std::unique_ptr<ProjectStores> stores_;
  JobTable jobs_;
  std::vector<std::string> told_;
};

TEST_F(Keeper, PrunesEachProjectByItsOwnLimits) {
  const auto few = add("few", "[storage]\npassing_count = 3\n");
  const auto all = add("all", "[storage]\npassing_count = 0\n");
  const auto manual = add("manual", "[storage]\npassing_count = 3\nprune_minutes = 0\n");
  const auto wrong = add("wrong", "[storage]\npassing_count = 3\nbytes = 'much'\n");
  const auto legacy = fill({.id = kLegacyProject, .path = "", .name = kLegacyProject});
  fs::create_directories(root_ / ".config/gpuemu");
  std::ofstream(root_ / ".config/gpuemu/config.toml") << "[storage]\npassing_count = 4\n";
  const auto by_user = add("by_user", "");
  RetentionKeeper keeper(*stores_, jobs_, environment(), tell());
  keeper.prune_due(RetentionKeeper::Clock::now());
  EXPECT_EQ(count(few), 3u);
  EXPECT_EQ(count(all), 10u);
  EXPECT_EQ(count(manual), 10u);
  EXPECT_EQ(count(wrong), 10u);
  EXPECT_EQ(count(legacy), 10u);
  EXPECT_EQ(count(by_user), 4u);
  ASSERT_EQ(told_.size(), 3u);
  const auto says = [&](const std::string& part) {
    return std::ranges::count_if(
        told_, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  };
  EXPECT_EQ(says("pruned by [storage] of " + few.path + ": 7 passing results"), 1);
  EXPECT_EQ(says("pruned by [storage] of " + by_user.path + ": 6 passing results"), 1);
  EXPECT_EQ(says("project " + wrong.path + " is not pruned: "), 1);
}

TEST_F(Keeper, PrunesAgainWhenItsTimeHasCome) {
  const auto project = add("often", "[storage]\npassing_count = 3\nprune_minutes = 2\n");
  RetentionKeeper keeper(*stores_, jobs_, environment(), tell());
  const auto start = RetentionKeeper::Clock::now();
  keeper.prune_due(start);
  fill(project);
  EXPECT_EQ(count(project), 10u);
  keeper.prune_due(start + std::chrono::minutes(1));
  EXPECT_EQ(count(project), 10u);
  keeper.prune_due(start + std::chrono::minutes(2));
  EXPECT_EQ(count(project), 3u);
}

TEST_F(Keeper, CountsWhatItPrunesAndLeavesNoTraceOtherwise) {
  const auto project = add("some", "[storage]\npassing_count = 8\n");
  RetentionKeeper keeper(*stores_, jobs_, environment(), tell());
  const auto start = RetentionKeeper::Clock::now();
  keeper.prune_due(start);
  const auto status = stores_->status({project});
  ASSERT_TRUE(status);
  EXPECT_EQ(status->pruned.at("passing"), 2u);
  EXPECT_GT(status->last_prune, 0);
  const auto other = add("other", "");
  keeper.prune_due(start + std::chrono::minutes(1));
  EXPECT_EQ(stores_->status({other})->last_prune, 0);
}

TEST_F(Keeper, RunsInAThreadThatEndsWithIt) {
  const auto project = add("thread", "[storage]\npassing_count = 1\n");
  {
    RetentionKeeper keeper(*stores_, jobs_, environment(), tell());
    ASSERT_TRUE(keeper.start());
    for (int i = 0; i < 1000 && count(project) > 1; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  EXPECT_EQ(count(project), 1u);
}

}  // namespace
}  // namespace gpuemu
