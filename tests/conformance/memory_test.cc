// Tests the caching allocator on every backend: reuse, order between streams, limits, pinned
// memory.
#include <cstring>
#include <thread>

#include "ops/memory/pool.h"
#include "tests/conformance/fixture.h"

namespace gpuemu {
namespace {

class MemoryConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (device_ != nullptr) streams_ = *device_->streams();
  }
  StreamId stream() { return *streams_->make_stream({0, true}); }
  /// On a GPU long enough that work is still in progress when the next is issued.
  const uint64_t bytes_ = is_emulator() ? 64 << 10 : 4 << 20;

  Streams* streams_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Emulator, MemoryConformance, testing::Values("emulator"));
INSTANTIATE_TEST_SUITE_P(Cuda, MemoryConformance, testing::Values("cuda"));

TEST_P(MemoryConformance, ReusesMemoryAndGivesItBack) {
  const uint64_t free_before = device_->memory()->free_bytes;
  Pool pool(device_memory(*device_), {});
  const uint64_t x = *pool.allocate(bytes_, "x");
  EXPECT_EQ(x % kDeviceAlignment, 0U);
  ASSERT_TRUE(device_->fill(x, std::byte{3}, bytes_));
  EXPECT_EQ(download<uint8_t>(x + bytes_ - 1, 1)[0], 3);
  ASSERT_TRUE(pool.free(x));
  EXPECT_EQ(*pool.allocate(bytes_ - 1, "y"), x);
  ASSERT_TRUE(pool.free(x));
  ASSERT_TRUE(pool.empty());
  EXPECT_EQ(pool.statistics().reserved_bytes, 0U);
  EXPECT_EQ(device_->memory()->free_bytes, free_before);
}

TEST_P(MemoryConformance, OrdersStreamsThatShareMemory) {
  Pool pool(device_memory(*device_), {.limit_bytes = bytes_});
  const StreamId a = stream(), b = stream();
  const uint64_t kept = *device_->allocate(bytes_, "kept");
  for (int i = 0; i < 20; ++i) {
    const uint64_t x = *pool.allocate(bytes_, "x", a);
    ASSERT_TRUE(streams_->fill(a, x, std::byte{1}, bytes_));
    ASSERT_TRUE(streams_->copy(a, kept, x, bytes_));
    ASSERT_TRUE(pool.free(x));
    const auto y = pool.allocate(bytes_, "y", b);
    ASSERT_TRUE(y) << y.error().message;
    ASSERT_EQ(*y, x);
    ASSERT_TRUE(streams_->fill(b, *y, std::byte{2}, bytes_));
    ASSERT_TRUE(pool.free(*y));
    ASSERT_TRUE(streams_->synchronize_all());
    EXPECT_EQ(download<uint8_t>(kept + bytes_ - 1, 1)[0], 1);
  }
  EXPECT_GE(pool.statistics().cross_stream, 20U);
}

TEST_P(MemoryConformance, SaysWhoHoldsTheMemoryThatIsOut) {
  Pool pool(device_memory(*device_), {});
  const uint64_t weights = *pool.allocate(kLimitBytes / 2, "weights");
  const uint64_t cached = *pool.allocate(kLimitBytes / 4, "cached");
  ASSERT_TRUE(pool.free(cached));
  const auto refused = pool.allocate(kLimitBytes, "gradients");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::ResourceExhausted);
  EXPECT_NE(refused.error().message.find("the largest: 'weights'"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(pool.statistics().trims, 1U);
  EXPECT_TRUE(pool.allocate(kLimitBytes / 2, "after the cache was given back"));
  EXPECT_TRUE(pool.free(weights));
}

TEST_P(MemoryConformance, FindsWhatWasWrittenBesideMemory) {
  Pool pool(device_memory(*device_), {.guard_bytes = 256, .poison = true});
  const StreamId a = stream();
  const uint64_t x = *pool.allocate(100, "x", a);
  ASSERT_TRUE(streams_->synchronize(a)) << "the poison is work of the stream";
  EXPECT_EQ(download<uint8_t>(x, 1)[0], std::to_integer<uint8_t>(Pool::kPoison));
  ASSERT_TRUE(device_->fill(x + 100, std::byte{0}, 4));
  const auto damage = pool.check_guards();
  ASSERT_TRUE(damage && damage->size() == 1);
  EXPECT_EQ(damage->front().byte_offset, 100);
  EXPECT_EQ(damage->front().bytes, 4U);
  EXPECT_EQ(pool.free(x).error().code, ErrorCode::Corruption);
}

TEST_P(MemoryConformance, PinnedMemoryIsFreeWhenItsWorkIsDone) {
  auto source = pinned_memory(*device_);
  ASSERT_TRUE(source) << source.error().message;
  Pool pool(*std::move(source), {});
  const StreamId a = stream();
  const uint64_t target = *device_->allocate(bytes_, "target");
  for (int i = 0; i < 10; ++i) {
    const uint64_t x = *pool.allocate(bytes_, "x", a);
    std::memset(reinterpret_cast<void*>(x), i, bytes_);
    ASSERT_TRUE(streams_->upload(a, target, {reinterpret_cast<const std::byte*>(x), bytes_}));
    ASSERT_TRUE(pool.free(x));
    const uint64_t y = *pool.allocate(bytes_, "y", a);
    std::memset(reinterpret_cast<void*>(y), 99, bytes_);
    ASSERT_TRUE(streams_->synchronize(a));
    ASSERT_TRUE(pool.free(y));
    EXPECT_EQ(download<uint8_t>(target + bytes_ - 1, 1)[0], i);
  }
}

TEST_P(MemoryConformance, ServesManyThreads) {
  Pool pool(device_memory(*device_), {});
  const auto work = [&](uint32_t number) {
    const StreamId mine = stream();
    for (int i = 0; i < 50; ++i) {
      const uint64_t bytes = 1000 + 777 * static_cast<uint64_t>(i % 7);
      const auto x = pool.allocate(bytes, "x", mine);
      if (!x) return ADD_FAILURE() << x.error().message;
      std::vector<std::byte> seen(bytes);
      EXPECT_TRUE(streams_->fill(mine, *x, std::byte(number), bytes));
      EXPECT_TRUE(streams_->download(mine, seen, *x));
      EXPECT_TRUE(pool.free(*x));
      EXPECT_TRUE(streams_->synchronize(mine));
      EXPECT_EQ(seen.front(), std::byte(number));
      EXPECT_EQ(seen.back(), std::byte(number));
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 1; i <= 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.statistics().live, 0U);
}

}  // namespace
}  // namespace gpuemu
