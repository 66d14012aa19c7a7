// What a keeper keeps, and what it says when it cannot.
#include "daemon/campaign/result_writer.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TEST(Keeper, HasKeptEverythingInOrderWhenItIsFinished) {
  std::vector<int> kept;
  Keeper<int> keeper([&kept](const std::vector<int>& batch) {
    kept.insert(kept.end(), batch.begin(), batch.end());
    return ok_status();
  });
  ASSERT_TRUE(keeper.start());
  std::vector<int> pushed;
  for (int i = 0; i < 1'000; ++i) {
    keeper.push(i, 1);
    pushed.push_back(i);
  }
  EXPECT_TRUE(keeper.finish());
  EXPECT_EQ(kept, pushed);
}

TEST(Keeper, KeepsNothingBehindAnErrorAndTellsIt) {
  int batches = 0;
  Keeper<int> keeper([&batches](const std::vector<int>&) -> Status {
    ++batches;
    return error(ErrorCode::Io, "the disk is full");
  });
  ASSERT_TRUE(keeper.start());
  // More than wait at most: nobody who pushes is stopped by the error.
  for (size_t i = 0; i < 3 * kUnkeptCasesMax; ++i) keeper.push(0, 1);
  EXPECT_EQ(keeper.finish().error().message, "the disk is full");
  EXPECT_TRUE(keeper.broken());
  EXPECT_EQ(batches, 1);
}

TEST(Keeper, EndsWithoutBeingStartedOrFinished) {
  std::vector<int> kept;
  const auto keep = [&kept](const std::vector<int>& batch) {
    kept.insert(kept.end(), batch.begin(), batch.end());
    return ok_status();
  };
  {
    const Keeper<int> never_started(keep);
  }
  {
    Keeper<int> never_finished(keep);
    ASSERT_TRUE(never_finished.start());
    never_finished.push(7, 1);
  }
  EXPECT_EQ(kept, std::vector<int>{7});
}

}  // namespace
}  // namespace gpuemu
