// Tests random programs of three warps on one tile of shared or global memory: the race detectors
// must report the same however an access is executed. Generic addresses go lane by lane, whole rows
// a few vectors at a time, and some code is compiled to machine code.
#include <algorithm>
#include <random>

#include "runtime/emulator/memory/lane_clock.h"
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

constexpr uint32_t kWarps = 3, kThreads = 32 * kWarps, kPrograms = 400;

/// Where lane %l of warp %w accesses, in units of the access: a row for all warps or one for each,
/// rows and places for each half of a warp, halves of two rows, one for each quarter, one place,
/// backwards, eights apart, crosswise.
constexpr std::array kPlaces{"mov.b32 %o, %l;",
                             "mad.lo.u32 %o, %w, 32, %l;",
                             "and.b32 %o, %l, 15;",
                             "shr.u32 %o, %t, 4;",
                             "shr.u32 %o, %l, 4; mad.lo.u32 %o, %o, 32, %l;",
                             "and.b32 %o, %l, 7;",
                             "mov.b32 %o, 3;",
                             "sub.u32 %o, 31, %l;",
                             "shr.u32 %o, %l, 3; mad.lo.u32 %o, %o, 5, %l;",
                             "xor.b32 %o, %l, 1;"};
struct Form {
  const char* type;
  uint32_t bytes;
  const char* registers;
};
constexpr std::array kForms{Form{".b32", 4, "%r1"},
                            Form{".f32", 4, "%f1"},
                            Form{".b64", 8, "%d1"},
                            Form{".v2.b32", 8, "{%r1, %r2}"},
                            Form{".v4.b32", 16, "{%r1, %r2, %r3, %r4}"},
                            Form{".v2.b64", 16, "{%d1, %d2}"},
                            Form{".u16", 2, "%q1"}};

enum class Tile : uint8_t { Shared, Global };
/// Plain: loads, stores and barriers in a row. Varied: fences, atomic, volatile and read-only
/// accesses, guards of some lanes and rows at any place too, three times over.
enum class Mix : uint8_t { Plain, Varied };

/// The first block polls a word of each row of `looked`. That orders and changes nothing, but from
/// then on the race detector keeps records for each word there instead of one for each row.
constexpr const char* kLook =
    " ld.param.u64 %g, [at]; ld.param.u64 %x, [looked];\n"
    " mov.u32 %r5, %ctaid.x; setp.eq.u32 %p4, %r5, 0; mad.wide.u32 %x, %l, 128, %x;\n"
    " @%p4 ld.volatile.global.b32 %r5, [%x];\n";

class Programs {
 public:
  Programs(uint32_t seed, bool generic, Tile tile = Tile::Shared, Mix mix = Mix::Plain)
      : random_(seed),
        is_shared_(tile == Tile::Shared),
        is_varied_(mix == Mix::Varied),
        space_(generic      ? ""
               : is_shared_ ? ".shared"
                            : ".global") {}

  std::string write(uint32_t length) {
    std::string body = with_header(
        ".visible .entry k(.param .u64 out, .param .u64 at, .param .u64 looked) {\n"
        " .reg .pred %p<6>; .reg .b16 %q<3>; .reg .b32 "
        "%r<9>, %t, %l, %w, %o, %a, %e, %c, %m; .reg .f32 %f<3>; .reg .b64 %d<4>, %g, %x;\n"
        " .shared .align 16 .b8 tile[4096];\n"
        " mov.u32 %t, %tid.x; and.b32 %l, %t, 31; shr.u32 %w, %t, 5; mov.u32 %a, tile;\n"
        " cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g;\n" +
        std::string(is_shared_ ? "" : kLook) +
        " mov.u32 %c, 31; mov.u32 %m, -1; mov.b32 %r1, %t; mov.b32 %r2, 7; mov.b32 %r3, %l; "
        "mov.b32 %r4, %w; mov.b32 %f1, %t;\n"
        " cvt.u64.u32 %d1, %t; mov.b64 %d2, 9; mov.b16 %q1, 5;\n");
    for (uint32_t i = 0; i < kWarps; ++i) body += fmt::format(" setp.eq.u32 %p{}, %w, {};\n", i, i);
    if (is_varied_) {
      body +=
          fmt::format(" setp.lt.u32 %p2, %l, {}; setp.ge.u32 %p3, %l, {}; mov.u32 %e, 0;\nAGAIN:\n",
                      1 + below(31), below(31));
    }
    for (uint32_t i = 0; i < length; ++i) body += is_varied_ ? varied_statement() : statement();
    if (is_varied_) {
      body += " add.u32 %e, %e, 1; setp.lt.u32 %p5, %e, 3;\n @%p5 bra AGAIN;\n";
    }
    return body + " ld.param.u64 %x, [out]; st.global.b32 [%x], %r1;\n ret;\n}\n";
  }

 private:
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  std::string statement() {
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        return " bar.sync 0;\n";
      case 3:
        return " bar.warp.sync -1;\n";
      case 4:
        return shuffle_or_sum();
      default:
        return access();
    }
  }
  std::string shuffle_or_sum() {
    switch (below(4)) {
      case 0:
        return " shfl.sync.idx.b32 %r5, %r3, 0, 31, -1;\n";
      case 1:
        return " shfl.sync.bfly.b32 %r3, %r3, 1, %c, %m;\n";
      default:
        return " add.u32 %r1, %r1, 1; mov.b32 %r2, 7;\n";
    }
  }
  std::string varied_statement() {
    switch (below(24)) {
      case 0:
        return below(2) == 0 ? " membar.gl;\n" : " membar.cta;\n";
      case 1:
        return " st.volatile.shared.u32 [%a], %r1;\n";
      case 2:
        return " st.release.cta.shared.u32 [%a], %r1;\n";
      case 3:
        return fmt::format(" atom.global.add.u32 %r5, [%g+{}], 1;\n", below(40) * 16);
      case 4:
        return fmt::format(" ld.volatile.global.b32 %r5, [%g+{}];\n", below(40) * 16);
      case 5:
        return access(".nc");
      default:
        return statement();
    }
  }
  /// `cache`: of a load; without it, the access may be a store.
  std::string access(const std::string& cache = "") {
    const Form& form = kForms[below(kForms.size())];
    const uint32_t offset = is_varied_ && below(2) == 0 ? below(40) * form.bytes : below(6) * 64;
    std::string text =
        fmt::format(" {} mul.lo.u32 %o, %o, {}; ", kPlaces[below(kPlaces.size())], form.bytes);
    const std::string guard = below(3) == 0 ? fmt::format("@{}%p{} ", below(2) == 0 ? "!" : "",
                                                          below(is_varied_ ? kWarps + 1 : kWarps))
                                            : "";
    const bool is_wide = space_ != ".shared";
    text += is_wide ? "cvt.u64.u32 %x, %o; add.u64 %x, %x, %g;\n " : "add.u32 %o, %o, %a;\n ";
    const std::string at = fmt::format("[{}+{}]", is_wide ? "%x" : "%o", offset);
    return text + guard +
           (cache.empty() && below(5) < 2
                ? fmt::format("st{}{} {}, {};\n", space_, form.type, at, form.registers)
                : fmt::format("ld{}{}{} {}, {};\n", space_, cache, form.type, form.registers, at));
  }

  std::mt19937 random_;
  bool is_shared_, is_varied_;
  std::string space_;
};

struct Run {
  MachineCode code = MachineCode::Never;
  bool by_words = false;  ///< The race detector keeps records for each word of the tile.
  uint32_t blocks = 1, threads = kThreads;
};

/// The entry takes `out` and, if it has a second parameter, a tile and what it looks at.
std::vector<std::string> findings_of(const std::string& ptx, const Run& run) {
  TestKernel kernel(ptx, 80, 1, run.code);
  kernel.arg(kernel.buffer(std::vector<uint64_t>(kThreads), "out"));
  if (ptx.find(".u64 at,") != ptx.npos) {
    const uint64_t tile = kernel.buffer(std::vector<uint64_t>(512), "tile"),
                   other = kernel.buffer(std::vector<uint64_t>(512), "other");
    kernel.arg(tile);
    kernel.arg(run.by_words ? tile : other);
  }
  kernel.config().grid = {run.blocks, 1, 1};
  kernel.config().block = {run.threads, 1, 1};
  kernel.config().sanitize = {DeviceCheck::Memory, DeviceCheck::RaceShared,
                              DeviceCheck::RaceGlobal};
  std::vector<std::string> all;
  for (const DeviceFinding& each : kernel.run(false).findings) {
    if (each.tensor == "out") continue;  // All threads store there.
    all.push_back(fmt::format("{} x{} lines {} and {}, thread {} offset {}", name_of(each.kind),
                              each.count, each.ptx_line, each.other_ptx_line, each.thread.x,
                              each.byte_offset));
  }
  return all;
}
std::vector<std::string> findings(uint32_t seed, bool generic, const Run& run,
                                  Tile tile = Tile::Shared) {
  return findings_of(Programs(seed, generic, tile).write(20 + seed % 60), run);
}

TEST(RacePrograms, RowsAreJudgedAsTheirLanesAre) {
  for (const Tile tile : {Tile::Shared, Tile::Global}) {
    size_t races = 0;
    for (uint32_t seed = 0; seed < kPrograms && !HasFailure(); ++seed) {
      const auto by_lanes = findings(seed, true, {}, tile);
      EXPECT_EQ(findings(seed, false, {}, tile), by_lanes)
          << Programs(seed, false, tile).write(20 + seed % 60);
      races += by_lanes.size();
    }
    EXPECT_GT(races, kPrograms);
  }
}

TEST(RacePrograms, MachineCodeJudgesAsTheHandlersDo) {
  for (const Tile tile : {Tile::Shared, Tile::Global}) {
    for (uint32_t seed = 0; seed < kPrograms && !HasFailure(); ++seed) {
      EXPECT_EQ(findings(seed, false, {.code = MachineCode::Always}, tile),
                findings(seed, false, {}, tile))
          << Programs(seed, false, tile).write(20 + seed % 60);
    }
  }
}

/// Two warps read two rows so often, then the third stores one of them without an order.
std::string read_often(uint32_t times) {
  return with_header(fmt::format(
      ".visible .entry k(.param .u64 out) {{\n .reg .pred %p<2>; .reg .b32 %r<3>, %t, %l, %w, %a, "
      "%e;\n .shared .align 16 .b8 tile[256];\n"
      " mov.u32 %t, %tid.x; and.b32 %l, %t, 31; shr.u32 %w, %t, 5; mov.u32 %a, tile;\n"
      " mad.lo.u32 %a, %l, 4, %a; mov.u32 %e, 0; setp.eq.u32 %p0, %w, 2;\n @%p0 bra STORE;\n"
      "AGAIN:\n ld.shared.b32 %r1, [%a]; ld.shared.b32 %r2, [%a+128];\n"
      " add.u32 %e, %e, 1; setp.lt.u32 %p1, %e, {};\n @%p1 bra AGAIN;\n ret;\n"
      "STORE:\n st.shared.b32 [%a+128], %t;\n ret;\n}}\n",
      times));
}

TEST(RacePrograms, MachineCodeJudgesMoreLoadsThanItListsAsTheHandlersDo) {
  for (const uint32_t times : {1u, 100u, 3000u}) {
    const std::string ptx = read_often(times);
    const auto by_handlers = findings_of(ptx, {});
    ASSERT_EQ(by_handlers.size(), 1u) << times;
    EXPECT_TRUE(by_handlers[0].starts_with("race_shared x32 ")) << by_handlers[0];
    EXPECT_EQ(findings_of(ptx, {.code = MachineCode::Always}), by_handlers) << times;
  }
}

/// Each lane stores a word, meets the others so often, and reads its neighbour's. Meetings order
/// reads alone.
std::string meet_often(uint32_t times) {
  return with_header(fmt::format(
      ".visible .entry k(.param .u64 out) {{\n .reg .pred %p; .reg .b32 %r<3>, %t, %a, %b, %e;\n"
      " .shared .align 16 .b8 tile[512];\n mov.u32 %t, %tid.x; mov.u32 %a, tile;\n"
      " mad.lo.u32 %a, %t, 4, %a; xor.b32 %b, %a, 4; mov.u32 %e, 0; mov.u32 %r1, %t;\n"
      " st.shared.b32 [%a], %t;\n"
      "AGAIN:\n shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;\n"
      " add.u32 %e, %e, 1; setp.lt.u32 %p, %e, {};\n @%p bra AGAIN;\n"
      " ld.shared.b32 %r2, [%b]; add.u32 %r2, %r2, %r1;\n ret;\n}}\n",
      times));
}

TEST(RacePrograms, MachineCodeCountsMeetingsAsTheHandlersDo) {
  // The clock of a warp counts fewer events than the last; then it begins anew.
  for (const uint32_t times : {1u, 5u, 40'000u}) {
    const std::string ptx = meet_often(times);
    const auto by_handlers = findings_of(ptx, {});
    EXPECT_EQ(by_handlers.empty(), times > LaneClock::kEventsMax) << times;
    EXPECT_EQ(findings_of(ptx, {.code = MachineCode::Always}), by_handlers) << times;
  }
}

/// Short programs, of which many are free of races for a while, so that rows have records of their
/// own when the first race comes.
TEST(RacePrograms, RecordsOfRowsJudgeAsThoseOfWordsDo) {
  size_t races = 0;
  for (uint32_t seed = 0; seed < 2 * kPrograms && !HasFailure(); ++seed) {
    const std::string ptx = Programs(seed, false, Tile::Global).write(3 + seed % 20);
    const uint32_t blocks = 1 + seed % 3;
    const auto by_words = findings_of(ptx, {.by_words = true, .blocks = blocks});
    for (const MachineCode code : {MachineCode::Never, MachineCode::Always}) {
      EXPECT_EQ(findings_of(ptx, {.code = code, .blocks = blocks}), by_words) << ptx;
    }
    races += by_words.size();
  }
  EXPECT_GT(races, kPrograms);
}

TEST(RacePrograms, RecordsOfRowsJudgeVariedAccessesAsThoseOfWordsDo) {
  size_t races = 0;
  for (uint32_t seed = 0; seed < kPrograms && !HasFailure(); ++seed) {
    const std::string ptx = Programs(seed, false, Tile::Global, Mix::Varied).write(2 + seed % 25);
    // The last warp of 80 threads has half of its lanes.
    const uint32_t blocks = 1 + seed % 4, threads = seed % 3 == 0 ? 80 : kThreads;
    const auto by_words =
        findings_of(ptx, {.by_words = true, .blocks = blocks, .threads = threads});
    for (const MachineCode code : {MachineCode::Never, MachineCode::Always}) {
      EXPECT_EQ(findings_of(ptx, {.code = code, .blocks = blocks, .threads = threads}), by_words)
          << "machine code: " << (code == MachineCode::Always) << ptx;
    }
    races += by_words.size();
  }
  EXPECT_GT(races, kPrograms);
}

/// In each block, the first warp executes `steps` and then stores a row that the second one reads
/// without an order.
std::string store_unordered(const std::string& steps) {
  return with_header(
      ".visible .entry k(.param .u64 out, .param .u64 at, .param .u64 looked) {\n"
      " .reg .pred %p<2>; .reg .b32 %t, %l, %w, %s, %b, %r<3>; .reg .b64 %g, %x;\n"
      " .shared .align 16 .b8 tile[256];\n"
      " mov.u32 %t, %tid.x; and.b32 %l, %t, 31; shr.u32 %w, %t, 5; mov.u32 %s, tile;\n"
      " mad.lo.u32 %s, %l, 4, %s; mov.u32 %b, %ctaid.x; ld.param.u64 %g, [at];\n"
      " mad.wide.u32 %g, %b, 1024, %g; mad.wide.u32 %x, %l, 4, %g; mov.u32 %r1, %t;\n"
      " setp.eq.u32 %p0, %w, 1; setp.gt.u32 %p1, %w, 1;\n @%p1 ret;\n @%p0 bra SECOND;\n" +
      steps +
      " st.global.b32 [%x+512], %r1;\n ret;\n"
      "SECOND:\n ld.global.b32 %r2, [%x+512]; st.global.b32 [%x+768], %r2;\n ret;\n}\n");
}

void expect_race_in_each_block(const std::string& steps) {
  constexpr uint32_t kBlocks = 4;
  for (const bool by_words : {false, true}) {
    for (const MachineCode code : {MachineCode::Never, MachineCode::Always}) {
      const auto all = findings_of(store_unordered(steps),
                                   {.code = code, .by_words = by_words, .blocks = kBlocks});
      ASSERT_EQ(all.size(), 1u) << steps << (code == MachineCode::Always);
      EXPECT_TRUE(all[0].starts_with("race_global x128 ")) << steps << all[0];
    }
  }
}

TEST(RacePrograms, AStoreBehindWhatBeginsAnEpochIsNotOrderedByIt) {
  expect_race_in_each_block(" st.global.b32 [%x], %r1;\n add.u32 %r1, %r1, 1;\n");
  expect_race_in_each_block(
      " st.global.b32 [%x], %r1;\n membar.cta;\n st.volatile.shared.u32 [%s], %r1;\n");
  expect_race_in_each_block(" st.global.b32 [%x], %r1;\n st.release.cta.shared.u32 [%s], %r1;\n");
  expect_race_in_each_block(" st.global.b32 [%x], %r1;\n fence.proxy.async.shared::cta;\n");
}

TEST(RacePrograms, AStoreBehindAPollIsNotOrderedByIt) {
  expect_race_in_each_block(" ld.volatile.global.u32 %r2, [%x+256];\n");
}

/// Without a barrier, a thread reads what another warp has written or will write.
TEST(RacePrograms, AMissingBarrierIsToldInOneOrder) {
  const std::string ptx = with_header(
      ".visible .entry k(.param .u64 out, .param .u64 in) {\n .reg .b32 %t, %a, %b, %r<3>;\n"
      " .reg .b64 %x, %y, %o; .shared .align 16 .b8 tile[512];\n"
      " mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; ld.param.u64 %x, [in]; add.u64 %x, %x, %o;\n"
      " ld.global.b32 %r1, [%x]; mov.u32 %a, tile; mad.lo.u32 %b, %t, 4, %a;\n"
      " st.shared.b32 [%b], %r1;\n mov.u32 %r2, 127; sub.u32 %r2, %r2, %t;\n"
      " mad.lo.u32 %b, %r2, 4, %a; ld.shared.b32 %r2, [%b];\n"
      " ld.param.u64 %y, [out]; add.u64 %y, %y, %o; st.global.b32 [%y], %r2; ret;\n}\n");
  for (const bool defers : {false, true}) {
    std::vector<std::vector<std::string>> told;
    for (const MachineCode code : {MachineCode::Never, MachineCode::Always}) {
      TestKernel kernel(ptx, 80, 1, code);
      kernel.arg(kernel.buffer(std::vector<uint32_t>(128), "out"));
      kernel.arg(kernel.buffer(std::vector<uint32_t>(128, 5), "in"));
      kernel.config().block = {128, 1, 1};
      kernel.config().defers_undefined = defers;
      std::vector<std::string>& kinds = told.emplace_back();
      for (const DeviceFinding& each : kernel.run(false).findings) {
        kinds.push_back(
            fmt::format("{} x{} in line {}", name_of(each.kind), each.count, each.ptx_line));
      }
    }
    EXPECT_EQ(told[0], told[1]) << defers;
    EXPECT_TRUE(told[0].front().starts_with("race_shared")) << told[0].front();
    const bool has_read = std::ranges::any_of(
        told[0], [](const std::string& one) { return one.starts_with("uninitialized"); });
    EXPECT_EQ(has_read, !defers);
  }
}

/// Two warps read the low halves of words, the second then the whole words, and a third writes the
/// high halves. Each lane has a word of its own, or all have one.
std::string halves_then_words(const std::string& space, uint32_t lane_bytes) {
  return with_header(fmt::format(
      ".visible .entry k(.param .u64 out) {{\n .reg .pred %p<4>; .reg .b16 %q; .reg .b32 %r, %t, "
      "%w, %a; .reg .b64 %x;\n .shared .align 16 .b8 tile[128];\n"
      " mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; and.b32 %t, %t, 31; mov.u32 %a, tile;\n"
      " mad.lo.u32 %a, %t, {1}, %a; cvt.u64.u32 %x, %a;{2}\n"
      " setp.eq.u32 %p1, %w, 1; setp.eq.u32 %p2, %w, 2; mov.b16 %q, 5;\n"
      " @!%p2 ld{0}.u16 %q, [%x];\n @%p1 ld{0}.b32 %r, [%x];\n @%p2 st{0}.u16 [%x+2], %q;\n"
      " ret;\n}}\n",
      space, lane_bytes, space.empty() ? " cvta.shared.u64 %x, %x;" : ""));
}

TEST(RacePrograms, AWholeWordIsReadEvenWhereSeveralWarpsReadPartOfIt) {
  for (const uint32_t lane_bytes : {0u, 4u}) {
    for (const MachineCode code : {MachineCode::Never, MachineCode::Always}) {
      for (const char* space : {"", ".shared"}) {
        const auto all = findings_of(halves_then_words(space, lane_bytes), {.code = code});
        ASSERT_EQ(all.size(), 1u) << lane_bytes << space;
        EXPECT_TRUE(all[0].starts_with("race_shared x32")) << all[0];
      }
    }
  }
}

}  // namespace
}  // namespace gpuemu::emulator
