// Tests which calls count as the same.
#include "ops/dispatch/recent_calls.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

struct Laid {
  std::vector<int64_t> shape, strides;
  DeviceTensor view(uint64_t address = 256, DType dtype = DType::Float32) const {
    return {address, dtype, shape, strides};
  }
};

CallKey key_of(const std::vector<DeviceTensor>& tensors, const std::vector<std::byte>& bytes = {}) {
  CallKey key;
  EXPECT_TRUE(key.add(std::span<const DeviceTensor>(tensors)));
  EXPECT_TRUE(key.add(std::span<const std::byte>(bytes)));
  return key;
}

DecidedCall launching(FunctionId function) {
  DecidedCall call;
  call.steps.push_back({{}, function, {}});
  return call;
}

TEST(CallKey, IsTheSameForTheSameOperandsWhereverTheirShapesLie) {
  const Laid one{{2, 3}, {3, 1}}, same{{2, 3}, {3, 1}};
  EXPECT_EQ(key_of({one.view()}), key_of({same.view()}));
}

TEST(CallKey, DiffersWithEverythingThatACallIsDecidedFrom) {
  const Laid one{{2, 3}, {3, 1}}, turned{{3, 2}, {1, 3}}, wide{{2, 3}, {4, 1}}, flat{{6}, {1}};
  const CallKey key = key_of({one.view()}, {std::byte{1}});
  EXPECT_NE(key, key_of({one.view(512)}, {std::byte{1}}));
  EXPECT_NE(key, key_of({one.view(256, DType::Float16)}, {std::byte{1}}));
  EXPECT_NE(key, key_of({turned.view()}, {std::byte{1}}));
  EXPECT_NE(key, key_of({wide.view()}, {std::byte{1}}));
  EXPECT_NE(key, key_of({flat.view()}, {std::byte{1}}));
  EXPECT_NE(key, key_of({one.view(), one.view()}, {std::byte{1}}));
  EXPECT_NE(key, key_of({one.view()}, {std::byte{2}}));
  EXPECT_NE(key, key_of({one.view()}, {std::byte{1}, std::byte{0}})) << "bytes of a longer schema";
  EXPECT_NE(key, key_of({one.view()}));
}

TEST(CallKey, HasNoRoomForManyOperandsOfManyAxes) {
  const Laid large{std::vector<int64_t>(8, 1), std::vector<int64_t>(8, 1)};
  const std::vector<DeviceTensor> many(4, large.view());
  CallKey key;
  EXPECT_FALSE(key.add(std::span<const DeviceTensor>(many)));
}

TEST(RecentCalls, FindsWhatWasKeptAndNothingElse) {
  RecentCalls calls;
  const Laid one{{4}, {1}};
  EXPECT_EQ(calls.find(key_of({one.view()})), nullptr);
  for (uint64_t address = 256; address < 2048; address += 256) {
    calls.keep(key_of({one.view(address)}), launching(address));
  }
  const DecidedCall* const last = calls.find(key_of({one.view(1792)}));
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->steps[0].function, 1792U);
  EXPECT_EQ(calls.find(key_of({one.view(2048)})), nullptr);
}

TEST(RecentCalls, ForgetsOldOnesForNewOnes) {
  RecentCalls calls;
  const Laid one{{4}, {1}};
  size_t found = 0;
  for (uint64_t i = 1; i <= 4096; ++i) calls.keep(key_of({one.view(i * 256)}), launching(i));
  for (uint64_t i = 1; i <= 4096; ++i) {
    const DecidedCall* const call = calls.find(key_of({one.view(i * 256)}));
    if (call == nullptr) continue;
    ++found;
    EXPECT_EQ(call->steps[0].function, i);
  }
  EXPECT_GT(found, 0U);
  EXPECT_LT(found, 4096U);
}

}  // namespace
}  // namespace gpuemu
