// Tests that kernels generate the same random bits as the host.
#include <array>
#include <bit>
#include <cmath>

#include "kernels/op_fixture.h"

namespace gpuemu {
namespace {

using Words = std::array<uint32_t, 4>;

/// Philox4x32-10 as its paper defines it.
Words philox(Words counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t left = uint64_t{0xD2511F53} * counter[0];
    const uint64_t right = uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<uint32_t>(right >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(right),
        static_cast<uint32_t>(left >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(left)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

TEST(Philox, GivesThePublishedVectors) {
  constexpr uint32_t kOnes = 0xFFFFFFFF;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(philox({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
            (Words{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

struct DropoutKey {
  uint64_t seed, offset;
};

bool is_kept(const DropoutKey& key, size_t element, double p) {
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  const uint64_t group = element / 4;
  const Words words = philox({low(group), high(group), low(key.offset), high(key.offset)},
                             {low(key.seed), high(key.seed)});
  return static_cast<double>(words[element % 4]) >= p * 0x1p32;
}

/// Integers beyond 2^53 cannot be passed as doubles.
constexpr DropoutKey kKey{uint64_t{0xC0FFEE} << 24, uint64_t{5} << 32 | 77};

TEST(Dropout, KeepsWhatThePhiloxBitsOfTheHostKeep) {
  for (const DType dtype : {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64}) {
    for (const int64_t count : {0, 1, 3, 8, 1030}) {
      for (const double p : {0.0, 0.25, 0.5, 1.0}) {
        OpRun op("dropout");
        op.attribute(p);
        const Numbers x = op.input(dtype, {count});
        op.input(DType::UInt64, {2},
                 {static_cast<double>(kKey.seed), static_cast<double>(kKey.offset)});
        op.output(dtype, {count});
        const Numbers y = op.run();
        for (size_t i = 0; i < y.size(); ++i) {
          const double scaled = is_kept(kKey, i, p) ? x[i] / (1 - p) : 0;
          ASSERT_NEAR(y[i], scaled, std::abs(scaled) * (dtype == DType::BFloat16 ? 4e-3 : 5e-4))
              << name_of(dtype) << ", p " << p << ", element " << i;
          ASSERT_EQ(y[i] == 0, scaled == 0) << i;
        }
      }
    }
  }
}

TEST(Dropout, RefusesWhatIsNoProbability) {
  const OpKind* op = nullptr;
  for (const OpKind* one : builtin_ops()) op = one->name == "dropout" ? one : op;
  const Sizes empty{0}, two{2}, strides{1};
  const std::vector<DeviceTensor> inputs = {{0, DType::Float32, empty, strides},
                                            {256, DType::UInt64, two, strides}};
  const std::vector<DeviceTensor> outputs = {{0, DType::Float32, empty, strides}};
  for (const double p : {-0.1, 1.1, std::nan("")}) {
    const Attributes attributes(op->schema, std::as_bytes(std::span(&p, 1)));
    const auto types = check_case({*op, inputs, outputs, attributes, DeviceProperties{}});
    ASSERT_FALSE(types);
    EXPECT_NE(types.error().message.find("expected a probability from 0 to 1"), std::string::npos);
  }
}

struct RandomCase {
  int32_t kind;
  Distribution distribution;
};

void expect_the_bits_of_the_host(DType dtype, const RandomCase& c, int64_t count) {
  const RngState state{uint64_t{0x12345678} << 21, uint64_t{0xABCDEF} << 29};
  OpRun op("random_fill");
  op.attribute(c.kind);
  op.attribute(c.distribution.first);
  op.attribute(c.distribution.second);
  op.attribute(c.distribution.lo);
  op.attribute(c.distribution.hi);
  op.input(DType::UInt64, {2}, {static_cast<double>(state.s0), static_cast<double>(state.s1)});
  op.output(dtype, {count});
  const Numbers actual = op.run();
  std::vector<std::byte> bytes(static_cast<size_t>(count) * byte_size(dtype));
  fill(state, c.distribution, dtype, bytes);
  Numbers expected(static_cast<size_t>(count));
  widen_to_double(dtype, bytes, expected);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    // Compares bits, so that -0 differs from 0.
    ASSERT_EQ(std::bit_cast<uint64_t>(actual[i]), std::bit_cast<uint64_t>(expected[i]))
        << name_of(dtype) << ", kind " << c.kind << ", element " << i << ": " << actual[i]
        << " instead of " << expected[i];
  }
}

TEST(RandomFill, GivesTheBitsOfTheHostInEveryFloatAndDistribution) {
  const RandomCase cases[] = {{0, Distribution::uniform(-0.1, 3.7)},
                              {1, Distribution::normal(0.3, 1.7)},
                              {2, Distribution::log_uniform(-1074, 1023)},
                              {2, Distribution::log_uniform(-30, 20)},
                              {3, Distribution::integer(-1000, 1000)}};
  for (const DType dtype : {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64}) {
    for (const RandomCase& c : cases) expect_the_bits_of_the_host(dtype, c, 1001);
  }
}

TEST(RandomFill, GivesTheIntegersOfTheHost) {
  for (const DType dtype : {DType::Int8, DType::UInt8, DType::Int16, DType::UInt16}) {
    expect_the_bits_of_the_host(dtype, {3, Distribution::integer(0, 127)}, 300);
  }
  for (const DType dtype : {DType::Int32, DType::UInt32, DType::Int64, DType::UInt64}) {
    expect_the_bits_of_the_host(dtype, {3, Distribution::integer(1, 1000000)}, 300);
  }
  expect_the_bits_of_the_host(DType::Int64, {3, Distribution::integer(INT64_MIN, INT64_MAX)}, 50);
  expect_the_bits_of_the_host(DType::Bool, {3, Distribution::integer(0, 1)}, 100);
}

TEST(RandomFill, FillsNothingAndSizesThatNoRunDivides) {
  for (const int64_t count : {0, 1, 15, 16, 17, 70000}) {
    expect_the_bits_of_the_host(DType::Float32, {0, Distribution::uniform(0, 1)}, count);
  }
}

}  // namespace
}  // namespace gpuemu
