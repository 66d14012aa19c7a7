// Tests that cuBLAS is called for the intended product: a stand-in multiplies by the rules of BLAS.
#include "ops/vendor/cublas.h"

#include <vector>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

constexpr const char* kFake = FAKE_cublas;
constexpr int64_t kM = 3, kN = 5, kK = 4;

template <typename T>
uint64_t address_of(const std::vector<T>& values) {
  return reinterpret_cast<uint64_t>(values.data());
}

template <typename T>
struct Matrices {
  std::vector<T> a = std::vector<T>(kM * kK), b = std::vector<T>(kK * kN);
  std::vector<T> c = std::vector<T>(kM * kN, T(-1)), expected = std::vector<T>(kM * kN);

  explicit Matrices(const CublasProduct& product) {
    for (int64_t row = 0; row < kM; ++row) {
      for (int64_t i = 0; i < kK; ++i) left(product, row, i) = static_cast<T>(row * 7 + i * i);
    }
    for (int64_t i = 0; i < kK; ++i) {
      for (int64_t col = 0; col < kN; ++col) right(product, i, col) = static_cast<T>(i * 3 - col);
    }
    for (int64_t row = 0; row < kM; ++row) {
      for (int64_t col = 0; col < kN; ++col) {
        for (int64_t i = 0; i < kK; ++i) {
          expected[at(row, col, kN)] += left(product, row, i) * right(product, i, col);
        }
      }
    }
  }
  static size_t at(int64_t row, int64_t col, int64_t pitch) {
    return static_cast<size_t>(row * pitch + col);
  }
  T& left(const CublasProduct& product, int64_t row, int64_t i) {
    return a[product.a_transposed ? at(i, row, kM) : at(row, i, kK)];
  }
  T& right(const CublasProduct& product, int64_t i, int64_t col) {
    return b[product.b_transposed ? at(col, i, kK) : at(i, col, kN)];
  }
};

template <typename T>
void multiply(CublasProduct product) {
  const auto library = Cublas::open(kFake);
  ASSERT_TRUE(library) << library.error().message;
  Matrices<T> matrices(product);
  product.a = address_of(matrices.a);
  product.b = address_of(matrices.b);
  product.c = address_of(matrices.c);
  product.m = kM;
  product.n = kN;
  product.k = kK;
  const Status done = (*library)->multiply(product, {.workspace = 256, .workspace_bytes = 256});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(matrices.c, matrices.expected)
      << product.a_transposed << product.b_transposed << name_of(product.dtype);
}

TEST(Cublas, MultipliesEachOperandAsItLiesOrTransposed) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      multiply<float>({.dtype = DType::Float32, .a_transposed = a, .b_transposed = b});
      multiply<double>({.dtype = DType::Float64, .a_transposed = a, .b_transposed = b});
    }
  }
}

TEST(Cublas, RoundsToTf32OnlyWhenAsked) {
  const auto library = Cublas::open(kFake);
  ASSERT_TRUE(library);
  const std::vector<float> a = {1.0001F}, b = {1.0F};
  std::vector<float> c = {0};
  CublasProduct product{.a = address_of(a), .b = address_of(b), .c = address_of(c)};
  product.m = product.n = product.k = 1;
  const CublasPlace place{.workspace = 256, .workspace_bytes = 256};
  ASSERT_TRUE((*library)->multiply(product, place));
  EXPECT_EQ(c[0], 1.0001F);
  product.tf32 = true;
  ASSERT_TRUE((*library)->multiply(product, place));
  EXPECT_EQ(c[0], 1.0F);
}

TEST(Cublas, TellsItsVersionAndWhatItRefuses) {
  const auto library = Cublas::open(kFake);
  ASSERT_TRUE(library);
  EXPECT_EQ((*library)->version(), "cublas 130100");
  const CublasProduct nothing{.m = 1, .n = 1};
  const Status refused = (*library)->multiply(nothing, {.workspace = 256});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Launch);
  EXPECT_EQ(refused.error().message, "cuBLAS, multiplying: status 7");
}

TEST(Cublas, SaysWhatIsMissing) {
  const auto missing = Cublas::open("/there/is/no/libcublas.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::Unavailable);
  EXPECT_NE(missing.error().message.find("/there/is/no/libcublas.so"), std::string::npos);
  const auto other = Cublas::open("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("has no 'cublasCreate_v2'"), std::string::npos);
}

}  // namespace
}  // namespace gpuemu
