#include "runtime/device/allocation_owners.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TEST(Holders, AreNamedTheLargestFirst) {
  EXPECT_EQ(largest_owners({{"bias", 64, 16}, {"weights", 4096, 32}}), "'weights' 4096, 'bias' 64");
  EXPECT_EQ(largest_owners({}), "");
}

TEST(Holders, OfOneNameAreToldApart) {
  EXPECT_EQ(largest_owners({{"x", 8, 256}, {"y", 4, 512}, {"x", 8, 128}}),
            "'x' 8 at 0x80, 'x' 8 at 0x100, 'y' 4");
}

TEST(Holders, AreAsManyAsFitALine) {
  EXPECT_EQ(largest_owners({{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}, {"f", 6}}),
            "'f' 6, 'e' 5, 'd' 4, 'c' 3, 'b' 2");
}

TEST(OutOfMemory, SaysWhatThereIsAndWhoHasIt) {
  const Error failure =
      out_of_memory("y", 100, {"the memory of device 1", 60, 128}, {{"weights", 60, 16}});
  EXPECT_EQ(failure.code, ErrorCode::ResourceExhausted);
  EXPECT_EQ(
      failure.message,
      "out of memory: 'y' of 100 bytes exceeds the memory of device 1: 60 of 128 bytes are in "
      "use by 1 allocations; the largest: 'weights' 60");
  EXPECT_EQ(out_of_memory("y", 9, {"it", 0, 8}, {}).message,
            "out of memory: 'y' of 9 bytes exceeds it: 0 of 8 bytes are in use by 0 allocations");
}

}  // namespace
}  // namespace gpuemu
