// Packed attributes: versions, defaults, refusals.
#include "kernels/attributes.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

const AttributeSchema kSchema = {
    .number = 7,
    .fields = {{.name = "axis", .type = AttributeType::Int32},
               {.name = "eps", .type = AttributeType::Float32, .fallback = 0.5},
               {.name = "seed", .type = AttributeType::UInt64, .fallback = 9, .since = 2}}};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}
const std::string kFirst("\x02\0\0\0\0\0\x80\x3f", 8);                      // axis 2, eps 1
const std::string kSecond = kFirst + std::string("\x05\0\0\0\0\0\0\0", 8);  // seed 5

TEST(Attributes, LieOneBehindTheOtherWithoutPadding) {
  ASSERT_TRUE(check_attributes(kSchema, 7 * 256 + 2, bytes_of(kSecond)));
  const Attributes attributes(kSchema, bytes_of(kSecond));
  EXPECT_EQ(attributes.get<int32_t>("axis"), 2);
  EXPECT_EQ(attributes.get<float>("eps"), 1.0F);
  EXPECT_EQ(attributes.number("eps"), 1.0);
  EXPECT_EQ(attributes.get<uint64_t>("seed"), 5U);
  EXPECT_EQ(kSchema.id(), 7U * 256 + 2);
  EXPECT_EQ(kSchema.offset_of(2), 8U);
}

TEST(Attributes, OfAnOlderVersionHaveTheDefaultsOfWhatTheyLack) {
  ASSERT_TRUE(check_attributes(kSchema, 7 * 256 + 1, bytes_of(kFirst)));
  EXPECT_EQ(Attributes(kSchema, bytes_of(kFirst)).get<uint64_t>("seed"), 9U);
}

TEST(Attributes, KeepADefaultThatTheTypeWouldRound) {
  const AttributeSchema schema = {
      .number = 8,
      .fields = {{.name = "eps", .type = AttributeType::Float32, .fallback = 0.1},
                 {.name = "wide", .type = AttributeType::Float64, .fallback = 0.2}}};
  EXPECT_EQ(Attributes(schema, {}).number("eps"), 0.1);
  EXPECT_EQ(Attributes(schema, {}).get<float>("eps"), 0.1F);
  EXPECT_EQ(Attributes(schema, {}).number("wide"), 0.2);
}

std::string problem(uint32_t id, const std::string& bytes) {
  const Status status = check_attributes(kSchema, id, bytes_of(bytes));
  return status ? "" : status.error().message;
}

TEST(Attributes, OfAnotherSchemaVersionOrLengthAreRefused) {
  EXPECT_EQ(problem(8 * 256 + 1, kFirst), "attribute schema 2049, expected 1794");
  EXPECT_NE(problem(7 * 256 + 3, kSecond).find("knows up to 2"), std::string::npos);
  EXPECT_EQ(problem(7 * 256 + 1, kSecond), "16 bytes of attributes, schema 1793 has 8");
  EXPECT_EQ(problem(7 * 256 + 2, kFirst), "8 bytes of attributes, schema 1794 has 16");
  EXPECT_NE(problem(7 * 256, ""), "");
  EXPECT_EQ(problem(0, ""),
            "attribute 'axis' is missing and has no default; pack it with schema 1794");
  EXPECT_NE(problem(0, kFirst), "");
}

TEST(Attributes, OfAnOpThatHasNoneAreNothing) {
  const AttributeSchema none;
  EXPECT_TRUE(check_attributes(none, 0, {}));
  EXPECT_FALSE(check_attributes(none, 256 + 1, {}));
  EXPECT_FALSE(check_attributes(none, 0, bytes_of("x")));
}

}  // namespace
}  // namespace gpuemu
