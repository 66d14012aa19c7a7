// Shapes, layouts and snapshots.
#include "common/tensor/tensor.h"

#include <array>
#include <numeric>

#include <gtest/gtest.h>

#include "common/tensor/snapshot.h"

namespace gpuemu {
namespace {

Tensor counting(DType dtype, Shape shape) {
  Tensor tensor = make_tensor(dtype, std::move(shape));
  for (size_t i = 0; i < tensor.data.size(); ++i) tensor.data[i] = static_cast<std::byte>(i + 1);
  return tensor;
}

TEST(Shape, CountsElementsAndRefusesWhatCannotBe) {
  EXPECT_EQ(*checked_element_count({}), 1);
  EXPECT_EQ(*checked_element_count({2, 3}), 6);
  EXPECT_EQ(*checked_element_count({2, 0}), 0);
  EXPECT_FALSE(checked_element_count({2, -1}));
  EXPECT_FALSE(checked_element_count({int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_FALSE(checked_element_count({0, int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_FALSE(checked_element_count(Shape(17, 1)));
  EXPECT_EQ(to_string(Shape{2, 3}), "[2, 3]");
}

TEST(Layout, DescribesPaddedAndTransposedMemory) {
  EXPECT_EQ(row_major_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(padded_layout({2, 3}, 5), (Layout{{8, 1}, 0, 16}));
  EXPECT_EQ(transposed_layout({2, 3, 4}), (Layout{{12, 1, 3}, 0, 24}));
  EXPECT_EQ(transposed_layout({3}), contiguous_layout({3}));
  EXPECT_EQ(stepped_layout({2, 3}, 2), (Layout{{6, 2}, 0, 11}));
  EXPECT_EQ(stepped_layout({0}, 2), (Layout{{2}, 0, 0}));
  EXPECT_EQ(stepped_layout({}, 2), contiguous_layout({}));
}

TEST(Layout, GatherReadsBackWhatScatterWrote) {
  for (size_t d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{1, 1}, Shape{4, 3}, Shape{2, 3, 4, 5}}) {
      for (Layout layout : {contiguous_layout(shape), padded_layout(shape, 3),
                            stepped_layout(shape, 2), transposed_layout(shape)}) {
        layout.offset_elements = 2;
        layout.buffer_elements += 2;
        const Tensor tensor = counting(dtype, shape);
        std::vector<std::byte> buffer(static_cast<size_t>(layout.buffer_elements) *
                                      byte_size(dtype));
        std::vector<std::byte> back(tensor.data.size());
        scatter(dtype, shape, layout, tensor.data, buffer);
        gather(dtype, shape, layout, buffer, back);
        EXPECT_EQ(back, tensor.data) << to_string(shape);
      }
    }
  }
}

TEST(Layout, BroadcastMemoryHoldsOneElementForAllOfAnAxis) {
  EXPECT_EQ(broadcast_layout({3, 4}, 0), (Layout{{0, 1}, 0, 4}));
  EXPECT_EQ(broadcast_layout({3, 4}, 1), (Layout{{1, 0}, 0, 3}));
  EXPECT_EQ(broadcast_layout({0, 4}, 0).buffer_elements, 0);
}

TEST(Layout, ReversedMemoryBeginsAtItsEnd) {
  EXPECT_EQ(reversed_layout({3, 4}, 0), (Layout{{-4, 1}, 8, 12}));
  EXPECT_EQ(reversed_layout({3, 4}, 1), (Layout{{4, -1}, 3, 12}));
  const std::array<std::byte, 3> packed{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 3> memory{}, back{};
  scatter(DType::UInt8, {3}, reversed_layout({3}, 0), packed, memory);
  EXPECT_EQ(memory, (std::array<std::byte, 3>{std::byte{3}, std::byte{2}, std::byte{1}}));
  gather(DType::UInt8, {3}, reversed_layout({3}, 0), memory, back);
  EXPECT_EQ(back, packed);
}

TEST(Layout, TransposedMemoryHoldsTheLastTwoAxesExchanged) {
  const Tensor tensor = counting(DType::UInt8, {2, 3});
  std::vector<std::byte> buffer(6);
  scatter(DType::UInt8, {2, 3}, transposed_layout({2, 3}), tensor.data, buffer);
  const std::vector<std::byte> expected{std::byte{1}, std::byte{4}, std::byte{2},
                                        std::byte{5}, std::byte{3}, std::byte{6}};
  EXPECT_EQ(buffer, expected);
}

NamedTensors sample() {
  return {{"a", counting(DType::Float32, {2, 2})},
          {"bb", counting(DType::Bool, {3})},
          {"empty", counting(DType::Int64, {0})},
          {"s", counting(DType::BFloat16, {})}};
}

TEST(Snapshot, DecodesWhatItEncoded) {
  const auto decoded = decode_legacy_snapshot(*encode_legacy_snapshot(sample()));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, sample());
}

TEST(Snapshot, HasTheBytesOfExistingClients) {
  const auto bytes = *encode_legacy_snapshot({{"x", counting(DType::UInt8, {2})}});
  const std::vector<int> expected{1, 0, 1, 0, 'x', 1, 0, 2, 0, 0, 0, 1,
                                  0, 1, 0, 0, 0,   8, 2, 0, 0, 0, 1, 2};
  ASSERT_EQ(bytes.size(), expected.size());
  for (size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(std::to_integer<int>(bytes[i]), expected[i]);
}

TEST(Snapshot, RefusesEveryTruncation) {
  const auto bytes = *encode_legacy_snapshot(sample());
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto decoded = decode_legacy_snapshot(std::span(bytes).first(length));
    ASSERT_FALSE(decoded) << "cut at " << length;
    EXPECT_EQ(decoded.error().code, ErrorCode::Corruption);
  }
}

TEST(Snapshot, RefusesTrailingBytesUnknownTypesAndWrongLengths) {
  const auto good = *encode_legacy_snapshot({{"x", counting(DType::UInt8, {2})}});
  auto longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_legacy_snapshot(longer));
  for (const size_t at : {size_t{5}, size_t{7}, size_t{17}, size_t{18}}) {
    auto broken = good;
    broken[at] = std::byte{200};
    EXPECT_FALSE(decode_legacy_snapshot(broken)) << at;
  }
}

TEST(Snapshot, RefusesTwoInputsOfOneName) {
  auto one = *encode_legacy_snapshot({{"x", counting(DType::UInt8, {2})}});
  auto two = one;
  two[0] = std::byte{2};
  two.insert(two.end(), one.begin() + 2, one.end());
  EXPECT_FALSE(decode_legacy_snapshot(two));
}

TEST(Snapshot, RefusesWhatItsFieldsCannotHold) {
  EXPECT_FALSE(encode_legacy_snapshot({{std::string(70000, 'n'), counting(DType::UInt8, {1})}}));
}

}  // namespace
}  // namespace gpuemu
