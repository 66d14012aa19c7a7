// atom and red, as real atomics on host memory because blocks run on several threads.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/last_word.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/steps/async.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {

float from_bf16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
uint32_t to_bf16(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  return v != v ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
float from_f16(uint32_t h) {
  const uint32_t rest = h & 0x7fff;
  const float scaled = std::bit_cast<float>(rest << 13) * 0x1p112f;
  const uint32_t bits =
      rest >= 0x7c00 ? 0x7f800000u | (rest & 0x3ff) << 13 : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(bits | (h & 0x8000) << 16);
}
/// The sum of two f16 values is exact in f32 or rounded where it makes no difference (24 >= 2 * 11
/// + 2).
uint32_t to_f16(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size > 0x7f800000) return 0x7fff;
  if (size >= 0x47800000) return sign | 0x7c00;
  if (size < 0x38800000) {
    return sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000);
  }
  return sign | (size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13;
}
template <typename Low>
uint32_t combine_float(AtomicKind kind, Low a, Low b, uint32_t (*pack)(Low)) {
  const Low r = kind == AtomicKind::Add   ? a + b
                : kind == AtomicKind::Min ? std::fmin(a, b)
                                          : std::fmax(a, b);
  return pack(r);
}
uint32_t combine_half(const Reduction& reduction, uint32_t a, uint32_t b) {
  const AtomicKind kind = reduction.kind;
  const bool brain = reduction.type == ptx::Type::BF16 || reduction.type == ptx::Type::BF16x2;
  return brain ? combine_float<float>(kind, from_bf16(a & 0xffff), from_bf16(b & 0xffff), to_bf16)
               : combine_float<float>(kind, from_f16(a & 0xffff), from_f16(b & 0xffff), to_f16);
}

template <typename T>
T combine_integer(AtomicKind kind, T a, T b) {
  switch (kind) {
    case AtomicKind::Add:
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                            static_cast<std::make_unsigned_t<T>>(b));
    case AtomicKind::Min:
      return std::min(a, b);
    case AtomicKind::Max:
      return std::max(a, b);
    case AtomicKind::And:
      return a & b;
    case AtomicKind::Or:
      return a | b;
    case AtomicKind::Xor:
      return a ^ b;
    case AtomicKind::Inc:
      return a >= b ? T{0} : static_cast<T>(a + 1);
    case AtomicKind::Dec:
      return a == 0 || a > b ? b : static_cast<T>(a - 1);
    default:
      return b;
  }
}

/// In global memory the L2 cache does the addition and flushes subnormals (measured on sm_90); in
/// shared memory they are kept.
uint32_t add_f32(uint32_t a, uint32_t b, bool global) {
  const auto flushed = [global](uint32_t bits) {
    return global && (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
  };
  const float sum = std::bit_cast<float>(flushed(a)) + std::bit_cast<float>(flushed(b));
  return sum != sum ? 0x7fffffff : flushed(std::bit_cast<uint32_t>(sum));
}

/// Returns the first of two NaNs, quieted, as the chip does (measured on sm_90). Explicit, because
/// compilers swap the operands of sums.
uint64_t add_f64(uint64_t a, uint64_t b) {
  const auto first = std::bit_cast<double>(a);
  if (first != first) return a | uint64_t{1} << 51;
  return std::bit_cast<uint64_t>(first + std::bit_cast<double>(b));
}

uint64_t combine(const Reduction& reduction, uint64_t old, uint64_t b, bool global) {
  using ptx::Type;
  const AtomicKind kind = reduction.kind;
  const auto low = static_cast<uint32_t>(old), by = static_cast<uint32_t>(b);
  switch (reduction.type) {
    case Type::F32:
      if (kind == AtomicKind::Exch) return b;
      return add_f32(low, by, global);
    case Type::F64:
      if (kind == AtomicKind::Exch) return b;
      return add_f64(old, b);
    case Type::F16:
    case Type::BF16:
      return combine_half(reduction, low, by);
    case Type::F16x2:
    case Type::BF16x2:
      return combine_half(reduction, low >> 16, by >> 16) << 16 | combine_half(reduction, low, by);
    case Type::S32:
      return static_cast<uint32_t>(
          combine_integer(kind, static_cast<int32_t>(low), static_cast<int32_t>(by)));
    case Type::S64:
      return static_cast<uint64_t>(
          combine_integer(kind, static_cast<int64_t>(old), static_cast<int64_t>(b)));
    case Type::U64:
    case Type::B64:
      return combine_integer(kind, old, b);
    default:
      return combine_integer(kind, low, by);
  }
}

struct LaneOperands {
  uint64_t b, c;  ///< The operand, and the new value of cas.
  bool global;
};

/// Returns the old value.
template <typename T>
uint64_t update(const Reduction& reduction, uint64_t host, LaneOperands with) {
  auto* at = reinterpret_cast<T*>(host);
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  for (;;) {
    const bool cas = reduction.kind == AtomicKind::Cas;
    if (cas && old != static_cast<T>(with.b)) return old;
    const T next = static_cast<T>(cas ? with.c : combine(reduction, old, with.b, with.global));
    if (__atomic_compare_exchange_n(at, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
      return old;
    }
  }
}

/// exch and cas of 16 bytes. Not every host has such an atomic, so Launch::wide_atomics makes each
/// of them atomic to the others.
void apply_pairs(Warp& warp, const Step& step, const uint64_t* host, uint32_t lanes) {
  const auto& atomic = step.operands.get<AtomicOperands>();
  const uint32_t* list = warp.function.lists + atomic.list;
  const std::lock_guard lock(warp.launch->wide_atomics);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    auto* at = reinterpret_cast<std::byte*>(host[lane]);
    uint64_t old[2], wanted[2], next[2];
    std::memcpy(old, at, sizeof old);
    for (uint32_t half = 0; half < 2; ++half) {
      wanted[half] = warp.u64(list[half])[lane];
      next[half] = warp.u64(list[2 + half])[lane];
    }
    const bool cas = atomic.reduction.kind == AtomicKind::Cas;
    if (!cas || (old[0] == wanted[0] && old[1] == wanted[1])) std::memcpy(at, next, sizeof next);
    for (uint32_t half = 0; half < 2; ++half) warp.u64(list[4 + half])[lane] = old[half];
  }
}

void apply(Warp& warp, const Step& step, const uint64_t* host, uint32_t lanes,
           bool global = false) {
  const Reduction reduction = step.operands.get<AtomicOperands>().reduction;
  const uint32_t bytes = step.operands.get<AtomicOperands>().bytes;
  if (bytes == 16) return apply_pairs(warp, step, host, lanes);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const bool wide = bytes == 8;
    const LaneOperands with{wide ? warp.u64(step.src[1])[lane] : warp.u32(step.src[1])[lane],
                            wide ? warp.u64(step.src[2])[lane] : warp.u32(step.src[2])[lane],
                            global};
    const uint64_t old = wide         ? update<uint64_t>(reduction, host[lane], with)
                         : bytes == 4 ? update<uint32_t>(reduction, host[lane], with)
                                      : update<uint16_t>(reduction, host[lane], with);
    if (step.dst == kTrueOffset) continue;
    if (wide) {
      warp.u64(step.dst)[lane] = old;
    } else {
      warp.u32(step.dst)[lane] = static_cast<uint32_t>(old);
    }
  }
}

void on_global(Warp& warp, const Step& step, const uint64_t* address) {
  const uint32_t bytes = step.operands.get<AtomicOperands>().bytes;
  Definedness& tracked = warp.tracking.definedness;
  tracked.update.lanes = 0;
  const uint32_t lanes = resolve_global(warp, step, address, bytes, Access::Atomic);
  const uint32_t refused = warp.masks.running & ~lanes;
  // The fence of a release comes before every lane's access.
  if (warp.launch->races != nullptr) {
    before_global(warp, step, address, bytes, Access::Atomic, lanes);
  }
  if (refused != 0) note_last_words(warp, step, address, Access::Atomic, refused);
  apply(warp, step, address, lanes, true);
  if (refused != 0) swap_last_words(warp, step, address, refused);
  if (warp.launch->races != nullptr) {
    after_global(warp, step, address, bytes, Access::Atomic, lanes);
  }
  if (!warp.launch->inputs.checks.defines) return;
  define_global(warp, step, address, bytes, lanes & ~tracked.update.lanes);
  tracked.keep_update(warp, ptx::Space::Global, address, bytes);
}
void on_shared(Warp& warp, const Step& step, const uint64_t* address) {
  const uint32_t bytes = step.operands.get<AtomicOperands>().bytes;
  Definedness& tracked = warp.tracking.definedness;
  tracked.update.lanes = 0;
  const uint32_t lanes = resolve_shared(warp, step, address, bytes, Access::Atomic);
  if (warp.launch->inputs.checks.race) {
    note_shared(warp, step, address, bytes, Access::Atomic, lanes, 0);
  }
  uint64_t host[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    host[lane] = address[lane] + reinterpret_cast<uint64_t>(warp.block->shared.bytes.data());
  }
  apply(warp, step, host, lanes);
  if (warp.launch->inputs.checks.init) {
    for (uint32_t left = lanes & ~tracked.update.lanes; left != 0; left &= left - 1) {
      std::fill_n(warp.block->shared.defined.data() + address[std::countr_zero(left)], bytes,
                  uint8_t{1});
    }
    tracked.keep_update(warp, ptx::Space::Shared, address, bytes);
  }
}
void on_local(Warp& warp, const Step& step, const uint64_t* address) {
  const uint32_t bytes = step.operands.get<AtomicOperands>().bytes;
  const uint32_t lanes = resolve_local(warp, step, address, bytes, Access::Atomic);
  uint64_t host[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    host[lane] = address[lane] + reinterpret_cast<uint64_t>(warp.local.data) +
                 uint64_t{lane} * warp.local.stride;
  }
  apply(warp, step, host, lanes);
}
/// Executes the lanes whose address names a block of the cluster, and returns them.
uint32_t on_ranked(Warp& warp, const Step& step, const uint64_t* address) {
  const auto& atomic = step.operands.get<AtomicOperands>();
  const ptx::Space space = atomic.space;
  uint32_t ranked = 0, good = 0;
  uint64_t host[kLanes] = {};
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const bool shared =
        space == ptx::Space::Shared ||
        (space == ptx::Space::Generic && (address[lane] & kWindowMask) == kSharedWindow);
    if (!shared || (address[lane] >> kRankShift & kRankMask) == 0) continue;
    if (ranked == 0) order_before(warp, instruction_of(warp, step));
    ranked |= uint32_t{1} << lane;
    const auto at = locate_shared(warp, step, address[lane], lane, atomic.bytes);
    if (!at) continue;
    good |= uint32_t{1} << lane;
    note_ranked(warp, step, lane, *at, atomic.bytes, Access::Atomic, nullptr);
    host[lane] = reinterpret_cast<uint64_t>(at->block->shared.bytes.data()) + at->offset;
  }
  apply(warp, step, host, good);
  return ranked;
}

void on_unranked(Warp& warp, const Step& step, uint64_t* address) {
  switch (step.operands.get<AtomicOperands>().space) {
    case ptx::Space::Shared:
      return on_shared(warp, step, address);
    case ptx::Space::Global:
      return on_global(warp, step, address);
    default:
      return split_generic(warp, step, address, {on_global, on_shared, on_local, refuse_param});
  }
}
}  // namespace

void update_atomically(const Reduction& reduction, std::byte* to, uint64_t operand, bool global) {
  const uint32_t bytes = ptx::byte_size(reduction.type);
  const auto host = reinterpret_cast<uint64_t>(to);
  const LaneOperands with{operand, 0, global};
  if (bytes == 8) {
    update<uint64_t>(reduction, host, with);
  } else if (bytes == 4) {
    update<uint32_t>(reduction, host, with);
  } else {
    update<uint16_t>(reduction, host, with);
  }
}

void atomic(Warp& warp, const Step& step, const AtomicOperands& atomic) {
  uint64_t address[kLanes];
  const auto lead = static_cast<uint32_t>(std::countr_zero(warp.masks.running));
  const auto at = [&](uint32_t lane) {
    return atomic.is_wide ? warp.u64(step.src[0])[lane] + static_cast<uint64_t>(atomic.offset)
                          : uint64_t{static_cast<uint32_t>(warp.u32(step.src[0])[lane] +
                                                           static_cast<uint32_t>(atomic.offset))};
  };
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    address[lane] = at((warp.masks.running >> lane & 1) != 0 ? lane : lead);
  }
  if (const uint32_t ranked = on_ranked(warp, step, address); ranked != 0) {
    const uint32_t all = warp.masks.running;
    warp.masks.running = all & ~ranked;
    if (warp.masks.running != 0) on_unranked(warp, step, address);
    warp.masks.running = all;
    return;
  }
  on_unranked(warp, step, address);
}

}  // namespace gpuemu::emulator::steps
