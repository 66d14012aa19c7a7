// Metrics of the parsed kernel: counts, loops and divergence.
#include "judge/metrics/ptx_metrics.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "judge/metrics/counts.h"
#include "judge/metrics/divergence.h"
#include "judge/metrics/loops.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

/// How often each thing occurs, by name.
ptx::Module module_of(const std::string& text) {
  auto module = ptx::parse(text, "k.ptx");
  EXPECT_TRUE(module) << module.error().message;
  return module ? *std::move(module) : ptx::Module{};
}

ptx::Module kernel_of(const std::string& body) {
  return module_of(
      ".version 8.0\n.target sm_80\n.address_size 64\n.const .align 4 .f32 table[16];\n"
      ".extern .shared .align 16 .b8 dynamic[];\n"
      ".visible .entry k(.param .u64 x, .param .u32 n)\n{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n"
      ".reg .f32 %f<9>;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n" +
      body + "\nret;\n}\n");
}

PtxMetrics metrics_of(const std::string& body) {
  const ptx::Module module = kernel_of(body);
  return measure_ptx(module, module.functions.front());
}

TEST(PtxMetrics, CountWhatTheKernelMovesBySpaceAndWidth) {
  const PtxMetrics metrics = metrics_of(R"(
ld.param.u64 %d1, [x];
ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%d1];
ld.shared::cta.b16 %h1, [%d1];
ld.u8 %h1, [%d1];
st.global.v2.b32 [%d1], {%r1, %r2};
st.volatile.shared.f32 [%d1], %f1;)");
  EXPECT_EQ(metrics.loads,
            (Counts{{"generic.1", 1}, {"global.16", 1}, {"param.8", 1}, {"shared.2", 1}}));
  EXPECT_EQ(metrics.stores, (Counts{{"global.8", 1}, {"shared.4", 1}}));
  EXPECT_EQ(metrics.instructions, 7u);
  EXPECT_EQ(metrics.classes, (Counts{{"control", 1}, {"memory", 6}}));
}

TEST(PtxMetrics, CountSpecialFunctionsRoundingAndLiterals) {
  const PtxMetrics metrics = metrics_of(R"(
ex2.approx.ftz.f32 %f1, %f2;
rsqrt.approx.f32 %f1, %f2;
div.full.f32 %f1, %f2, %f3;
div.rn.f32 %f1, %f2, %f3;
fma.rn.ftz.f32 %f1, %f2, 0f3F000000, 0fBF000000;
bar.sync 0;
atom.global.add.u32 %r1, [%d1], 1;
red.global.add.u32 [%d1], 1;)");
  EXPECT_EQ(metrics.special_functions,
            (Counts{{"div.full.f32", 1}, {"ex2.approx.ftz.f32", 1}, {"rsqrt.approx.f32", 1}}));
  EXPECT_EQ(metrics.approx, 3u);
  EXPECT_EQ(metrics.ftz, 2u);
  EXPECT_EQ(metrics.constants, (Counts{{"-0.5f", 1}, {"0.5f", 1}}));
  EXPECT_EQ(metrics.barriers, 1u);
  EXPECT_EQ(metrics.atomics, 2u);
}

TEST(PtxMetrics, CountRegistersByTypeAndMemoryThatIsUsed) {
  const PtxMetrics metrics = metrics_of(R"(
.shared .align 4 .f32 tile[64];
.local .align 4 .b8 depot[24];
mov.u64 %d1, tile;
mov.u64 %d2, dynamic;
ld.const.f32 %f1, [table+4];)");
  EXPECT_EQ(metrics.registers,
            (Counts{{"b16", 9}, {"b32", 9}, {"b64", 9}, {"f32", 9}, {"pred", 9}}));
  EXPECT_EQ(metrics.shared_bytes, 256u);
  EXPECT_EQ(metrics.local_bytes, 24u);
  EXPECT_EQ(metrics.const_bytes, 64u);
  EXPECT_TRUE(metrics.dynamic_shared);
  ASSERT_EQ(metrics.params.size(), 2u);
  EXPECT_EQ(metrics.params[1], (EntryParam{"n", "u32", 4}));
}

TEST(PtxMetrics, OfAnUnusedModuleVariableAreNotTheKernels) {
  const PtxMetrics metrics = metrics_of("mov.u32 %r1, 1;");
  EXPECT_EQ(metrics.const_bytes, 0u);
  EXPECT_FALSE(metrics.dynamic_shared);
}

TEST(ReadableName, UndoesManglingAndLeavesTheRest) {
  EXPECT_EQ(readable_name("softmax"), "softmax");
  EXPECT_EQ(readable_name("_Z7softmaxIfEvPKT_PS0_i"), "softmax<float>");
  EXPECT_EQ(readable_name("_ZN2ns5scaleEPfi"), "ns::scale");
  EXPECT_EQ(readable_name("_ZN12_GLOBAL__N_15scaleEPf"), "(anonymous namespace)::scale");
}

TEST(ReadableNames, KeepOverloadsApart) {
  const auto names = readable_names({"_Z5scalePf", "_Z5scalePd", "_Z4copyPf"});
  EXPECT_EQ(names.at("_Z5scalePf"), "_Z5scalePf");
  EXPECT_EQ(names.at("_Z5scalePd"), "_Z5scalePd");
  EXPECT_EQ(names.at("_Z4copyPf"), "copy");
}

// --- loops ---------------------------------------------------------------------------------------

struct Shape {
  std::vector<ptx::BasicBlock> blocks;
  uint32_t loops = 0, depth = 0;
};

/// Random nests of sequences, branches and loops, whose loops are known.
class Nest {
 public:
  explicit Nest(uint32_t seed) : random_(seed) {}
  Shape run() {
    const uint32_t first = block();
    edge(part(first, 0, 4), block());
    return std::move(shape_);
  }

 private:
  uint32_t block() {
    shape_.blocks.emplace_back();
    return static_cast<uint32_t>(shape_.blocks.size()) - 1;
  }
  void edge(uint32_t from, uint32_t to) {
    auto& all = shape_.blocks[from].successors;
    if (std::ranges::find(all, to) == all.end()) all.push_back(to);
    std::ranges::sort(all);
  }
  // Appends code after block `from`; returns the block that it ends with.
  uint32_t part(uint32_t from, uint32_t depth, uint32_t budget) {
    for (auto left = budget == 0 ? 0 : random_() % 3; left > 0; --left) {
      from = random_() % 2 == 0 ? branch(from, depth, budget - 1) : loop(from, depth, budget - 1);
    }
    return from;
  }
  uint32_t branch(uint32_t from, uint32_t depth, uint32_t budget) {
    const uint32_t one = block();
    edge(from, one);
    const uint32_t end = part(one, depth, budget);
    const uint32_t join = block();
    edge(end, join);
    edge(from, join);
    return join;
  }
  uint32_t loop(uint32_t from, uint32_t depth, uint32_t budget) {
    const uint32_t header = block();
    edge(from, header);
    const uint32_t latch = part(header, depth + 1, budget);
    edge(latch, header);
    const uint32_t after = block();
    edge(random_() % 2 == 0 ? header : latch, after);
    ++shape_.loops;
    shape_.depth = std::max(shape_.depth, depth + 1);
    return after;
  }

  std::mt19937 random_;
  Shape shape_;
};

TEST(Loops, OfRandomNestsAreThoseTheyWereBuiltOf) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const Shape shape = Nest(seed).run();
    const Loops found = find_loops(shape.blocks);
    EXPECT_EQ(found.headers, shape.loops) << "seed " << seed;
    EXPECT_EQ(found.back_edges, shape.loops) << "seed " << seed;
    EXPECT_EQ(found.depth, shape.depth) << "seed " << seed;
  }
}

bool has_cycle(const std::vector<ptx::BasicBlock>& blocks) {
  // Whether some reachable block reaches itself, by closure.
  const size_t count = blocks.size();
  std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count, false));
  for (size_t i = 0; i < count; ++i) {
    for (const uint32_t to : blocks[i].successors) reaches[i][to] = true;
  }
  for (size_t k = 0; k < count; ++k) {
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < count; ++j) {
        if (reaches[i][k] && reaches[k][j]) reaches[i][j] = true;
      }
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if ((i == 0 || reaches[0][i]) && reaches[i][i]) return true;
  }
  return false;
}

TEST(Loops, AreThereExactlyWhenSomethingIsRepeated) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<ptx::BasicBlock> blocks(1 + random() % 9);
    for (auto& block : blocks) {
      for (auto left = random() % 3; left > 0; --left) {
        const auto to = static_cast<uint32_t>(random() % blocks.size());
        if (std::ranges::find(block.successors, to) == block.successors.end()) {
          block.successors.push_back(to);
        }
      }
      std::ranges::sort(block.successors);
    }
    const Loops found = find_loops(blocks);
    EXPECT_EQ(found.headers > 0, has_cycle(blocks)) << "round " << round;
    EXPECT_EQ(found.depth > 0, found.headers > 0);
    EXPECT_GE(found.back_edges, found.headers);
  }
}

TEST(Loops, OfALongChainNeedNoDeepStack) {
  std::vector<ptx::BasicBlock> blocks(200'000);
  for (uint32_t i = 0; i + 1 < blocks.size(); ++i) blocks[i].successors = {i + 1};
  blocks.back().successors = {0};
  EXPECT_EQ(find_loops(blocks).headers, 1u);
}

// --- divergence ----------------------------------------------------------------------------------

Branches branches_of(const std::string& body) {
  const ptx::Module module = kernel_of(body);
  return find_divergence(module.functions.front());
}

TEST(Divergence, FollowsFromTheThreadsNumber) {
  const Branches found = branches_of(R"(
mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 3;
setp.eq.u32 %p1, %r2, 0;
@%p1 bra DONE;
DONE:)");
  EXPECT_EQ(found.conditional, 1u);
  EXPECT_EQ(found.divergent, 1u);
}

TEST(Divergence, DoesNotFollowFromParametersBlocksVotesAndConstants) {
  const Branches found = branches_of(R"(
ld.param.u32 %r1, [n];
mov.u32 %r2, %ctaid.x;
setp.lt.u32 %p1, %r1, %r2;
@%p1 bra DONE;
mov.u32 %r3, %tid.x;
setp.eq.u32 %p2, %r3, 0;
vote.sync.any.pred %p3, %p2, -1;
@%p3 bra DONE;
DONE:)");
  EXPECT_EQ(found.conditional, 2u);
  EXPECT_EQ(found.divergent, 0u);
}

TEST(Divergence, FollowsFromLoadsAtAddressesThatDiffer) {
  EXPECT_EQ(branches_of(R"(
mov.u32 %r1, %laneid;
ld.param.u64 %d1, [x];
mad.wide.u32 %d2, %r1, 4, %d1;
ld.global.u32 %r2, [%d1];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra DONE;
ld.global.u32 %r3, [%d2];
setp.eq.u32 %p2, %r3, 0;
@%p2 bra DONE;
DONE:)")
                .divergent,
            2u);  // Behind the second, which is divergent, nothing is alike for sure.
}

TEST(Divergence, OfAValueThatTwoWaysSetDifferently) {
  EXPECT_EQ(branches_of(R"(
mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0;
mov.u32 %r2, 1;
@%p1 bra JOIN;
mov.u32 %r2, 2;
JOIN:
setp.eq.u32 %p2, %r2, 1;
@%p2 bra DONE;
DONE:)")
                .divergent,
            2u);
}

}  // namespace
}  // namespace gpuemu
