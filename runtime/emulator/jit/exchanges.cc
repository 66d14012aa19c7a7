// What whole warps exchange: shuffles within one segment, as reductions and scans have them.
#include <algorithm>

#include "runtime/emulator/jit/operations.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
namespace {
using steps::ShuffleKind;
using Xbyak::Zmm;

constexpr uint32_t kHalf = kLanes / 2, kLast = kLanes - 1;
constexpr uint8_t kNotEqual = 4, kGreater = 6;  ///< Predicates of vpcmpud.

std::array<uint32_t, kHalf> lanes_of(uint32_t half) {
  std::array<uint32_t, kHalf> lanes{};
  for (uint32_t i = 0; i < kHalf; ++i) lanes[i] = half * kHalf + i;
  return lanes;
}

/// Into `from` the lanes that half a warp reads; k7: of those, the ones that read themselves since
/// what they name is out of range.
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

/// To `others` unless every lane names all lanes as members.
void expect_all(Emitter& e, const Vectors& members, const Xbyak::Label& others) {
  e.vpcmpd(e.k7, members.at[0], e.splat(kNone), kNotEqual);
  e.vpcmpd(e.k0, members.at[1], e.splat(kNone), kNotEqual);
  e.kortestw(e.k7, e.k0);
  e.jnz(others, Xbyak::CodeGenerator::T_NEAR);
}

void shuffle(Emitter& e, const Step& ins) {
  const auto kind = static_cast<ShuffleKind>(ins.flags);
  const bool may_miss = kind == ShuffleKind::Up || kind == ShuffleKind::Down;
  uint32_t all = 0;
  const bool fixed = constant_at(e.code(), ins.src[3], all);
  // A handler that runs after all finds its operands in their registers.
  const bool own_operand = std::ranges::find(ins.src, ins.dst) != ins.src.end();
  if (!fixed && own_operand) return e.call(ins, true);
  const Vectors values = e.read(ins.src[0], RegisterClass::Narrow),
                named = e.read(ins.src[1], RegisterClass::Narrow);
  const Vectors members = fixed ? Vectors() : e.read(ins.src[3], RegisterClass::Narrow);
  const Vectors out = e.write(ins.dst, RegisterClass::Narrow);
  Masks valid;
  if (ins.aux != kNone) valid = e.write_masks(ins.aux);
  auto done = std::make_shared<Xbyak::Label>();
  if (!fixed) expect_all(e, members, e.by_handler(done));
  for (uint32_t half = 0; half < 2; ++half) {
    find_sources(e, kind, out.at[half], named.at[half], half);
    e.vpermi2d(out.at[half], values.at[0], values.at[1]);
    if (ins.aux == kNone) continue;
    if (may_miss) {
      e.knotw(valid.at[half], e.k7);
    } else {
      e.kxnorw(valid.at[half], valid.at[half], valid.at[half]);
    }
  }
  e.L(*done);
}
}  // namespace

bool is_whole_shuffle(const Code& code, const Step& ins) {
  if (ins.run != steps::shuffle || ins.guard != kTrueOffset || ins.guard_xor != 0) return false;
  const bool up = static_cast<ShuffleKind>(ins.flags) == ShuffleKind::Up;
  uint32_t clamp = 0, members = kNone;
  const bool may_be_all = !constant_at(code, ins.src[3], members) || members == kNone;
  return ins.dst != kTrueOffset && constant_at(code, ins.src[2], clamp) &&
         clamp == (up ? 0 : kLast) && may_be_all;
}

void add_exchanges(Operations& all, Accesses accesses) {
  // The race detectors want to know that lanes have met.
  const bool races = (accesses & (kSharedRaces | kGlobalChecks)) != 0;
  all.add_step(steps::shuffle, [races](Emitter& e, const Step& ins) {
    if (races) return e.call(ins, true);
    shuffle(e, ins);
  });
}

}  // namespace gpuemu::emulator
