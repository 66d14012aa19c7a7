// Tests that modules are loaded once and compiled once, and list their contents.
#include "ops/modules/module_cache.h"

#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/backends/backends.h"

namespace gpuemu {
namespace {

constexpr const char* kPtx = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry first(.param .u64 p) { .shared .align 4 .b8 s[64]; ret; }
.visible .entry second() { ret; }
)";
constexpr const char* kCast = R"(
template <typename From, typename To>
__global__ void cast(const From* x, To* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = (To)x[i];
  }
}
)";

class Modules : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("gpuemu-modules-{}", ::getpid());
    auto device = open_device({.backend = "emulator", .threads = 1});
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
    renew();
  }
  void TearDown() override {
    cache_.reset();
    std::filesystem::remove_all(folder_);
  }
  void renew() {
    auto cache = ModuleCache::create(*device_, folder_);
    ASSERT_TRUE(cache) << cache.error().message;
    cache_ = *std::move(cache);
  }

  std::string folder_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<ModuleCache> cache_;
};

TEST_F(Modules, LoadATextOnceHoweverItIsNamed) {
  const auto first = cache_->entry(kPtx, "a.ptx", "first");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ((*first)->info.static_shared_bytes, 64U);
  EXPECT_EQ((*first)->info.params.size(), 1U);
  ASSERT_TRUE(cache_->entry(kPtx, "b.ptx", "second"));
  EXPECT_EQ(*cache_->entry(kPtx, "a.ptx", "first"), *first);
  EXPECT_EQ(cache_->counts().modules, 1U);
  EXPECT_EQ(cache_->counts().hits, 1U);
}

TEST_F(Modules, AreLoadedOnceForThreadsThatAskAtOnce) {
  constexpr int kThreads = 4;
  std::vector<const LoadedEntry*> found(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        const auto entry = cache_->entry(kPtx, "a.ptx", round % 2 == 0 ? "first" : "second");
        ASSERT_TRUE(entry) << entry.error().message;
        if (round == 0) found[static_cast<size_t>(i)] = *entry;
        EXPECT_FALSE(cache_->entry(kPtx, "a.ptx", "third"));
        EXPECT_EQ(cache_->counts().modules, 1U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const LoadedEntry* entry : found) EXPECT_EQ(entry, found[0]);
}

TEST_F(Modules, ListTheirEntriesWhenOneIsMissing) {
  const auto missing = cache_->entry(kPtx, "a.ptx", "frist");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_NE(missing.error().message.find("first"), std::string::npos) << missing.error().message;
  EXPECT_NE(missing.error().message.find("second"), std::string::npos);
  EXPECT_FALSE(cache_->entry("this is no PTX", "c.ptx", "first"));
}

TEST_F(Modules, InstantiateOneSourceForWhatIsAskedAndKeepItOnDisk) {
  const ModuleSource source{.name = "cast.cu", .text = kCast};
  const auto first = cache_->instance(source, "cast<float, int>");
  if (!first && first.error().code == ErrorCode::Unsupported) GTEST_SKIP() << first.error().message;
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ((*first)->info.params.size(), 3U);
  EXPECT_EQ(*cache_->instance(source, "cast<float, int>"), *first);
  EXPECT_EQ(cache_->counts().compiled, 1U);
  const std::string entry = (*first)->info.name;
  renew();  // Another process: the compiled text is on disk.
  ASSERT_FALSE(std::filesystem::is_empty(folder_));
  const auto again = cache_->instance(source, "cast<float, int>");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->info.name, entry);
}

}  // namespace
}  // namespace gpuemu
