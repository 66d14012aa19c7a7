// The models against what an NVIDIA H200 (driver 580.159.04, code of ptxas 13.0 for sm_90) answered
// on 21 November 2026. mufu_checksums.bin has 4096 numbers of 32 bits a function, in the order
// below. Number c covers the inputs i from c * 2^20 on, 2^20 of them: the low bits of the sum of
// mix(i * 2^32 xor result * 0x9e3779b97f4a7c15). For the seeds of f64, i and the result are high
// words.
#include "runtime/emulator/numerics/mufu.h"

#include <algorithm>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace gpuemu::emulator {
namespace {

struct Model {
  const char* name;
  uint32_t (*function)(uint32_t);
  bool high_words = false;
};
constexpr Model kModels[] = {{"cos", mufu::cos},
                             {"ex2", mufu::ex2},
                             {"ex2_ftz", mufu::ex2_ftz},
                             {"lg2", mufu::lg2},
                             {"lg2_ftz", mufu::lg2_ftz},
                             {"rcp", mufu::rcp},
                             {"rcp_ftz", mufu::rcp_ftz},
                             {"rsqrt", mufu::rsqrt},
                             {"rsqrt_ftz", mufu::rsqrt_ftz},
                             {"sin", mufu::sin},
                             {"sqrt", mufu::sqrt},
                             {"sqrt_ftz", mufu::sqrt_ftz},
                             {"tanh", mufu::tanh},
                             {"rcp_high", mufu::rcp_high, true},
                             {"rsqrt_high", mufu::rsqrt_high, true}};
constexpr uint32_t kBlocks = 4096;

uint64_t mix(uint64_t z) {
  z ^= z >> 30;
  z *= 0xbf58476d1ce4e5b9u;
  z ^= z >> 27;
  z *= 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint32_t checksum(const Model& model, uint32_t block) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 1u << 20; ++i) {
    const uint32_t in = block << 20 | i;
    const uint64_t out = uint64_t{model.function(in)} << (model.high_words ? 32 : 0);
    sum += mix((uint64_t{in} << 32) ^ out * 0x9e3779b97f4a7c15u);
  }
  return static_cast<uint32_t>(sum);
}

std::vector<uint32_t> recorded() {
  std::vector<uint32_t> sums(std::size(kModels) * kBlocks);
  std::ifstream file(GPUEMU_SOURCE_DIR "/runtime/emulator/numerics/mufu_checksums.bin",
                     std::ios::binary);
  file.read(reinterpret_cast<char*>(sums.data()),
            static_cast<std::streamsize>(sums.size() * sizeof sums[0]));
  EXPECT_TRUE(file && file.peek() == std::ifstream::traits_type::eof());
  return sums;
}

/// Compares the blocks `first`, `first + step` ... of every model.
void expect_recorded(uint32_t first, uint32_t step) {
  const std::vector<uint32_t> sums = recorded();
  for (size_t m = 0; m < std::size(kModels); ++m) {
    for (uint32_t block = first; block < kBlocks; block += step) {
      EXPECT_EQ(checksum(kModels[m], block), sums[m * kBlocks + block])
          << kModels[m].name << " block " << block;
    }
  }
}

#ifdef GPUEMU_SLOW_TESTS
TEST(Mufu, AnswersEveryInputLikeTheChip) {
  const uint32_t count = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < count; ++t) threads.emplace_back(expect_recorded, t, count);
  for (std::thread& thread : threads) thread.join();
}
#else
TEST(Mufu, AnswersLikeTheChip) {
  // Denormals of both signs, numbers from 1 on, large ones, small and large negative ones, NaN.
  expect_recorded(0x3f8 % 1019, 1019);
  expect_recorded(1, 2048);
  expect_recorded(0x7fc, kBlocks);
}
#endif

}  // namespace
}  // namespace gpuemu::emulator
