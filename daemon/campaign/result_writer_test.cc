// Tests what the writer of results stores, and its errors.
#include "daemon/campaign/result_writer.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TEST(ResultWriter, HasKeptEverythingInOrderWhenItIsFinished) {
  std::vector<int> kept;
  ResultWriter<int> writer([&kept](const std::vector<int>& batch) {
    kept.insert(kept.end(), batch.begin(), batch.end());
    return ok_status();
  });
  ASSERT_TRUE(writer.start());
  std::vector<int> pushed;
  for (int i = 0; i < 1'000; ++i) {
    writer.push(i, 1);
    pushed.push_back(i);
  }
  EXPECT_TRUE(writer.finish());
  EXPECT_EQ(kept, pushed);
}

TEST(ResultWriter, KeepsNothingBehindAnErrorAndTellsIt) {
  int batches = 0;
  ResultWriter<int> writer([&batches](const std::vector<int>&) -> Status {
    ++batches;
    return error(ErrorCode::Io, "the disk is full");
  });
  ASSERT_TRUE(writer.start());
  // More than the queue holds: the error must not block callers of push().
  for (size_t i = 0; i < 3 * kUnwrittenCasesMax; ++i) writer.push(0, 1);
  EXPECT_EQ(writer.finish().error().message, "the disk is full");
  EXPECT_TRUE(writer.broken());
  EXPECT_EQ(batches, 1);
}

TEST(ResultWriter, EndsWithoutBeingStartedOrFinished) {
  std::vector<int> kept;
  const auto keep = [&kept](const std::vector<int>& batch) {
    kept.insert(kept.end(), batch.begin(), batch.end());
    return ok_status();
  };
  {
    const ResultWriter<int> never_started(keep);
  }
  {
    ResultWriter<int> never_finished(keep);
    ASSERT_TRUE(never_finished.start());
    never_finished.push(7, 1);
  }
  EXPECT_EQ(kept, std::vector<int>{7});
}

}  // namespace
}  // namespace gpuemu
