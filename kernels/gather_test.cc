// gather and embedding, called as they are declared, against the definition.
#include "kernels/op_fixture.h"

namespace gpuemu {
namespace {

/// x is outer x length x inner.
Numbers gathered(const Numbers& x, const Numbers& index, size_t length, size_t inner) {
  Numbers y;
  for (size_t outer = 0; outer < x.size() / (length * inner); ++outer) {
    for (const double wanted : index) {
      const bool inside = wanted >= 0 && wanted < static_cast<double>(length);
      const size_t from = inside ? (outer * length + static_cast<size_t>(wanted)) * inner : 0;
      for (size_t i = 0; i < inner; ++i) y.push_back(inside ? x[from + i] : 0);
    }
  }
  return y;
}

TEST(Embedding, TakesTheRowsThatTheIndexNamesAndZerosWhereItNamesNone) {
  for (const int64_t cols : {1, 5, 16}) {
    for (const DType index_type : {DType::Int32, DType::Int64}) {
      for (const DType dtype : {DType::Float32, DType::Float16, DType::Float64, DType::UInt8}) {
        OpRun op("embedding");
        const Numbers table = op.input(dtype, {9, cols});
        const Numbers index = op.input(index_type, {2, 3}, {8, 0, 3, -1, 9, 3});
        op.output(dtype, {2, 3, cols});
        EXPECT_EQ(op.run(), gathered(table, index, 9, static_cast<size_t>(cols)));
      }
    }
  }
}

TEST(EmbeddingBackward, AddsTheRowsOfEveryPlaceThatNamesOne) {
  const size_t rows = 3, cols = 1030, count = 1100;
  OpRun op("embedding_bwd");
  Numbers index;
  for (size_t j = 0; j < count; ++j) index.push_back(static_cast<double>(j * 7 % 5) - 1);
  op.input(DType::Int64, {2, 550}, index);
  const Numbers dy = op.input(DType::Float32, {2, 550, 1030});
  op.output(DType::Float32, {3, 1030});
  Numbers expected(rows * cols);
  for (size_t i = 0; i < dy.size(); ++i) {
    const double row = index[i / cols];
    if (row >= 0 && row < 3) expected[static_cast<size_t>(row) * cols + i % cols] += dy[i];
  }
  const Numbers actual = op.run();
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-3) << i;
}

TEST(EmbeddingBackward, IsZeroWithoutPlaces) {
  OpRun op("embedding_bwd");
  op.input(DType::Int32, {0});
  op.input(DType::Float16, {0, 4});
  op.output(DType::Float16, {2, 4});
  EXPECT_EQ(op.run(), Numbers(8, 0.0));
}

TEST(Gather, TakesSlicesAlongEveryAxis) {
  const Sizes shape{3, 4, 8};
  for (const int32_t axis : {0, 1, 2, -1, -2}) {
    const auto at = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
    OpRun op("gather");
    op.attribute(axis);
    const Numbers x = op.input(DType::Float32, shape);
    const Numbers index = op.input(DType::Int32, {2}, {2, 1});
    Sizes out = shape;
    out[at] = 2;
    op.output(DType::Float32, out);
    size_t inner = 1;
    for (size_t i = at + 1; i < 3; ++i) inner *= static_cast<size_t>(shape[i]);
    EXPECT_EQ(op.run(), gathered(x, index, static_cast<size_t>(shape[at]), inner)) << axis;
  }
}

TEST(Gather, OfOneIndexDropsTheAxisAndOfNoneHasNoElements) {
  OpRun one("gather");
  const Numbers x = one.input(DType::Int32, {3, 2}, {1, 2, 3, 4, 5, 6});
  one.input(DType::Int64, {}, {1});
  one.output(DType::Int32, {2});
  EXPECT_EQ(one.run(), (Numbers{3, 4}));

  OpRun none("gather");
  none.input(DType::Int32, {3, 2});
  none.input(DType::Int64, {0});
  none.output(DType::Int32, {0, 2});
  EXPECT_TRUE(none.run().empty());
}

TEST(Gather, OfAnEmptyAxisIsZero) {
  OpRun op("gather");
  op.input(DType::Float32, {0, 4});
  op.input(DType::Int32, {2}, {0, 1});
  op.output(DType::Float32, {2, 4});
  EXPECT_EQ(op.run(), Numbers(8, 0.0));
}

TEST(Gather, RefusesAnOutputThatIsNotTheIndexInPlaceOfTheAxis) {
  const OpKind* op = nullptr;
  for (const OpKind* one : builtin_ops()) op = one->name == "gather" ? one : op;
  const Sizes x{0, 4}, index{0}, y{0, 3}, strides{1, 1};
  const auto of = [&](const Sizes& shape, DType dtype) {
    return DeviceTensor{0, dtype, shape, std::span(strides).first(shape.size())};
  };
  const std::vector<DeviceTensor> inputs = {of(x, DType::Float32), of(index, DType::Int32)};
  const std::vector<DeviceTensor> outputs = {of(y, DType::Float32)};
  const auto types =
      check_case({*op, inputs, outputs, Attributes(op->schema, {}), DeviceProperties{}});
  ASSERT_FALSE(types);
  EXPECT_EQ(types.error().message,
            "y is [0, 3], expected [0, 4]: x, [0, 4], with those of index, [0], instead of axis 0");
}

}  // namespace
}  // namespace gpuemu
