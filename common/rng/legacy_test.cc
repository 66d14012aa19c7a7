// The generator of existing clients against the shared vectors.
#include "common/rng/legacy.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/numeric/element.h"

namespace gpuemu {
namespace {

using nlohmann::json;

const json& vectors() {
  static const json kVectors = [] {
    std::ifstream in(GPUEMU_SOURCE_DIR "/tests/crosslang/legacy_generator_vectors.json");
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

TEST(LegacyRng, DerivesTheSeedsOfTheVectors) {
  for (const json& item : vectors()["derive_seed"]) {
    EXPECT_EQ(legacy_sub_seed(number(item["seed"]), item["label"].get<std::string>()),
              number(item["out"]));
  }
  for (const json& item : vectors()["splitmix64"]) {
    EXPECT_EQ(LegacyRng(number(item["in"])).state().first, number(item["out"]));
  }
}

TEST(LegacyRng, FirstOutputsOfSeed42AreThePublishedOnes) {
  LegacyRng rng(42);
  EXPECT_EQ(rng.u64(), 14921385303349856026u);
  EXPECT_EQ(rng.u64(), 836881716698787820u);
}

TEST(LegacyRng, DrawsAreThoseOfTheVectors) {
  const json& all = vectors();
  for (const json& item : all["streams"]["items"]) {
    const LegacyRng start(number(item["seed"]));
    EXPECT_EQ(start.state().first, number(item["state0"][0]));
    EXPECT_EQ(start.state().second, number(item["state0"][1]));
    LegacyRng u64 = start, f64 = start, f32 = start, wide = start, small = start, p50 = start,
              p10 = start, order = start, normal = start;
    for (const json& x : item["u64"]) EXPECT_EQ(u64.u64(), number(x));
    for (const json& x : item["f64_hex"]) EXPECT_EQ(f64.f64(), real(x));
    for (const json& x : item["f32_hex"]) EXPECT_EQ(static_cast<double>(f32.f32()), real(x));
    for (const json& x : item["range_0_200"]) EXPECT_EQ(wide.integer(0, 200), x.get<int64_t>());
    for (const json& x : item["range_5_12"]) EXPECT_EQ(small.integer(5, 12), x.get<int64_t>());
    for (const json& x : item["bool_p50"]) EXPECT_EQ(p50.boolean(0.5), x.get<int>() != 0);
    for (const json& x : item["bool_p10"]) EXPECT_EQ(p10.boolean(0.1), x.get<int>() != 0);
    std::vector<int> items{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    order.shuffle(std::span(items));
    EXPECT_EQ(items, item["shuffle_1_to_10"].get<std::vector<int>>());
    const auto normals = normal.normals(item["normal_f64"].size());
    for (size_t i = 0; i < normals.size(); ++i) {
      EXPECT_NEAR(normals[i], item["normal_f64"][i].get<double>(), 1e-12 * std::abs(normals[i]));
    }
  }
}

TEST(LegacyRng, ElementsAreThoseOfTheVectorsButTrueBFloat16) {
  for (const json& item : vectors()["tensor_bytes"]["items"]) {
    const auto dtype = *dtype_from_name(item["dtype"].get<std::string>());
    const std::string hex = item["first_8_elements_hex"];
    const auto label = "input_" + std::to_string(item["input_index"].get<int>());
    const LegacyRng rng = LegacyRng(number(item["case_seed"])).child("data").child(label);
    std::vector<std::byte> bytes(8 * byte_size(dtype));
    LegacyRng(rng).fill(dtype, bytes);
    if (dtype == DType::BFloat16) {
      std::vector<std::byte> wide(8 * 4);
      LegacyRng(rng).fill(DType::Float32, wide);
      for (size_t i = 0; i < 8; ++i) {
        const double value = read_as_double(DType::Float32, wide.data() + i * 4);
        EXPECT_EQ(read_as_double(dtype, bytes.data() + i * 2), round_to(dtype, value));
      }
      continue;
    }
    ASSERT_EQ(hex.size(), bytes.size() * 2);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto expected = std::strtoul(hex.substr(2 * i, 2).c_str(), nullptr, 16);
      ASSERT_EQ(std::to_integer<unsigned long>(bytes[i]), expected) << item["dtype"] << " " << i;
    }
  }
}

TEST(LegacyRng, BytesDropTheRestOfTheLastOutput) {
  LegacyRng rng(42);
  const auto bytes = rng.bytes(11);
  EXPECT_EQ(bytes.size(), 11u);
  EXPECT_EQ(bytes[0], 14921385303349856026u & 0xFF);
  EXPECT_EQ(bytes[8], 836881716698787820u & 0xFF);
  EXPECT_EQ(rng.u64(), 2679325795615653720u);
}

}  // namespace
}  // namespace gpuemu
