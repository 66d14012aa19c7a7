// The models against what the chip answered: checksums over 2^20 consecutive inputs each.
#include "runtime/emulator/math/mufu.h"

#include <array>

#include <gtest/gtest.h>

namespace gpuemu::emulator {
namespace {

/// Blocks of inputs: the bit patterns from index * 2^20 on. Denormals, [1, 2), and small negatives.
constexpr std::array<uint32_t, 3> kBlocks = {0x001, 0x3f8, 0xbf3};
struct Chip {
  const char* name;
  uint32_t (*model)(uint32_t);
  std::array<uint64_t, 3> checksums;
};
const Chip kChip[] = {
    {"cos", mufu::cos, {0xc445c9ceb6a91ea9u, 0x758133c5a7aa5965u, 0x3e98caac3bb711f6u}},
    {"ex2", mufu::ex2, {0xc445c9ceb6a91ea9u, 0xba53714ac7e61266u, 0xdbef8ab5a533e65du}},
    {"ex2_ftz", mufu::ex2_ftz, {0xc445c9ceb6a91ea9u, 0xba53714ac7e61266u, 0xdbef8ab5a533e65du}},
    {"lg2", mufu::lg2, {0xb903f07c1db00ad7u, 0x31408f5cb632159du, 0xf85ffb45cf8a4660u}},
    {"lg2_ftz", mufu::lg2_ftz, {0x96b5987841a45732u, 0x31408f5cb632159du, 0xf85ffb45cf8a4660u}},
    {"rcp", mufu::rcp, {0x70e2711c3a6e0d04u, 0xde42d20cb723d9fbu, 0x9d86165dd4bf81ffu}},
    {"rcp_ftz", mufu::rcp_ftz, {0x70e2711c3a6e0d04u, 0xde42d20cb723d9fbu, 0x9d86165dd4bf81ffu}},
    {"rsqrt", mufu::rsqrt, {0x509b3912e275b80du, 0x73bc2bbdcb54df8fu, 0xf85ffb45cf8a4660u}},
    {"rsqrt_ftz", mufu::rsqrt_ftz, {0x70e2711c3a6e0d04u, 0x73bc2bbdcb54df8fu, 0xf85ffb45cf8a4660u}},
    {"sin", mufu::sin, {0x6059aa2835ac1bf0u, 0x38d982cb2275e49au, 0xf7749c9b8546d600u}},
    {"sqrt", mufu::sqrt, {0x48b487cbb81c888au, 0xef70224673a587eau, 0xf85ffb45cf8a4660u}},
    {"sqrt_ftz", mufu::sqrt_ftz, {0x6059aa2835ac1bf0u, 0xef70224673a587eau, 0xf85ffb45cf8a4660u}},
    {"tanh", mufu::tanh, {0xe26151dbcacefaf7u, 0x1f42fd6aaa4e12a6u, 0x4257b17c3824a8b5u}},
};

uint64_t mix(uint64_t z) {
  z ^= z >> 30;
  z *= 0xbf58476d1ce4e5b9u;
  z ^= z >> 27;
  z *= 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

TEST(Mufu, AnswersLikeTheChip) {
  for (const Chip& chip : kChip)
    for (size_t block = 0; block < kBlocks.size(); ++block) {
      uint64_t sum = 0;
      for (uint32_t i = 0; i < 1u << 20; ++i) {
        const uint32_t in = kBlocks[block] << 20 | i, out = chip.model(in);
        const bool nan = (out & 0x7fffffffu) > 0x7f800000u;
        sum += mix(uint64_t{in} << 32 | (nan ? 0x7fffffffu : out));
      }
      EXPECT_EQ(sum, chip.checksums[block]) << chip.name << " block " << kBlocks[block];
    }
}

}  // namespace
}  // namespace gpuemu::emulator
