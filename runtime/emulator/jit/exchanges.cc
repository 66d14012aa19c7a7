// Compiles shuffles of whole warps in one segment, as reductions and scans use them.
#include <algorithm>

#include "runtime/emulator/jit/operations.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
namespace {
using Xbyak::Zmm;

constexpr uint32_t kHalf = kLanes / 2, kLast = kLanes - 1;
constexpr uint8_t kNotEqual = 4, kGreater = 6;  ///< Predicates of vpcmpud.

std::array<uint32_t, kHalf> lanes_of(uint32_t half) {
  std::array<uint32_t, kHalf> lanes{};
  for (uint32_t i = 0; i < kHalf; ++i) lanes[i] = half * kHalf + i;
  return lanes;
}

/// Computes into `from` the source lanes for half a warp. k7: the lanes that read from themselves
/// because their source is out of range.
void find_sources(Emitter& e, ShuffleKind kind, const Zmm& from, const Zmm& named, uint32_t half) {
  const Xbyak::Address lanes = e.constant(lanes_of(half));
  const Zmm distance = e.scratch(0);
  switch (kind) {
    case ShuffleKind::Bfly:
      return e.vpxord(from, named, lanes);
    case ShuffleKind::Idx:
      return e.vmovdqa32(from, named);
    case ShuffleKind::Down:
      e.vpandd(distance, named, e.splat(kLast));
      e.vpaddd(from, distance, lanes);
      e.vpcmpud(e.k7, from, e.splat(kLast), kGreater);
      break;
    case ShuffleKind::Up:
      e.vpandd(distance, named, e.splat(kLast));
      e.vmovdqa32(from, lanes);
      e.vpsubd(from, from, distance);
      e.vpmovd2m(e.k7, from);
      break;
  }
  e.vmovdqa32(from | e.k7, lanes);
}

/// Jumps to `others` unless every lane's member mask names all lanes.
void expect_all(Emitter& e, const Vectors& members, const Xbyak::Label& others) {
  e.vpcmpd(e.k7, members.at[0], e.splat(kNone), kNotEqual);
  e.vpcmpd(e.k0, members.at[1], e.splat(kNone), kNotEqual);
  e.kortestw(e.k7, e.k0);
  e.jnz(others, Xbyak::CodeGenerator::T_NEAR);
}

void shuffle(Emitter& e, const Step& step) {
  const auto& [kind, predicate] = step.operands.get<ShuffleOperands>();
  const bool may_miss = kind == ShuffleKind::Up || kind == ShuffleKind::Down;
  uint32_t all = 0;
  const bool fixed = constant_at(e.code(), step.src[3], all);
  // If the handler runs instead, it needs its operand registers unchanged.
  const bool own_operand = std::ranges::find(step.src, step.dst) != step.src.end();
  if (!fixed && own_operand) return e.call(step, true);
  const Vectors values = e.read(step.src[0], RegisterClass::Narrow),
                named = e.read(step.src[1], RegisterClass::Narrow);
  const Vectors members = fixed ? Vectors() : e.read(step.src[3], RegisterClass::Narrow);
  const Vectors out = e.write(step.dst, RegisterClass::Narrow);
  Masks valid;
  if (predicate != kNone) valid = e.write_masks(predicate);
  auto done = std::make_shared<Xbyak::Label>();
  if (!fixed) expect_all(e, members, e.by_handler(done));
  for (uint32_t half = 0; half < 2; ++half) {
    find_sources(e, kind, out.at[half], named.at[half], half);
    e.vpermi2d(out.at[half], values.at[0], values.at[1]);
    if (predicate == kNone) continue;
    if (may_miss) {
      e.knotw(valid.at[half], e.k7);
    } else {
      e.kxnorw(valid.at[half], valid.at[half], valid.at[half]);
    }
  }
  e.L(*done);
}
}  // namespace

bool is_whole_shuffle(const Code& code, const Step& step) {
  if (step.run != kRunOf<steps::shuffle> || !step.guard.is_always()) return false;
  const bool up = step.operands.get<ShuffleOperands>().kind == ShuffleKind::Up;
  uint32_t clamp = 0, members = kNone;
  const bool may_be_all = !constant_at(code, step.src[3], members) || members == kNone;
  return step.dst != kTrueOffset && constant_at(code, step.src[2], clamp) &&
         clamp == (up ? 0 : kLast) && may_be_all;
}

void add_exchanges(Operations& all, Accesses accesses) {
  // The race detectors must record that lanes have synchronised.
  const bool races = (accesses & (kSharedRaces | kGlobalChecks)) != 0;
  all.add_step(kRunOf<steps::shuffle>, [races](Emitter& e, const Step& step) {
    if (races) return e.call(step, true);
    shuffle(e, step);
  });
}

}  // namespace gpuemu::emulator
