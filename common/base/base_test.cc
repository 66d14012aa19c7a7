// Results, bounded bytes, hashes and threads.
#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include "common/base/blake2.h"
#include "common/base/bytes.h"
#include "common/base/device_checks.h"
#include "common/base/enum_count.h"
#include "common/base/processors.h"
#include "common/base/result.h"
#include "common/base/threads.h"
#include "common/base/utf8.h"

namespace gpuemu {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return error(ErrorCode::InvalidArgument, "{} is odd", value);
  return value / 2;
}

Result<int> quarter(int value) { return half(GPUEMU_TRY(half(value))); }

TEST(Result, TryPassesTheFirstErrorOn) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
}

TEST(ByteReader, RefusesEveryTruncation) {
  ByteWriter out;
  out.write_string("name");
  out.write(uint64_t{7});
  const std::vector<std::byte> bytes = out.take();
  for (size_t length = 0; length < bytes.size(); ++length) {
    ByteReader in{std::span<const std::byte>(bytes).first(length)};
    const auto name = in.read_string();
    EXPECT_FALSE(name && in.read<uint64_t>()) << "cut at " << length;
  }
}

TEST(ByteReader, RefusesALengthBeyondTheEnd) {
  ByteWriter out;
  out.write(uint64_t{1} << 60);
  ByteReader in(out.bytes());
  EXPECT_EQ(in.read_blob().error().code, ErrorCode::Corruption);
}

TEST(Blake2, DigestLengthTakesPartInTheHash) {
  const auto eight = blake2b_8({"abc"});
  const auto sixteen = blake2b_16({"abc"});
  EXPECT_FALSE(std::equal(eight.begin(), eight.end(), sixteen.begin()));
  EXPECT_EQ(content_hash({"a", "bc"}), content_hash({"abc"}));
  EXPECT_EQ(content_hash({"abc"}), "cf4ab791c62b8d2b2109c90275287816");
}

TEST(Threads, TakeEveryTaskOnceHoweverManyThereAre) {
  for (const size_t count : {0, 1, 7}) {
    std::atomic<int> next{0}, done{0};
    run_on_threads(count, [&] {
      while (next++ < 100) ++done;
    });
    EXPECT_EQ(done, 100) << count << " threads";
  }
}

TEST(Processors, AHelperStaysOffItsMakersProcessor) {
  cpu_set_t mine, given;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(mine), &mine), 0);
  if (CPU_COUNT(&mine) < 2) GTEST_SKIP() << "one processor";
  std::promise<void> asked;
  std::thread helper([&] { asked.get_future().wait(); });
  keep_off_my_processor(helper.native_handle());
  ASSERT_EQ(::pthread_getaffinity_np(helper.native_handle(), sizeof(given), &given), 0);
  asked.set_value();
  helper.join();
  EXPECT_EQ(CPU_COUNT(&given), CPU_COUNT(&mine) - 1);
  cpu_set_t both;
  CPU_AND(&both, &given, &mine);
  EXPECT_TRUE(CPU_EQUAL(&both, &given)) << "a processor that the process may not use";
}

TEST(Utf8, KnowsWellFormedText) {
  for (const char* good : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad :
       {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

TEST(DeviceChecks, AreASetWithNames) {
  const auto checks = device_checks_from_names({"race", "memory", "race"});
  ASSERT_TRUE(checks) << checks.error().message;
  EXPECT_EQ(*checks, (DeviceChecks{DeviceCheck::Memory, DeviceCheck::Race}));
  EXPECT_EQ(names_of(*checks), (std::vector<std::string>{"memory", "race"}));
  EXPECT_EQ(DeviceChecks::from_bits(checks->bits()), *checks);
  EXPECT_EQ(names_of(DeviceChecks::from_bits(~uint32_t{0})).size(), enum_count<DeviceCheck>());
  const auto wrong = device_checks_from_names({"memory", "rase"});
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().message.starts_with("no check is called 'rase'; there are memory, "))
      << wrong.error().message;
}

enum class Colour : uint8_t { Red, Green, Blue };
enum class Single { One };
static_assert(enum_count<Colour>() == 3 && enum_count<Single>() == 1);
static_assert(enum_count<ErrorCode>() == static_cast<size_t>(ErrorCode::Internal) + 1);

}  // namespace
}  // namespace gpuemu
