// Tests that both implementations of shadow execution give the same results on every instruction
// set of the host: lane by lane if a history is requested, otherwise all lanes at once.
#include <bit>
#include <cmath>
#include <random>

#include "runtime/emulator/shadow/arithmetic.h"
#include "runtime/emulator/shadow/simd_double_double.h"
#include "runtime/emulator/test_kernel.h"
#include "runtime/shadow/shadow.h"

namespace gpuemu::emulator {
namespace {
using Random = std::mt19937;

uint32_t below(Random& random, uint32_t limit) { return static_cast<uint32_t>(random() % limit); }

/// Ordinary values mostly, and what arithmetic has trouble with.
float any_float(Random& random) {
  static constexpr std::array kSpecial = {
      0.0F,    -0.0F, INFINITY, -INFINITY, NAN,        0x1p-140F, -0x1p-126F, 0x1.8p23F,
      0x1p24F, 1.0F,  -1.0F,    3e38F,     0x1.8p-60F, 88.0F,     -104.0F,    0x1.fffffep-1F};
  if (below(random, 6) == 0) return kSpecial[below(random, kSpecial.size())];
  std::normal_distribution<float> normal(0, 4);
  return normal(random);
}

/// Equal bits, but for the sign of zero and what kind of NaN it is.
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// One statement of PTX over %f1 to %f8, %h1, %p and addresses in %r3 (row), %r4 (one for all), %r5
/// (two words each), %r6 (turned round) and %rd4.
std::string any_statement(Random& random) {
  const auto f = [&] { return "%f" + std::to_string(1 + below(random, 8)); };
  const auto number = [&] {
    return fmt::format("0f{:08X}", std::bit_cast<uint32_t>(any_float(random)));
  };
  const auto operand = [&] { return below(random, 5) == 0 ? number() : f(); };
  const auto place = [&] {
    return fmt::format("[%r{}+{}]", 3 + below(random, 4), 4 * below(random, 12));
  };
  static constexpr std::array kTwo = {"add.rn.f32", "sub.rn.f32", "mul.rn.f32", "div.rn.f32",
                                      "min.f32",    "max.f32",    "add.sat.f32"};
  static constexpr std::array kOne = {"neg.f32",        "abs.f32",        "sqrt.rn.f32",
                                      "rcp.rn.f32",     "ex2.approx.f32", "rsqrt.approx.f32",
                                      "cvt.rni.f32.f32"};
  static constexpr std::array kCompare = {"lt", "le", "gt", "ge", "eq", "ne"};
  switch (below(random, 20)) {
    case 0:
      return fmt::format("setp.{}.f32 %p, {}, {};", kCompare[below(random, 6)], f(), operand());
    case 1:
      return fmt::format("selp.f32 {}, {}, {}, %p;", f(), operand(), f());
    case 2:
      return fmt::format("mov.f32 {}, {};", f(), operand());
    case 3:
      return fmt::format("shfl.sync.{}.b32 {}, {}, {}, 31, -1;",
                         below(random, 2) == 0 ? "bfly" : "idx", f(), f(), below(random, 32));
    case 4:
      return fmt::format("st.shared.f32 {}, {};", place(), f());
    case 5:
    case 6:
      return fmt::format("ld.shared.f32 {}, {};", f(), place());
    case 7:
      return fmt::format("st.shared.v2.f32 [%r5], {{{}, {}}};", f(), f());
    case 8:
      return fmt::format("cvt.rn.f16.f32 %h1, {}; cvt.f32.f16 {}, %h1;", f(), f());
    case 9:
      return fmt::format("st.shared.b16 {}, %h1;", place());
    case 10:
      return fmt::format("st.global.f32 [%rd4+{}], {};", 4 * below(random, 40), f());
    case 11:
      return fmt::format("ld.global.f32 {}, [%rd4+{}];", f(), 4 * below(random, 40));
    case 12:
      return fmt::format("mov.b32 %r8, {0}; xor.b32 %r8, %r8, 0x80000000; mov.b32 {1}, %r8;", f(),
                         f());
    case 13:
    case 14:
      return fmt::format("{} {}, {};", kOne[below(random, kOne.size())], f(), f());
    case 15:
    case 16:
      return fmt::format("fma.rn.f32 {}, {}, {}, {};", f(), operand(), operand(), f());
    default:
      return fmt::format("{} {}, {}, {};", kTwo[below(random, kTwo.size())], f(), operand(), f());
  }
}

/// Statements between loads of eight inputs and stores of eight results per thread.
std::string any_kernel(Random& random) {
  constexpr uint32_t kStatements = 60;
  std::string text =
      ".visible .entry k(.param .u64 py, .param .u64 px) {\n"
      " .shared .align 8 .b8 tile[1024];\n"
      " .reg .pred %p, %q; .reg .b16 %h<4>; .reg .b32 %r<10>; .reg .b64 %rd<8>; .reg .f32 %f<10>;\n"
      " ld.param.u64 %rd1, [py]; ld.param.u64 %rd2, [px]; mov.u32 %r1, %tid.x;\n"
      " mad.wide.u32 %rd3, %r1, 32, %rd1; mad.wide.u32 %rd2, %r1, 32, %rd2;\n"
      " and.b32 %r2, %r1, 31; shr.u32 %r7, %r1, 5; mul.lo.u32 %r7, %r7, 512;\n"
      " mov.u32 %r4, tile; add.u32 %r4, %r4, %r7; mad.lo.u32 %r3, %r2, 4, %r4;\n"
      " mad.lo.u32 %r5, %r2, 8, %r4; xor.b32 %r6, %r2, 21; mad.lo.u32 %r6, %r6, 4, %r4;\n"
      " mad.wide.u32 %rd4, %r1, 4, %rd1; add.u64 %rd4, %rd4, 2048;\n"
      " setp.lt.u32 %p, %r2, 13; setp.ne.u32 %q, %r2, 7; mov.b16 %h1, 0x3c00;\n";
  for (int i = 1; i <= 8; ++i) {
    text += fmt::format(" ld.global.f32 %f{}, [%rd2+{}];\n", i, 4 * (i - 1));
  }
  for (uint32_t i = 0; i < kStatements; ++i) {
    const std::string statement = any_statement(random);
    const bool plain = statement.find(';') + 1 == statement.size();
    const bool guarded = plain && statement.find("shfl") == std::string::npos;
    const uint32_t guard = guarded ? below(random, 6) : 2;
    text += (guard == 0 ? " @%q " : guard == 1 ? " @!%p " : " ") + statement + "\n";
  }
  for (int i = 1; i <= 8; ++i) {
    text += fmt::format(" st.global.f32 [%rd3+{}], %f{};\n", 4 * (i - 1), i);
  }
  return text + " ret;\n}\n";
}

void expect_same(const ShadowStep& a, const ShadowStep& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.ptx_line, b.ptx_line) << a.instruction << " and " << b.instruction;
  EXPECT_EQ(a.thread.x, b.thread.x);
  EXPECT_EQ(a.visit, b.visit);
  const auto equal = [](const ShadowValue& x, const ShadowValue& y) {
    return x.name == y.name && same(x.computed, y.computed) && same(x.exact, y.exact) &&
           same(x.bound, y.bound);
  };
  EXPECT_TRUE(equal(a.result, b.result)) << a.instruction;
  ASSERT_EQ(a.operands.size(), b.operands.size());
  for (size_t i = 0; i < a.operands.size(); ++i) {
    EXPECT_TRUE(equal(a.operands[i], b.operands[i])) << a.instruction << ", operand " << i;
  }
}

void expect_same(const std::optional<ShadowStep>& a, const std::optional<ShadowStep>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (a) expect_same(*a, *b);
}

/// A launch without a history, and the same with the history of its block.
class TwoWays {
 public:
  explicit TwoWays(uint32_t seed) : random_(seed), text_(any_kernel(random_)) {}

  void compare() {
    SCOPED_TRACE(text_);
    std::vector<float> in(kThreads * 8);
    for (float& value : in) value = any_float(random_);
    const ShadowReport together = run(in, false), apart = run(in, true);
    expect_same(together.divergence, apart.divergence);
    expect_same(together.first_other_decision, apart.first_other_decision);
    EXPECT_EQ(together.other_decisions, apart.other_decisions);
    const std::vector<ShadowElement>&a = together.regions[0], &b = apart.regions[0];
    for (size_t i = 0; i < kOutputs; ++i) {
      // With a history, values that the kernel only copies have shadows too.
      if (!a[i].known && (!b[i].known || b[i].bound == 0)) continue;
      known_ += a[i].known ? 1U : 0U;
      EXPECT_EQ(a[i].known, b[i].known) << i;
      EXPECT_TRUE(same(a[i].high, b[i].high)) << i << ": " << a[i].high << ", " << b[i].high;
      EXPECT_TRUE(same(a[i].low, b[i].low)) << i << ": " << a[i].low << ", " << b[i].low;
      EXPECT_TRUE(same(a[i].bound, b[i].bound)) << i << ": " << a[i].bound << ", " << b[i].bound;
    }
  }
  size_t known() const { return known_; }

 private:
  static constexpr uint32_t kThreads = 57;  // The second warp is not whole.
  static constexpr size_t kOutputs = 1024;

  ShadowReport run(const std::vector<float>& in, bool history) {
    TestKernel kernel(with_header(text_));
    const uint64_t out = kernel.buffer(std::vector<float>(kOutputs), "y");
    kernel.arg(out).arg(kernel.buffer(in, "x"));
    kernel.config().block = {kThreads, 1, 1};
    kernel.config().sanitize = {DeviceCheck::Memory};
    ShadowConfig wanted{.regions = {{out, kOutputs, 4}}, .target = {}};
    if (history) wanted.target = {out, 4, 0};
    kernel.config().shadow = std::make_shared<ShadowConfig>(wanted);
    return *kernel.run().shadow;
  }

  Random random_;
  std::string text_;
  size_t known_ = 0;
};

TEST(ShadowPaths, GiveTheSameForAnyKernel) {
  size_t known = 0;
  for (uint32_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
    TwoWays ways(seed);
    ways.compare();
    known += ways.known();
  }
  EXPECT_GT(known, 10000U);
}

/// Operands with low parts and bounds, or without.
Lanes any_lanes(Random& random, bool exact, bool finite) {
  Lanes made{};
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    double high = static_cast<double>(any_float(random));
    while (finite && !std::isfinite(high)) high = static_cast<double>(any_float(random));
    made.high[lane] = high;
    if (exact || !std::isfinite(high)) continue;
    made.low[lane] = std::ldexp(high, -54 - static_cast<int>(below(random, 8)));
    made.bound[lane] = std::fabs(high) * 0x1p-24 * below(random, 3);
  }
  return made;
}

PairView view_of(const Lanes& lanes, bool exact) {
  if (exact) return {lanes.high.data(), nullptr, nullptr, true};
  return {lanes.high.data(), lanes.low.data(), lanes.bound.data(), false};
}

bool all_finite(const Lanes& lanes) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (!std::isfinite(lanes.high[lane]) || !std::isfinite(lanes.low[lane])) return false;
  }
  return true;
}

TEST(ShadowPaths, ComputeOnVectorsWhatTheyComputeLaneByLane) {
  Random random(1);
  const PairFunctions& all = pair_functions();
  size_t refused = 0, compared = 0;
  for (const Meaning meaning :
       {Meaning::Add, Meaning::Sub, Meaning::Mul, Meaning::Fma, Meaning::Div, Meaning::Rcp,
        Meaning::Min, Meaning::Max, Meaning::Neg, Meaning::Abs}) {
    for (uint32_t round = 0; round < 400; ++round) {
      Operation by;
      by.meaning = meaning;
      by.unit = 0x1p-24;
      by.absolute = 0x1p-150;
      std::array<Lanes, 3> in;
      PairViews views;
      for (uint32_t i = 0; i < 3; ++i) {
        const bool exact = (round >> i & 1) != 0;
        in[i] = any_lanes(random, exact, round % 4 != 0);
        views[i] = view_of(in[i], exact);
      }
      Lanes expected{}, made{};
      compute(by, in, expected);
      if (!pair_function(all, meaning)(views, by, made)) {
        ++refused;
        EXPECT_FALSE(all_finite(expected) && all_finite(in[0]) && all_finite(in[1]) &&
                     all_finite(in[2]))
            << "operation " << static_cast<int>(meaning);
        continue;
      }
      for (uint32_t lane = 0; lane < kLanes; ++lane, ++compared) {
        ASSERT_TRUE(same(made.high[lane], expected.high[lane]) &&
                    same(made.low[lane], expected.low[lane]) &&
                    same(made.bound[lane], expected.bound[lane]))
            << "operation " << static_cast<int>(meaning) << ", round " << round << ": "
            << made.high[lane] << " + " << made.low[lane] << " within " << made.bound[lane]
            << ", not " << expected.high[lane] << " + " << expected.low[lane] << " within "
            << expected.bound[lane];
      }
    }
  }
  EXPECT_GT(refused, 100U);
  EXPECT_GT(compared, 50000U);
}

TEST(ShadowPaths, TellWhatIsOfThePlane) {
  Random random(2);
  const PairFunctions& all = pair_functions();
  for (int round = 0; round < 50; ++round) {
    Plane plane{};
    std::array<uint32_t, kLanes> bits{};
    const auto mask = static_cast<uint32_t>(random());
    static constexpr std::array kHeld = {Held::Nothing, Held::Four, Held::Four, Held::Two};
    uint32_t live = 0, others = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      plane.held[lane] = kHeld[below(random, kHeld.size())];
      plane.bits[lane] = bits[lane] = below(random, 3);
      bits[lane] += below(random, 3) == 0 ? 1 : 0;
      plane.high[lane] = below(random, 9);
      const bool four = plane.held[lane] == Held::Four;
      live |= uint32_t{four && plane.bits[lane] == bits[lane]} << lane;
      others |= uint32_t{plane.held[lane] == Held::Two} << lane;
    }
    EXPECT_EQ(all.live(bits.data(), plane), live);
    EXPECT_EQ(all.others(plane), others);
    Plane cleared = plane, copied{};
    all.clear(mask, cleared);
    all.assign(plane, mask, copied);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const bool chosen = (mask >> lane & 1) != 0;
      EXPECT_EQ(cleared.held[lane], chosen ? Held::Nothing : plane.held[lane]);
      EXPECT_EQ(copied.held[lane], chosen ? plane.held[lane] : Held::Nothing);
      EXPECT_EQ(copied.high[lane], chosen ? plane.high[lane] : 0);
    }
  }
}

TEST(ShadowPaths, TellRowsFromOneAddressAndFromScatteredOnes) {
  const PairFunctions& all = pair_functions();
  std::array<uint64_t, kLanes> row{}, one{}, apart{};
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    row[lane] = (uint64_t{1} << 32) - 64 + uint64_t{lane} * 4;
    one[lane] = 4096;
    apart[lane] = row[lane] + (lane == 17 ? 4 : 0);
  }
  EXPECT_EQ(all.shape(row.data(), kNone, 4), LaneShape::Row);
  EXPECT_EQ(all.shape(row.data(), 0xfffffff0, 4), LaneShape::Row);
  EXPECT_EQ(all.shape(row.data(), kNone, 8), LaneShape::Apart);
  EXPECT_EQ(all.shape(one.data(), kNone, 4), LaneShape::Same);
  EXPECT_EQ(all.shape(apart.data(), kNone, 4), LaneShape::Apart);
  EXPECT_EQ(all.shape(apart.data(), ~(uint32_t{1} << 17), 4), LaneShape::Row);
}

}  // namespace
}  // namespace gpuemu::emulator
