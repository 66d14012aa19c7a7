// Compares the approximate f32 functions of each instruction set, for whole registers of lanes,
// with the models of runtime/emulator/numerics/mufu.h.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/emulator/handlers/handlers.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/numerics/mufu.h"

namespace gpuemu::emulator {
namespace {

constexpr uint32_t kSign = 0x80000000, kExponent = 0x7f800000;

struct Function {
  const char* key;
  uint32_t (*model)(uint32_t);
  bool flushes = false;  ///< Subnormal inputs and results.
};
constexpr Function kFunctions[] = {
    {"rcp.approx.f32", mufu::rcp},     {"rcp.approx.ftz.f32", mufu::rcp_ftz, true},
    {"ex2.approx.f32", mufu::ex2},     {"ex2.approx.ftz.f32", mufu::ex2_ftz, true},
    {"rsqrt.approx.f32", mufu::rsqrt}, {"rsqrt.approx.ftz.f32", mufu::rsqrt_ftz, true},
    {"sqrt.approx.f32", mufu::sqrt},   {"sqrt.approx.ftz.f32", mufu::sqrt_ftz, true},
    {"lg2.approx.f32", mufu::lg2},     {"lg2.approx.ftz.f32", mufu::lg2_ftz, true},
    {"sin.approx.f32", mufu::sin},     {"sin.approx.ftz.f32", mufu::sin},
    {"cos.approx.f32", mufu::cos},     {"cos.approx.ftz.f32", mufu::cos},
    {"tanh.approx.f32", mufu::tanh}};

uint32_t flushed(uint32_t x) { return (x & kExponent) == 0 ? x & kSign : x; }
uint32_t expected(const Function& function, uint32_t x) {
  return function.flushes ? flushed(function.model(flushed(x))) : function.model(x);
}

/// A warp of which only one instruction with one source is run.
class OneWarp {
 public:
  uint32_t in[kLanes], second[kLanes], out[kLanes];

  OneWarp() {
    warp_.registers.data = reinterpret_cast<std::byte*>(this);
    step_.src[0] = static_cast<uint32_t>(reinterpret_cast<std::byte*>(in) - warp_.registers.data);
    step_.src[1] =
        static_cast<uint32_t>(reinterpret_cast<std::byte*>(second) - warp_.registers.data);
    step_.dst = static_cast<uint32_t>(reinterpret_cast<std::byte*>(out) - warp_.registers.data);
  }
  void run(Handler handler, uint32_t mask = kNone) {
    warp_.masks.running = mask;
    handler(warp_, step_);
  }

 private:
  Warp warp_;
  Step step_;
};

/// The instruction sets that this processor has.
std::vector<InstructionSet> available_sets() {
  std::vector<InstructionSet> all;
  for (const InstructionSet& set : instruction_sets()) {
    if (set.available()) {
      all.push_back(set);
    }
  }
  return all;
}

/// The portable set calls the models, for which every input is too much.
std::vector<InstructionSet> sets_to_compare() {
  std::vector<InstructionSet> all = available_sets();
#ifdef GPUEMU_SLOW_TESTS
  std::erase_if(all, [](const InstructionSet& set) { return set.name == "portable"; });
#endif
  return all;
}

class MufuLanes : public testing::TestWithParam<Function> {
 protected:
  struct Candidate {
    std::string_view set;
    Handler run;
  };
  static std::vector<Candidate> candidates() {
    std::vector<Candidate> all;
    for (const InstructionSet& set : sets_to_compare()) {
      all.push_back({set.name, set.table().at(GetParam().key).run});
    }
    return all;
  }
  static void expect_models(OneWarp& warp, const std::vector<Candidate>& candidates) {
    uint32_t want[kLanes];
    for (uint32_t lane = 0; lane < kLanes; ++lane) want[lane] = expected(GetParam(), warp.in[lane]);
    for (const Candidate& candidate : candidates) {
      warp.run(candidate.run);
      if (std::memcmp(warp.out, want, sizeof want) == 0) continue;
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        ASSERT_EQ(warp.out[lane], want[lane])
            << candidate.set << ": " << GetParam().key << " of 0x" << std::hex << warp.in[lane];
      }
    }
  }
  /// The inputs `first`, `first + step` ... up to `last`. Ends at the first difference.
  static void expect_models(uint64_t first, uint64_t last, uint32_t step) {
    const std::vector<Candidate> all = candidates();
    OneWarp warp;
    for (uint64_t x = first; x <= last && !HasFatalFailure(); x += uint64_t{step} * kLanes) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        warp.in[lane] = static_cast<uint32_t>(x + uint64_t{step} * lane);
      }
      expect_models(warp, all);
    }
  }
};

#ifdef GPUEMU_SLOW_TESTS
TEST_P(MufuLanes, AnswerEveryInputLikeTheModels) {
  const uint64_t count = std::max(1u, std::thread::hardware_concurrency());
  const uint64_t each = ((uint64_t{1} << 32) / count + kLanes) / kLanes * kLanes;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < count; ++t) {
    threads.emplace_back(
        [=] { expect_models(t * each, std::min((t + 1) * each, uint64_t{1} << 32) - 1, 1); });
  }
  for (std::thread& thread : threads) thread.join();
}
#else
TEST_P(MufuLanes, AnswerLikeTheModels) {
  constexpr uint32_t kPrime = 4093;
  expect_models(0, 0xffffffff, kPrime);
}

TEST_P(MufuLanes, AnswerLikeTheModelsAroundPowersOfTwo) {
  for (uint64_t exponent = 0; exponent < 512; ++exponent) {
    const uint64_t power = exponent << 23;
    expect_models(power < kLanes ? 0 : power - kLanes, power + kLanes - 1, 1);
    expect_models(power, power + (1u << 23) - 1, (1u << 23) / kLanes - 1);
  }
}

TEST_P(MufuLanes, LeaveTheResultsOfOtherLanesAlone) {
  constexpr uint32_t kMask = 0x8001a5f0, kBefore = 0x12345678;
  for (const InstructionSet& set : available_sets()) {
    OneWarp warp;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      warp.in[lane] = 0x3f000000 + (lane << 18);
      warp.out[lane] = kBefore;
    }
    warp.run(set.table().at(GetParam().key).run, kMask);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      EXPECT_EQ(warp.out[lane],
                (kMask >> lane & 1) != 0 ? expected(GetParam(), warp.in[lane]) : kBefore)
          << set.name << " lane " << lane;
    }
  }
}

/// Lane by lane, with the model of rcp: what every processor can do.
TEST(DivideLanes, AnswerLikeThoseOfThePortableSet) {
  std::mt19937 random(7);
  const uint32_t edges[] = {0,          1,          0x007fffff, 0x00800000, 0x00800001, 0x01000000,
                            0x1f800000, 0x3f7fffff, 0x3f800000, 0x3fc00000, 0x5e800000, 0x7e7fffff,
                            0x7e800000, 0x7e800001, 0x7effffff, 0x7f7fffff, 0x7f800000, 0x7f800001};
  const auto number = [&] {
    const auto drawn = static_cast<uint32_t>(random());
    return random() % 8 == 0 ? edges[random() % std::size(edges)] | (drawn & kSign) : drawn;
  };
  const Table& portable = instruction_sets().front().table();
  OneWarp warp;
  for (uint32_t round = 0; round < 20'000; ++round) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      warp.in[lane] = number();
      // Quotients around the least normal number, too.
      warp.second[lane] =
          round % 2 != 0 ? number() : warp.in[lane] + 0x3f000000 + number() % 0x1000000;
    }
    for (const char* key :
         {"div.full.f32", "div.full.ftz.f32", "div.approx.f32", "div.approx.ftz.f32"}) {
      warp.run(portable.at(key).run);
      const std::vector<uint32_t> want(std::begin(warp.out), std::end(warp.out));
      for (const InstructionSet& set : available_sets()) {
        warp.run(set.table().at(key).run);
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
          ASSERT_EQ(warp.out[lane], want[lane]) << set.name << ": " << key << " of 0x" << std::hex
                                                << warp.in[lane] << " and 0x" << warp.second[lane];
        }
      }
    }
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(All, MufuLanes, testing::ValuesIn(kFunctions), [](const auto& made) {
  std::string name = made.param.key;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace gpuemu::emulator
