// Tests where the epochs of a search begin and end.
#include "daemon/search/epochs.h"

#include <vector>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TEST(Epochs, HaveTheSizesThatTheCorpusIsPromised) {
  const std::vector<uint64_t> sizes = {32,  32,  64,  64,   128,  128, 256,
                                       256, 512, 512, 1024, 1024, 1024};
  uint64_t first = 0;
  for (uint64_t epoch = 0; epoch < sizes.size(); ++epoch) {
    EXPECT_EQ(epoch_begin(epoch), first) << epoch;
    EXPECT_EQ(epoch_begin(epoch + 1) - first, sizes[epoch]) << epoch;
    first += sizes[epoch];
  }
}

TEST(Epochs, EveryNumberBelongsToOne) {
  for (uint64_t epoch = 0; epoch < 30; ++epoch) {
    EXPECT_EQ(epoch_of(epoch_begin(epoch)), epoch);
    EXPECT_EQ(epoch_of(epoch_begin(epoch + 1) - 1), epoch);
  }
  EXPECT_EQ(epoch_of(0), 0u);
  EXPECT_EQ(epoch_of(1983), 9u);
  EXPECT_EQ(epoch_of(1984), 10u);
}

}  // namespace
}  // namespace gpuemu
