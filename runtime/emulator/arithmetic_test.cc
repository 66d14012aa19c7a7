// Compares every family of instructions at the edges of its type with C++.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

template <typename T>
std::vector<T> edges() {
  using L = std::numeric_limits<T>;
  return {T{0},
          T{1},
          T{2},
          T{7},
          static_cast<T>(-1),
          static_cast<T>(-2),
          L::min(),
          L::max(),
          static_cast<T>(L::max() - 1),
          static_cast<T>(L::max() / 3),
          static_cast<T>(L::min() / 2 + 1),
          T{100}};
}
template <typename T>
void pairs(std::vector<T>& a, std::vector<T>& b, const std::vector<T>& from) {
  for (const T x : from) {
    for (const T y : from) {
      a.push_back(x);
      b.push_back(y);
    }
  }
}
template <typename D, typename S, typename Expect>
void check_pairs(const std::string& body, const std::vector<S>& from, const Expect& expect) {
  std::vector<S> a, b;
  pairs(a, b, from);
  const std::vector<D> got = evaluate<D, S>(body, a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(got[i], expect(a[i], b[i])) << body << " of " << +a[i] << ", " << +b[i];
  }
}

template <typename T>
void check_integers(const std::string& type) {
  using U = std::make_unsigned_t<T>;
  const std::vector<T> from = edges<T>();
  const auto text = [&](const std::string& op) { return op + "." + type + " %d, %a, %b;"; };
  check_pairs<T, T>(text("add"), from,
                    [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
  check_pairs<T, T>(text("sub"), from,
                    [](T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); });
  check_pairs<T, T>(text("mul.lo"), from, [](T a, T b) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  });
  check_pairs<T, T>(text("mul.hi"), from, [](T a, T b) {
    __extension__ using Wide = __int128;
    __extension__ using Unsigned = unsigned __int128;
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>((Wide{a} * b) >> (sizeof(T) * 8));
    } else {
      return static_cast<T>((Unsigned{a} * b) >> (sizeof(T) * 8));
    }
  });
  check_pairs<T, T>(text("div"), from, [](T a, T b) {
    if (b == 0) return static_cast<T>(-1);
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
      return static_cast<T>(U{0} - static_cast<U>(a));
    }
    return static_cast<T>(a / b);
  });
  check_pairs<T, T>(text("rem"), from, [](T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T{0};
    return static_cast<T>(a % b);
  });
  check_pairs<T, T>(text("min"), from, [](T a, T b) { return std::min(a, b); });
  check_pairs<T, T>(text("max"), from, [](T a, T b) { return std::max(a, b); });
  check_pairs<uint32_t, T>("setp.lt." + type + " %p, %a, %b; selp.b32 %d, 1, 0, %p;", from,
                           [](T a, T b) { return a < b ? 1u : 0u; });
  check_pairs<uint32_t, T>("setp.ge." + type + " %p|%q, %a, %b; selp.b32 %d, 0, 1, %q;", from,
                           [](T a, T b) { return a >= b ? 1u : 0u; });
}

TEST(Integers, WrapClampAndDivideAtTheEdgesOfEveryType) {
  check_integers<int16_t>("s16");
  check_integers<uint16_t>("u16");
  check_integers<int32_t>("s32");
  check_integers<uint32_t>("u32");
  check_integers<int64_t>("s64");
  check_integers<uint64_t>("u64");
}

TEST(Integers, ShiftsClampTheirAmount) {
  const std::vector<uint32_t> from = {0, 1, 5, 31, 32, 33, 255, 0x80000000u, 0xffffffffu};
  check_pairs<uint32_t, uint32_t>("shl.b32 %d, %a, %b;", from,
                                  [](uint32_t a, uint32_t n) { return n < 32 ? a << n : 0; });
  check_pairs<uint32_t, uint32_t>("shr.u32 %d, %a, %b;", from,
                                  [](uint32_t a, uint32_t n) { return n < 32 ? a >> n : 0; });
  check_pairs<uint32_t, uint32_t>("shr.s32 %d, %a, %b;", from, [](uint32_t a, uint32_t n) {
    return static_cast<uint32_t>(static_cast<int32_t>(a) >> std::min(n, 31u));
  });
}

TEST(Integers, ExtractAndInsertBitFields) {
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("bfe.u32 %d, %a, 4, 8;", {0xabcdef12})[0]), 0xf1u);
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("bfe.s32 %d, %a, 4, 8;", {0xabcdef12})[0]), 0xfffffff1u);
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("bfe.s32 %d, %a, 28, 8;", {0x80000000})[0]), 0xfffffff8u);
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("bfi.b32 %d, %a, %b, 8, 4;", {0xf}, {0x12345678})[0]),
            0x12345f78u);
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("lop3.b32 %d, %a, %b, %c, 0xe8;", {0b1100}, {0b1010},
                                          {0b0110})[0]),
            0b1110u);
  EXPECT_EQ(
      (evaluate<uint32_t, uint32_t>("prmt.b32 %d, %a, %b, 0x7bc0;", {0x44332211}, {0x88776655})[0]),
      0x88000011u);
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("shf.l.wrap.b32 %d, %a, %b, 8;", {0x11223344},
                                          {0x55667788})[0]),
            0x66778811u);
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("bfind.u32 %d, %a;", {0, 1, 0x80000000})),
            (std::vector<uint32_t>{~0u, 0, 31}));
}

TEST(Integers, CarryGoesThroughAChain) {
  const std::vector<uint64_t> got = evaluate<uint64_t, uint64_t>(
      "add.cc.u64 %a, %a, %b; addc.u64 %d, %c, 0;", {~uint64_t{0}, 1}, {1, 1}, {5, 5});
  EXPECT_EQ(got, (std::vector<uint64_t>{6, 5}));
}

std::vector<float> float_edges() {
  return {0.0f,     -0.0f,    1.0f,      -1.5f, 1e-40f,   -1e-45f, 0x1p-126f, 3.4e38f,
          -3.4e38f, INFINITY, -INFINITY, NAN,   1.0f / 3, 1e20f,   0.7f};
}
uint32_t canonical(float v) { return v != v ? 0x7fffffffu : std::bit_cast<uint32_t>(v); }
float flushed(float v) { return std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v; }

TEST(Floats, RoundOnceAndGiveOneNan) {
  std::vector<uint32_t> from;
  for (const float v : float_edges()) from.push_back(std::bit_cast<uint32_t>(v));
  const auto f = [](uint32_t v) { return std::bit_cast<float>(v); };
  check_pairs<uint32_t, uint32_t>("add.rn.f32 %d, %a, %b;", from,
                                  [&](uint32_t a, uint32_t b) { return canonical(f(a) + f(b)); });
  check_pairs<uint32_t, uint32_t>("mul.f32 %d, %a, %b;", from,
                                  [&](uint32_t a, uint32_t b) { return canonical(f(a) * f(b)); });
  check_pairs<uint32_t, uint32_t>("div.rn.f32 %d, %a, %b;", from,
                                  [&](uint32_t a, uint32_t b) { return canonical(f(a) / f(b)); });
  check_pairs<uint32_t, uint32_t>("fma.rn.f32 %d, %a, %b, %a;", from, [&](uint32_t a, uint32_t b) {
    return canonical(std::fma(f(a), f(b), f(a)));
  });
  check_pairs<uint32_t, uint32_t>("mul.ftz.f32 %d, %a, %b;", from, [&](uint32_t a, uint32_t b) {
    return canonical(flushed(flushed(f(a)) * flushed(f(b))));
  });
  check_pairs<uint32_t, uint32_t>("add.sat.f32 %d, %a, %b;", from, [&](uint32_t a, uint32_t b) {
    const float sum = f(a) + f(b);
    return std::bit_cast<uint32_t>(sum > 0 ? std::min(sum, 1.0f) : 0.0f);
  });
  check_pairs<uint32_t, uint32_t>(
      "setp.ltu.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;", from,
      [&](uint32_t a, uint32_t b) { return !(f(a) >= f(b)) ? 1u : 0u; });
}

TEST(Floats, ObeyDirectedRounding) {
  const auto one = std::bit_cast<uint32_t>(1.0f), tiny = std::bit_cast<uint32_t>(1e-20f);
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("add.rp.f32 %d, %a, %b;", {one}, {tiny})[0]), one + 1);
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("add.rm.f32 %d, %a, %b;", {one}, {tiny})[0]), one);
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("sub.rz.f32 %d, %a, %b;", {one}, {tiny})[0]), one - 1);
}

TEST(Floats, MaximumPrefersNumbersAndPlusZero) {
  const uint32_t nan = 0x7fc00000, one = 0x3f800000, minus = 0x80000000;
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("max.f32 %d, %a, %b;", {nan, one, 0, minus, nan},
                                          {one, nan, minus, 0, nan})),
            (std::vector<uint32_t>{one, one, 0, 0, 0x7fffffff}));
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("min.NaN.f32 %d, %a, %b;", {nan, 0}, {one, minus})),
            (std::vector<uint32_t>{0x7fffffff, minus}));
}

TEST(Halves, AddMultiplyAndFuseLikeOneRounding) {
  std::mt19937 random(7);
  std::vector<uint16_t> a(20000), b(a.size()), c(a.size());
  for (auto* values : {&a, &b, &c}) {
    for (uint16_t& value : *values) value = static_cast<uint16_t>(random());
  }
  const auto wide = [](uint16_t bits) {
    return static_cast<double>(std::bit_cast<_Float16>(bits));
  };
  const auto narrow = [](double v) {
    const auto h = std::bit_cast<uint16_t>(static_cast<_Float16>(v));
    return v != v ? uint16_t{0x7fff} : h;
  };
  const auto sum = evaluate<uint16_t, uint16_t>("add.f16 %d, %a, %b;", a, b);
  const auto product = evaluate<uint16_t, uint16_t>("mul.f16 %d, %a, %b;", a, b);
  const auto fused = evaluate<uint16_t, uint16_t>("fma.rn.f16 %d, %a, %b, %c;", a, b, c);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(sum[i], narrow(wide(a[i]) + wide(b[i]))) << a[i] << " + " << b[i];
    ASSERT_EQ(product[i], narrow(wide(a[i]) * wide(b[i]))) << a[i] << " * " << b[i];
    // A double product is exact and its sum differs from the true one only below f16's sticky bits,
    // but for ties; long double has the bits to decide those.
    const long double exact = static_cast<long double>(wide(a[i])) * wide(b[i]) + wide(c[i]);
    ASSERT_EQ(fused[i],
              exact != exact ? 0x7fff : std::bit_cast<uint16_t>(static_cast<_Float16>(exact)))
        << i;
  }
}

TEST(Converts, ClampRoundAndSaturate) {
  const auto bits = [](float v) { return std::bit_cast<uint32_t>(v); };
  const std::vector<uint32_t> from = {bits(2.5f),  bits(-2.5f), bits(3e9f),
                                      bits(-3e9f), bits(NAN),   bits(-0.7f)};
  const auto m = [](int32_t v) { return static_cast<uint32_t>(v); };
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("cvt.rni.s32.f32 %d, %a;", from)),
            (std::vector<uint32_t>{2, m(-2), 0x7fffffff, 0x80000000, 0, m(-1)}));
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("cvt.rzi.u32.f32 %d, %a;", from)),
            (std::vector<uint32_t>{2, 0, 3000000000u, 0, 0, 0}));
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("cvt.rpi.f32.f32 %d, %a;", {bits(1.2f)})[0]), bits(2.0f));
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("cvt.sat.s8.s32 %d, %a;", {1000, m(-1000), 5})),
            (std::vector<uint32_t>{127, m(-128), 5}));
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("cvt.rn.f16x2.f32 %d, %a, %b;", {bits(1.0f)},
                                          {bits(-2.0f)})[0]),
            0x3c00c000u);
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("cvt.rna.tf32.f32 %d, %a;", {0x3f801000})[0]),
            0x3f802000u);
  EXPECT_EQ((evaluate<uint64_t, uint32_t>("cvt.s64.s32 %d, %a;", {m(-5)})[0]),
            static_cast<uint64_t>(-5));
}

TEST(Integers, SubtractionsLeaveTheCarryOfTheHardware) {
  const std::string body =
      "sub.cc.u32 %x, %a, %b; addc.u32 %y, 0, 0; sub.cc.u32 %x, %a, %b; subc.u32 %x, 0, 0; "
      "shl.b32 %x, %x, 4; or.b32 %d, %x, %y;";
  const auto got = evaluate<uint32_t, uint32_t>(body, {5, 5, 0}, {3, 5, 1});
  EXPECT_EQ(got, (std::vector<uint32_t>{1, 1, 0xfffffff0u}));  // 1: nothing was borrowed.
}

TEST(Integers, PackedAndVideoArithmeticWorksOnEachPart) {
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("vabsdiff4.u32.u32.u32 %d, %a, %b, %c;", {0x01ff0580},
                                          {0x02fe0a01}))[0],
            0x0101057fu);
  EXPECT_EQ((evaluate<uint32_t, uint32_t>("vabsdiff4.u32.u32.u32.add %d, %a, %b, %c;", {0x01ff0580},
                                          {0x02fe0a01}, {1000}))[0],
            1000u + 1 + 1 + 5 + 127);
  EXPECT_EQ(
      (evaluate<uint32_t, uint32_t>("max.s16x2.relu %d, %a, %b;", {0x8000fff0}, {0x9000fff8}))[0],
      0u);
}

TEST(Halves, ReluMakesZerosPositiveAndKeepsNaN) {
  const auto relu = [](uint32_t a, uint32_t b, uint32_t c) {
    return evaluate<uint32_t, uint32_t>("fma.rn.relu.bf16x2 %d, %a, %b, %c;", {a}, {b}, {c})[0];
  };
  EXPECT_EQ(relu(0x80003f80, 0x3f80bf80, 0x80000000), 0u);           // -0 * 1 - 0; 1 * -1 + 0
  EXPECT_EQ(relu(0x40003f80, 0x40403f80, 0x3f807fc0), 0x40e07fffu);  // 2 * 3 + 1; 1 * 1 + NaN
}

TEST(Halves, SetGivesOneOrAllBits) {
  const std::vector<uint32_t> a = {0x40003c00}, b = {0x3c004000};  // 2 and 1; 1 and 2.
  const auto set = [&](const std::string& form) {
    return evaluate<uint32_t, uint32_t>("set.gt." + form + " %d, %a, %b;", a, b)[0];
  };
  EXPECT_EQ(set("f16x2.f16x2"), 0x3c000000u);
  EXPECT_EQ(set("u32.f16x2"), 0xffff0000u);
  EXPECT_EQ((evaluate<uint32_t, uint32_t>(
                "{ .reg .b16 x, y, z; cvt.u16.u32 x, %a; cvt.u16.u32 y, %b; set.gt.f16.f16 z, x, "
                "y; cvt.u32.u16 %d, z; }",
                a, b))[0],
            0u);
  EXPECT_EQ(set("f32.s32"), 0x3f800000u);
}

}  // namespace
}  // namespace gpuemu::emulator
