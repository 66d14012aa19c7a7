#include "common/base/result.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

/// Counts the objects that live.
struct Counted {
  explicit Counted(int& now) : alive(&now) { ++*alive; }
  Counted(const Counted& other) : alive(other.alive) { ++*alive; }
  Counted(Counted&& other) noexcept : alive(other.alive) { ++*alive; }
  Counted& operator=(const Counted&) = delete;
  Counted& operator=(Counted&&) = delete;
  ~Counted() { --*alive; }
  int* alive;
};

Error failure() { return error(ErrorCode::NotFound, "no result with seed {}", 7); }

TEST(Result, HoldsAValueOrAnError) {
  const Result<std::string> value = std::string("a text that does not fit into the string itself");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->size(), 47u);
  const Result<std::string> wrong = failure();
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::NotFound);
  EXPECT_EQ(wrong.error().message, "no result with seed 7");
}

TEST(Result, DestroysWhatItHeldWhenItIsAssigned) {
  int alive = 0;
  {
    Result<Counted> one = Counted(alive), other = failure();
    EXPECT_EQ(alive, 1);
    other = one;
    EXPECT_EQ(alive, 2);
    one = failure();
    EXPECT_EQ(alive, 1);
    one = std::move(other);  // A value that was moved from is a value.
    EXPECT_EQ(alive, 2);
    Result<Counted>& same = one;
    one = std::move(same);
    EXPECT_TRUE(one.ok() && other.ok());  // NOLINT(bugprone-use-after-move)
  }
  EXPECT_EQ(alive, 0);
}

TEST(Result, MovesWhatCannotBeCopied) {
  static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
  std::vector<Result<std::unique_ptr<int>>> results;
  for (int i = 0; i < 9; ++i) results.emplace_back(std::make_unique<int>(i));
  results.emplace_back(failure());
  EXPECT_EQ(**results[3], 3);
  const std::unique_ptr<int> taken = *std::move(results[4]);
  EXPECT_EQ(*taken, 4);
  EXPECT_FALSE(results.back());
}

TEST(Result, IsLeftWithItsErrorByTry) {
  const auto doubled = [](Result<int> given) -> Result<int> { return GPUEMU_TRY(given) * 2; };
  EXPECT_EQ(*doubled(21), 42);
  EXPECT_EQ(doubled(failure()).error().message, "no result with seed 7");
}

}  // namespace
}  // namespace gpuemu
