#include "daemon/schedule/extra_slots.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/executor/plan.h"
#include "daemon/schedule/slot.h"
#include "daemon/schedule/slot_pool_options.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

SlotPoolOptions own_slots() {
  SlotPoolOptions own;
  own.count = 3;
  own.devices = 3;
  own.worker.program = GPUEMU_FAKE_WORKER;
  own.worker.backend = "emulator";
  own.worker.contraction = "never";
  own.worker.memory_limit_bytes = 12345;
  return own;
}

/// Returns the arguments with which the worker of one of its slots was started.
std::vector<std::string> started_with(SlotPool& pool) {
  auto lease = pool.acquire(nullptr);
  EXPECT_TRUE(lease && (*lease)->worker.properties());
  std::ifstream in("/proc/" + std::to_string((*lease)->worker.pid()) + "/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

std::string option(const std::vector<std::string>& words, const std::string& name) {
  const auto found = std::ranges::find(words, name);
  return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

TEST(ExtraSlots, TheOtherBackendIsTheOneThatCouldContradict) {
  const auto other = [](const std::string& own, std::vector<std::string> there) {
    SlotPoolOptions options = own_slots();
    options.worker.backend = own;
    return ExtraSlots(options, std::move(there)).other_backend();
  };
  EXPECT_EQ(other("emulator", {"emulator", "cuda"}), "cuda");
  EXPECT_EQ(other("cuda", {"emulator", "cuda"}), "emulator");
  EXPECT_EQ(other("emulator", {"emulator"}), "");
  EXPECT_EQ(other("emulator", {"emulator", "null"}), "");
}

TEST(ExtraSlots, AWorkerContractsAsItWasWished) {
  ExtraSlots side(own_slots(), {"emulator"});
  const auto pool = side.get({"emulator", "random", 77});
  ASSERT_TRUE(pool);
  const std::vector<std::string> words = started_with(**pool);
  EXPECT_EQ(option(words, "--contraction"), "random");
  EXPECT_EQ(option(words, "--contraction-seed"), "77");
  EXPECT_EQ(option(words, "--memory-limit"), "12345") << "everything else is the daemon's own";
}

TEST(ExtraSlots, WithoutAWishTheContractionIsTheDaemonsOwn) {
  ExtraSlots side(own_slots(), {"emulator"});
  EXPECT_EQ(option(started_with(**side.get({"emulator", ""})), "--contraction"), "never");
}

TEST(ExtraSlots, TheSameWishHasTheSameSlotsAndAnotherSeedOthers) {
  ExtraSlots side(own_slots(), {"emulator", "cuda"});
  SlotPool* first = *side.get({"emulator", "random", 1});
  EXPECT_EQ(first, *side.get({"emulator", "random", 1}));
  EXPECT_NE(first, *side.get({"emulator", "random", 2}));
  EXPECT_NE(first, *side.get({"emulator", "always", 1}));
  SlotPool* cuda = *side.get({"cuda", ""});
  EXPECT_NE(first, cuda);
  EXPECT_EQ(cuda->size(), 1u) << "cases on a GPU are one after the other";
  EXPECT_EQ(option(started_with(*cuda), "--backend"), "cuda");
}

TEST(ExtraSlots, ABackendThatIsNotThereIsNamedWithThoseThatAre) {
  ExtraSlots side(own_slots(), {"emulator"});
  const auto none = side.get({"cuda", ""});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::Unavailable);
  EXPECT_EQ(none.error().message,
            "no device of backend 'cuda' on this machine; there are: emulator");
}

LaneClaim claim_in(uint64_t session) {
  return std::make_shared<LaneUse>(
      std::make_shared<LaneSession>(session, fmt::format("s{}", session)), Urgency::Batch);
}

/// Such a case runs its products without fusing them: it holds its own lane, and others hold all
/// slots that fuse nothing.
TEST(ExtraSlots, ACaseThatIsCancelledDoesNotWaitForASlotWithinIt) {
  const auto own = SlotPool::create(own_slots());
  ASSERT_TRUE(own);
  ExtraSlots side(own_slots(), {"emulator"});
  SlotPool* const pool = *side.get({"emulator", "never", 0, true});
  std::vector<SlotLease> others;
  for (uint64_t i = 0; i < pool->size(); ++i) {
    auto lease = pool->acquire(claim_in(100 + i));
    ASSERT_TRUE(lease);
    others.push_back(*std::move(lease));
  }
  const LaneClaim claim = claim_in(1);
  const auto held = (*own)->acquire(claim);
  ASSERT_TRUE(held);
  std::thread waiting([&] {
    const auto lease = pool->acquire(claim);
    ASSERT_FALSE(lease);
    EXPECT_EQ(lease.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(lease.error().message, "the work was ended");
  });
  while (pool->waiting() == 0) std::this_thread::yield();
  claim->stop({LaneStop::Why::WorkEnded, "the work was ended"});
  waiting.join();
  EXPECT_EQ(pool->waiting(), 0u);
}

TEST(ExtraSlots, NothingWaitsOrBeginsAfterTheShutdown) {
  ExtraSlots side(own_slots(), {"emulator"});
  SlotPool* pool = *side.get({"emulator", "always"});
  side.shutdown();
  EXPECT_EQ(pool->acquire(nullptr).error().code, ErrorCode::Unavailable);
  EXPECT_EQ(side.get({"emulator", "always"}).error().code, ErrorCode::Unavailable);
  EXPECT_EQ(side.get({"emulator", "never"}).error().code, ErrorCode::Unavailable);
}

}  // namespace
}  // namespace gpuemu
