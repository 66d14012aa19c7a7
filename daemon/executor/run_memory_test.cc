#include "daemon/executor/run_memory.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "daemon/executor/fakes/fake_device.h"

namespace gpuemu {
namespace {

TEST(RunMemory, EachPieceOfTheHostsMemoryIsItsOwn) {
  FakeDevice device(false);
  RunMemory memory(device);
  // The second time everything is in one block, the first time it is not.
  for (int round = 0; round < 3; ++round) {
    memory.reuse_host();
    std::vector<std::span<std::byte>> pieces;
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{700'000}, uint64_t{0}, uint64_t{900'001},
                                 uint64_t{40} << 20, uint64_t{63}}) {
      pieces.push_back(memory.host(bytes));
      ASSERT_EQ(pieces.back().size(), bytes);
      std::ranges::fill(pieces.back(), static_cast<std::byte>(pieces.size()));
    }
    for (size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_TRUE(std::ranges::all_of(
          pieces[i], [&](std::byte value) { return value == static_cast<std::byte>(i + 1); }))
          << "piece " << i << " in round " << round;
    }
  }
}

TEST(RunMemory, WhatGoesToTheDeviceComesBack) {
  FakeDevice device(false);
  {
    RunMemory memory(device);
    memory.reuse_host();
    const auto address = memory.allocate(1000, "y");
    ASSERT_TRUE(address);
    const std::span<std::byte> image = memory.host(1000), back = memory.host(1000);
    for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::byte>(i * 7);
    ASSERT_TRUE(memory.upload(*address, image));
    ASSERT_TRUE(memory.download(back, *address));
    ASSERT_TRUE(memory.settle());
    EXPECT_TRUE(std::ranges::equal(image, back));
    EXPECT_TRUE(memory.free(*address, 1000));
    EXPECT_FALSE(memory.free(*address, 1000));
  }
  EXPECT_EQ(device.allocation_count(), 0u);
}

}  // namespace
}  // namespace gpuemu
