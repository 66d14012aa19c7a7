// Streams, jumps and filled tensors against the shared vectors.
#include "common/rng/rng.h"

#include <cstdlib>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/base/check.h"
#include "common/numeric/element.h"
#include "common/rng/fill.h"

namespace gpuemu {
namespace {

using nlohmann::json;

const json& vectors() {
  static const json kVectors = [] {
    std::ifstream in(GPUEMU_SOURCE_DIR "/tests/crosslang/rng_vectors.json");
    return json::parse(in);
  }();
  return kVectors;
}

uint64_t number(const json& value) {
  return std::strtoull(value.get_ref<const std::string&>().c_str(), nullptr, 10);
}
double real(const json& value) {
  return std::strtod(value.get_ref<const std::string&>().c_str(), nullptr);
}
RngState state_of(const json& item) {
  return derive_state(number(item["base_seed"]), number(item["iteration"]),
                      item["label"].get<std::string>());
}

TEST(Rng, StreamsAreThoseOfTheVectors) {
  for (const json& item : vectors()["streams"]) {
    RngState state = state_of(item);
    EXPECT_EQ(state.s0, number(item["state"][0]));
    EXPECT_EQ(state.s1, number(item["state"][1]));
    for (const json& expected : item["u64"]) EXPECT_EQ(next_output(state), number(expected));
  }
}

TEST(Rng, DrawsAreThoseOfTheVectors) {
  const json& item = vectors()["draws"];
  Stream below(state_of(item)), integer(state_of(item)), unit64(state_of(item)),
      unit32(state_of(item)), sign(state_of(item));
  for (const json& x : item["below_10"]) EXPECT_EQ(below.below(10), x.get<uint64_t>());
  for (const json& x : item["int_-5_5"]) EXPECT_EQ(integer.integer(-5, 5), x.get<int64_t>());
  for (const json& x : item["unit64"]) EXPECT_EQ(unit64.unit64(), real(x));
  for (const json& x : item["unit32"]) EXPECT_EQ(unit32.unit32(), real(x));
  for (const json& x : item["sign"]) EXPECT_EQ(sign.negative(), x.get<int>() != 0);
}

TEST(Rng, JumpsReachTheFarOutputsOfTheVectors) {
  for (const json& item : vectors()["far"]) {
    RngState state = jump(state_of(item), number(item["output_index"]));
    EXPECT_EQ(next_output(state), number(item["u64"]));
  }
}

TEST(Rng, AJumpIsAsManySteps) {
  RngState walked = derive_state(1, 2, "x");
  const RngState start = walked;
  for (uint64_t n = 0; n < 300; ++n) {
    ASSERT_EQ(jump(start, n), walked) << n;
    next_output(walked);
  }
  EXPECT_EQ(jump(jump(start, uint64_t{1} << 62), 12345), jump(start, (uint64_t{1} << 62) + 12345));
}

Distribution distribution_of(const json& item) {
  const std::string name = item["distribution"];
  const json& args = item["args"];
  if (name == "uniform") return Distribution::uniform(args[0], args[1]);
  if (name == "normal") return Distribution::normal(args[0], args[1]);
  if (name == "log_uniform") return Distribution::log_uniform(args[0], args[1]);
  GPUEMU_CHECK(name == "integer");
  return Distribution::integer(args[0], args[1]);
}

uint64_t bits_of(DType dtype, const std::byte* element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, byte_size(dtype));
  return bits;
}

TEST(Fill, TensorsAreThoseOfTheVectors) {
  size_t compared = 0;
  for (const json& item : vectors()["tensors"]) {
    const Distribution distribution = distribution_of(item);
    for (const auto dtype : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16}) {
      const std::string key(name_of(dtype));
      if (!item.contains(key)) continue;
      const json& expected = item[key];
      std::vector<std::byte> bytes(expected.size() * byte_size(dtype));
      fill(state_of(item), distribution, dtype, bytes);
      for (size_t i = 0; i < expected.size(); ++i, ++compared) {
        const std::byte* element = bytes.data() + i * byte_size(dtype);
        if (dtype == DType::Float64) {
          EXPECT_EQ(read_as_double(dtype, element), real(expected[i]));
        } else {
          EXPECT_EQ(bits_of(dtype, element),
                    std::strtoull(expected[i].get<std::string>().c_str(), nullptr, 16));
        }
      }
    }
    if (!item.contains("values")) continue;
    std::vector<std::byte> bytes(item["values"].size() * 4);
    fill(state_of(item), distribution, DType::Int32, bytes);
    for (size_t i = 0; i < item["values"].size(); ++i, ++compared) {
      EXPECT_EQ(read_as_int64(DType::Int32, bytes.data() + i * 4),
                item["values"][i].get<int64_t>());
    }
  }
  EXPECT_GT(compared, 200u);
}

const Distribution kDistributions[] = {
    Distribution::uniform(-10, 10),         Distribution::normal(1, 3),
    Distribution::log_uniform(-1074, 1023), Distribution::log_uniform(-12, 4),
    Distribution::integer(-100, 99),        Distribution::integer(INT64_MIN, INT64_MAX),
    Distribution::special(11, 0.125),
};

/// The definition: element after element.
std::vector<std::byte> plain(RngState state, const Distribution& d, DType dtype, size_t count) {
  std::vector<std::byte> bytes(count * byte_size(dtype));
  for (size_t i = 0; i < count; ++i) {
    const uint64_t a = next_output(state);
    const uint64_t b = next_output(state);
    std::byte* element = bytes.data() + i * byte_size(dtype);
    if (d.hi == INT64_MAX) {
      write_from_int64(dtype, static_cast<int64_t>(a ^ (uint64_t{1} << 63)), element);
    } else {
      write_from_double(dtype, value_of(d, a, b), element);
    }
  }
  return bytes;
}

TEST(Fill, LanesGiveTheBitsOfThePlainLoopAtEverySizeNearTheirLimits) {
  const RngState state = derive_state(7, 3, "input/x");
  std::vector<size_t> sizes{0, 1, 2, 31, 32, 33, 100, 8191, 100003};
  for (size_t size = 8192; size < 8192 + 520; size += 37) sizes.push_back(size);
  for (const Distribution& d : kDistributions) {
    for (const size_t size : sizes) {
      for (const auto dtype : {DType::Float32, DType::Float16, DType::BFloat16, DType::Int64}) {
        std::vector<std::byte> bytes(size * byte_size(dtype));
        fill(state, d, dtype, bytes);
        ASSERT_EQ(bytes, plain(state, d, dtype, size)) << size << " " << name_of(dtype);
      }
    }
  }
}

TEST(Fill, EveryTypeGetsTheBitsOfThePlainLoop) {
  const RngState state = derive_state(8, 0, "input/y");
  for (size_t d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    std::vector<std::byte> bytes(9001 * byte_size(dtype));
    fill(state, kDistributions[0], dtype, bytes);
    EXPECT_EQ(bytes, plain(state, kDistributions[0], dtype, 9001)) << name_of(dtype);
  }
}

TEST(Fill, ValuesBesideTheFloat16RangeAreRoundedAsOneAlone) {
  const RngState state = derive_state(9, 0, "input/z");
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Distribution wide[] = {
      Distribution::uniform(-7e4, 7e4),         Distribution::uniform(0, 3e-7),
      Distribution::uniform(-3.45e38, 3.45e38), Distribution::uniform(0, 3e-40),
      Distribution::uniform(1, kInf),           Distribution::uniform(-kInf, kInf)};
  for (const Distribution& d : wide) {
    for (const auto dtype : {DType::Float16, DType::BFloat16}) {
      std::vector<std::byte> bytes(9001 * byte_size(dtype));
      fill(state, d, dtype, bytes);
      EXPECT_EQ(bytes, plain(state, d, dtype, 9001)) << d.first << " " << name_of(dtype);
    }
  }
}

TEST(Fill, SpecialPicksARowFromAAndDecidesFromB) {
  const Distribution d = Distribution::special(4, 0.25);
  constexpr uint64_t kQuarter = uint64_t{1} << 62;
  EXPECT_EQ(value_of(d, 0, kQuarter - 1), 0.0);
  EXPECT_EQ(value_of(d, UINT64_MAX, 0), 3.0);
  EXPECT_EQ(value_of(d, kQuarter, 0), 1.0);
  EXPECT_EQ(value_of(d, UINT64_MAX, kQuarter), -1.0);
}

TEST(Fill, DoublesAreTheValuesBeforeRounding) {
  const RngState state = derive_state(8, 1, "input/y");
  std::vector<double> values(20000);
  std::vector<std::byte> bytes(values.size() * 8);
  fill_doubles(state, kDistributions[1], values);
  fill(state, kDistributions[1], DType::Float64, bytes);
  EXPECT_EQ(std::memcmp(values.data(), bytes.data(), bytes.size()), 0);
}

}  // namespace
}  // namespace gpuemu
