// Tests the pool on streams whose seeded schedule reveals a missing wait.
#include "ops/memory/pool.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "ops/memory/device_fixture.h"

namespace gpuemu {
namespace {

constexpr uint64_t kMiB = 1 << 20;

struct World {
  explicit World(PoolOptions options = {}, uint64_t seed = 0, uint64_t memory = 64 * kMiB)
      : device(std::make_unique<TestDevice>(memory, seed)),
        streams(*device->streams()),
        pool(device_memory(*device), options) {}

  StreamId stream() { return *streams->make_stream({0, true}); }
  uint64_t get(uint64_t bytes, const char* name = "x", StreamId stream = kDefaultStream) {
    const auto address = pool.allocate(bytes, name, stream);
    EXPECT_TRUE(address) << address.error().message;
    return address ? *address : 0;
  }
  std::byte first_of(uint64_t address) {
    std::byte value{};
    EXPECT_TRUE(device->download({&value, 1}, address));
    return value;
  }

  std::unique_ptr<Device> device;
  Streams* streams;
  Pool pool;
};

TEST(SizeClasses, WasteANinthAtMostAndFitTheirBins) {
  const memory::SizeClasses classes(8);
  uint64_t last = 0;
  for (uint64_t bytes = 1; bytes < 40 * kMiB; bytes += bytes / 50 + 1) {
    const uint64_t size = classes.round_up(bytes);
    ASSERT_GE(size, bytes);
    ASSERT_GE(size, last);
    ASSERT_EQ(classes.round_up(size), size);
    if (bytes > 64 * memory::kGranule) {
      ASSERT_LT(static_cast<double>(size - bytes), static_cast<double>(size) / 9 + 256);
    }
    const auto place = classes.of(size),
               below = classes.of(size - memory::kGranule + (size == 256 ? 256 : 0));
    ASSERT_TRUE(size == 256 ||
                std::pair(below.level, below.step) <= std::pair(place.level, place.step));
    last = size;
  }
}

TEST(AddressMap, FindsWhatIsInItWhateverCameAndWent) {
  memory::AddressMap map;
  std::map<uint64_t, memory::Block*> truth;
  std::vector<memory::Block> blocks(64);
  std::mt19937_64 draw(7);
  EXPECT_EQ(map.find(256), nullptr);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t address = (1 + draw() % 300) * memory::kGranule;
    memory::Block* block = &blocks[draw() % blocks.size()];
    if (truth.erase(address) != 0) {
      map.erase(address);
    } else {
      map.insert(address, truth[address] = block);
    }
    const uint64_t asked = (1 + draw() % 300) * memory::kGranule;
    const auto expected = truth.find(asked);
    ASSERT_EQ(map.find(asked), expected == truth.end() ? nullptr : expected->second) << i;
  }
  std::map<uint64_t, memory::Block*> seen;
  map.for_each([&](uint64_t address, memory::Block& block) { seen[address] = &block; });
  EXPECT_EQ(seen, truth);
}

/// The allocations and frees of a worker while it fuzzed: "a ID BYTES" and "f ID".
double fragmentation_of_fuzzing(uint32_t classes_per_doubling) {
  World world({.classes_per_doubling = classes_per_doubling});
  std::ifstream trace(GPUEMU_SOURCE_DIR "/bench/fuzz_allocations.txt");
  std::map<uint64_t, uint64_t> live;
  uint64_t id = 0, bytes = 0;
  for (std::string what; trace >> what >> id;) {
    if (what == "a" && trace >> bytes) {
      live[id] = world.get(bytes);
      continue;
    }
    EXPECT_TRUE(world.pool.free(live.at(id)));
  }
  EXPECT_GE(world.pool.statistics().allocations, 1000U);
  return world.pool.statistics().fragmentation();
}

TEST(Pool, WastesLittleOnARecordedTraceOfFuzzing) {
  const double ours = fragmentation_of_fuzzing(memory::kStepsUsual);
  EXPECT_LT(ours, 0.15);
  EXPECT_LT(ours, fragmentation_of_fuzzing(1) / 2) << "powers of two";
}

TEST(Pool, GivesFreedMemoryAgainWithoutTheDevice) {
  World world;
  const uint64_t first = world.get(1000);
  EXPECT_EQ(first % 256, 0U);
  EXPECT_TRUE(world.pool.free(first));
  EXPECT_EQ(world.get(900), first);
  const PoolStatistics now = world.pool.statistics();
  EXPECT_EQ(now.allocations, 2U);
  EXPECT_EQ(now.from_cache, 1U);
  EXPECT_EQ(now.segments_taken, 1U);
  EXPECT_EQ(now.live, 1U);
  EXPECT_EQ(now.requested_bytes, 900U);
  EXPECT_EQ(now.allocated_bytes, 1024U);
  EXPECT_EQ(now.cached_bytes(), now.reserved_bytes - 1024);
}

TEST(Pool, RefusesWhatItDidNotGive) {
  World world;
  const uint64_t address = world.get(64);
  EXPECT_EQ(world.pool.free(address + 1).error().code, ErrorCode::InvalidArgument);
  EXPECT_TRUE(world.pool.free(address));
  EXPECT_EQ(world.pool.free(address).error().code, ErrorCode::InvalidArgument);
  EXPECT_FALSE(world.pool.used_by(address, 0));
  EXPECT_NE(world.get(0), world.get(0));
}

TEST(Pool, SplitsAndJoins) {
  World world;
  const uint64_t whole = world.get(512 << 10);
  EXPECT_TRUE(world.pool.free(whole));
  std::vector<uint64_t> parts;
  for (int i = 0; i < 8; ++i) parts.push_back(world.get(64 << 10));
  EXPECT_EQ(world.pool.statistics().segments_taken, 1U);
  for (const size_t i : {1U, 3U, 2U, 0U, 7U, 5U, 6U, 4U}) EXPECT_TRUE(world.pool.free(parts[i]));
  EXPECT_EQ(world.get(512 << 10), whole) << "all parts joined again";
}

TEST(Pool, NeverGivesTheSameByteTwice) {
  World world;
  std::mt19937 random(1);
  std::map<uint64_t, uint64_t> live;
  std::vector<StreamId> streams = {kDefaultStream, world.stream(), world.stream()};
  for (int i = 0; i < 3000; ++i) {
    if (live.size() < 40 && random() % 5 < 3) {
      const uint64_t bytes = random() % (uint64_t{1} << (random() % 16));
      const uint64_t address = world.get(bytes, "x", streams[random() % 3]);
      const auto after = live.lower_bound(address);
      ASSERT_TRUE(after == live.end() || address + bytes <= after->first);
      ASSERT_TRUE(after == live.begin() ||
                  std::prev(after)->first + std::prev(after)->second <= address);
      live[address] = bytes;
    } else if (!live.empty()) {
      const auto victim = std::next(live.begin(), static_cast<int>(random() % live.size()));
      ASSERT_TRUE(world.pool.free(victim->first));
      live.erase(victim);
    }
    if (i % 500 == 0) {
      ASSERT_TRUE(world.pool.empty());
    }
  }
  uint64_t bytes = 0;
  for (const auto& [address, size] : live) bytes += size;
  EXPECT_EQ(world.pool.statistics().requested_bytes, bytes);
  for (const auto& [address, size] : live) ASSERT_TRUE(world.pool.free(address));
  ASSERT_TRUE(world.pool.empty());
  EXPECT_EQ(world.pool.statistics().reserved_bytes, 0U);
  EXPECT_EQ(world.device->memory()->free_bytes, 64 * kMiB);
}

/// Stream b gets the memory that stream a has freed while a's work still waits.
TEST(Pool, AnotherStreamWaitsForMemoryThatIsInUse) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    World world({.limit_bytes = 64 << 10}, seed);
    const uint64_t kept = *world.device->allocate(64 << 10, "kept");
    const StreamId a = world.stream(), b = world.stream();
    const uint64_t x = world.get(64 << 10, "x", a);
    ASSERT_TRUE(world.streams->fill(a, x, std::byte{1}, 64 << 10));
    ASSERT_TRUE(world.streams->copy(a, kept, x, 64 << 10));
    ASSERT_TRUE(world.pool.free(x));
    const uint64_t y = world.get(64 << 10, "y", b);
    ASSERT_EQ(y, x);
    ASSERT_TRUE(world.streams->fill(b, y, std::byte{2}, 64 << 10));
    ASSERT_TRUE(world.streams->synchronize_all());
    EXPECT_EQ(world.first_of(kept), std::byte{1}) << "seed " << seed;
    EXPECT_EQ(world.pool.statistics().cross_stream, 1U);
  }
}

TEST(Pool, MemoryThatTwoStreamsUseWaitsForBoth) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    World world({}, seed);
    const uint64_t kept = *world.device->allocate(4096, "kept");
    const StreamId a = world.stream(), b = world.stream();
    const EventId filled = *world.streams->make_event();
    const uint64_t x = world.get(4096, "x", a);
    ASSERT_TRUE(world.streams->fill(a, x, std::byte{1}, 4096));
    ASSERT_TRUE(world.streams->record(filled, a));
    ASSERT_TRUE(world.streams->wait_event(b, filled));
    ASSERT_TRUE(world.streams->copy(b, kept, x, 4096));
    ASSERT_TRUE(world.pool.used_by(x, b));
    ASSERT_TRUE(world.pool.free(x));
    const uint64_t y = world.get(4096, "y", a);
    ASSERT_EQ(y, x);
    ASSERT_TRUE(world.streams->fill(a, y, std::byte{2}, 4096));
    ASSERT_TRUE(world.streams->synchronize_all());
    EXPECT_EQ(world.first_of(kept), std::byte{1}) << "seed " << seed;
  }
}

TEST(Pool, MemoryOfAThreadsStreamIsSafeForOthers) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    World world({.limit_bytes = 64 << 10}, seed);
    const uint64_t kept = *world.device->allocate(64 << 10, "kept");
    uint64_t x = 0;
    std::thread([&] {
      x = world.get(64 << 10, "x", kPerThreadStream);
      ASSERT_TRUE(world.streams->fill(kPerThreadStream, x, std::byte{1}, 64 << 10));
      ASSERT_TRUE(world.streams->copy(kPerThreadStream, kept, x, 64 << 10));
      ASSERT_TRUE(world.pool.free(x));
    }).join();
    const uint64_t y = world.get(64 << 10, "y", kPerThreadStream);
    ASSERT_EQ(y, x);
    ASSERT_TRUE(world.streams->fill(kPerThreadStream, y, std::byte{2}, 64 << 10));
    ASSERT_TRUE(world.streams->synchronize_all());
    EXPECT_EQ(world.first_of(kept), std::byte{1}) << "seed " << seed;
  }
}

TEST(Pool, ForgetsAStreamBeforeItIsFreed) {
  World world({.limit_bytes = 64 << 10}, 3);
  const StreamId a = world.stream(), b = world.stream();
  const uint64_t x = world.get(32 << 10, "x", a), live = world.get(1024, "live", a);
  ASSERT_TRUE(world.pool.free(x));
  ASSERT_TRUE(world.pool.forget_stream(a));
  ASSERT_TRUE(world.streams->free_stream(a));
  EXPECT_TRUE(world.pool.free(live));
  world.get(60 << 10, "y", b);
}

TEST(Pool, GivesCachedMemoryBackBeforeItIsOut) {
  World world({.limit_bytes = kMiB});
  const StreamId a = world.stream();
  std::vector<uint64_t> parts;
  for (int i = 0; i < 16; ++i) parts.push_back(world.get(64 << 10, "part", i % 2 == 0 ? a : 0));
  for (const uint64_t part : parts) ASSERT_TRUE(world.pool.free(part));
  EXPECT_EQ(world.pool.statistics().reserved_bytes, kMiB);
  world.get(kMiB, "whole");
  EXPECT_EQ(world.pool.statistics().trims, 1U);
  EXPECT_EQ(world.pool.statistics().reserved_bytes, kMiB);
}

TEST(Pool, SaysWhoHoldsTheMemoryThatIsOut) {
  World world({}, 0, kMiB);
  world.get(700 << 10, "weights");
  world.get(100 << 10, "activations");
  const uint64_t cached = world.get(64 << 10, "cached");
  ASSERT_TRUE(world.pool.free(cached));
  const auto refused = world.pool.allocate(kMiB, "gradients");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::ResourceExhausted);
  const std::string& text = refused.error().message;
  for (const char* part : {"'gradients' requested 1048576 bytes", "are free on the device",
                           "cached", "'weights' 716800, 'activations' 102400"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
  EXPECT_FALSE(world.pool.allocate(~uint64_t{0}, "huge"));
  world.get(64 << 10, "after");
}

TEST(Pool, TrimsToATarget) {
  World world;
  std::vector<uint64_t> parts;
  for (int i = 0; i < 8; ++i) parts.push_back(world.get(kMiB));
  for (const uint64_t part : parts) ASSERT_TRUE(world.pool.free(part));
  ASSERT_TRUE(world.pool.trim(3 * kMiB));
  EXPECT_LE(world.pool.statistics().reserved_bytes, 3 * kMiB);
  EXPECT_GT(world.pool.statistics().reserved_bytes, kMiB);
  ASSERT_TRUE(world.pool.empty());
  EXPECT_EQ(world.pool.statistics().reserved_bytes, 0U);
  EXPECT_GE(world.pool.statistics().peak_reserved_bytes, 8 * kMiB);
}

TEST(Pool, GuardsTellWhatWasWrittenBesideMemory) {
  World world({.guard_bytes = 100, .poison = true});
  const uint64_t x = world.get(100, "x"), y = world.get(100, "y"), z = world.get(100, "z");
  EXPECT_EQ(world.first_of(x), Pool::kPoison);
  EXPECT_EQ(world.first_of(x + 99), Pool::kPoison);
  EXPECT_TRUE(world.pool.check_guards()->empty());
  ASSERT_TRUE(world.device->fill(x + 100, std::byte{0}, 3));
  ASSERT_TRUE(world.device->fill(y - 8, std::byte{0}, 8));
  const auto damages = world.pool.check_guards();
  ASSERT_TRUE(damages);
  ASSERT_EQ(damages->size(), 2U);
  const Status freed = world.pool.free(x);
  ASSERT_FALSE(freed);
  EXPECT_EQ(freed.error().code, ErrorCode::Corruption);
  EXPECT_EQ(freed.error().message, "3 bytes beside 'x' were written, the first at 100");
  EXPECT_NE(world.pool.free(y).error().message.find("the first at -8"), std::string::npos);
  EXPECT_TRUE(world.pool.free(z));
  EXPECT_EQ(world.pool.statistics().live, 0U);
}

TEST(Pool, KeepsWhatACaptureUses) {
  World world;
  const StreamId a = world.stream();
  const uint64_t before = world.get(4096, "before", world.stream());
  ASSERT_TRUE(world.pool.free(before));
  ASSERT_TRUE(world.streams->begin_capture(a));
  const uint64_t x = world.get(4096, "x", a);
  EXPECT_NE(x, before) << "waiting for another stream would spoil the capture";
  EXPECT_EQ(world.pool.free(x).error().code, ErrorCode::InvalidArgument);
  const auto graph = world.streams->end_capture(a);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_TRUE(world.pool.free(x));
}

TEST(PinnedPool, KeepsMemoryFromTheHostUntilItIsOutOfUse) {
  const std::unique_ptr<Device> device = std::make_unique<TestDevice>(64 * kMiB, 5);
  Streams* streams = *device->streams();
  Pool pool(*pinned_memory(*device), {});
  const StreamId a = *streams->make_stream({0, true});
  const uint64_t target = *device->allocate(4096, "target");
  const uint64_t x = *pool.allocate(4096, "x", a);
  std::memset(reinterpret_cast<void*>(x), 7, 4096);
  ASSERT_TRUE(streams->upload(a, target, {reinterpret_cast<const std::byte*>(x), 4096}));
  ASSERT_TRUE(pool.free(x));
  const uint64_t y = *pool.allocate(4096, "y", a);
  EXPECT_NE(y, x) << "the upload has not read it yet";
  ASSERT_TRUE(streams->synchronize(a));
  EXPECT_EQ(*pool.allocate(4096, "z", a), x);
}

TEST(Pool, ServesManyThreads) {
  World world;
  const auto work = [&](uint32_t number) {
    const StreamId mine = world.stream();
    std::mt19937 random(number);
    for (int i = 0; i < 60; ++i) {
      const uint64_t bytes = 1 + random() % 20000;
      const uint64_t x = world.get(bytes, "x", i % 3 == 0 ? kPerThreadStream : mine);
      const StreamId used = i % 3 == 0 ? kPerThreadStream : mine;
      std::vector<std::byte> seen(bytes);
      EXPECT_TRUE(world.streams->fill(used, x, std::byte(number), bytes));
      EXPECT_TRUE(world.streams->download(used, seen, x));
      if (i % 4 == 0) {
        EXPECT_TRUE(world.streams->synchronize(used));
        EXPECT_EQ(std::ranges::count(seen, std::byte(number)), static_cast<int64_t>(bytes));
        EXPECT_TRUE(world.pool.free(x));
      } else {
        EXPECT_TRUE(world.pool.free(x));
        EXPECT_TRUE(world.streams->synchronize(used));
      }
      if (i % 20 == 0) {
        EXPECT_TRUE(world.pool.trim(kMiB));
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 1; i <= 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world.pool.statistics().live, 0U);
}

TEST(Pool, HoldsItsLimitForManyThreads) {
  World world({.limit_bytes = kMiB});
  const uint64_t held = world.get(700 << 10, "held");
  std::atomic<int> refused = 0;
  const auto work = [&](uint32_t number) {
    const StreamId mine = world.stream();
    std::mt19937 random(number);
    for (int i = 0; i < 60; ++i) {
      std::vector<uint64_t> pieces;
      for (int n = 0; n < 3; ++n) {
        const auto made = world.pool.allocate(60'000 + random() % 100'000, "piece", mine);
        if (made) {
          pieces.push_back(*made);
          EXPECT_TRUE(world.streams->fill(mine, *made, std::byte(number), 60'000));
          continue;
        }
        ++refused;
        EXPECT_EQ(made.error().code, ErrorCode::ResourceExhausted);
        for (const char* part : {"the pool's limit of 1048576 bytes is reached", "'held' 716800"}) {
          EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
        }
      }
      EXPECT_LE(world.pool.statistics().reserved_bytes, kMiB);
      for (const uint64_t piece : pieces) {
        std::byte seen{};
        EXPECT_TRUE(world.streams->download(mine, {&seen, 1}, piece + 59'999));
        EXPECT_TRUE(world.streams->synchronize(mine));
        EXPECT_EQ(seen, std::byte(number));
        EXPECT_TRUE(world.pool.free(piece));
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 1; i <= 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(refused, 0) << "three pieces of 110 KB often do not fit beside 700 KiB";
  EXPECT_TRUE(world.pool.free(held));
  EXPECT_EQ(world.pool.statistics().live, 0U);
  world.get(kMiB, "all of it");
}

}  // namespace
}  // namespace gpuemu
