#include "runtime/emulator/checks/last_word.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/machine/block.h"

namespace gpuemu::emulator {
namespace {
constexpr uint32_t kWordBytes = 4;

/// Calls `take(lane, allocation, bytes of the word inside of it)` for each lane at such a word.
template <typename Take>
void each_last_word(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes,
                    const Take& take) {
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    Allocation* const in = ending_in_word(warp, step, address[lane], kWordBytes);
    if (in != nullptr) take(lane, *in, in->base + in->bytes - address[lane]);
  }
}

template <typename T>
uint32_t swap_part(uint64_t address, uint32_t wanted, uint32_t next) {
  auto* const at = reinterpret_cast<T*>(address);
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (old == wanted && !__atomic_compare_exchange_n(at, &old, static_cast<T>(next), false,
                                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}
/// Compares the word, of which the allocation has `inside` bytes, and stores these if it is equal.
/// Returns the old value.
uint32_t swap(Launch& launch, uint64_t address, uint64_t inside, uint32_t wanted, uint32_t next) {
  if (inside == 1) return swap_part<uint8_t>(address, wanted, next);
  if (inside == 2) return swap_part<uint16_t>(address, wanted, next);
  const std::lock_guard lock(launch.wide_atomics);
  auto* const at = reinterpret_cast<std::byte*>(address);
  uint32_t old = 0;
  std::memcpy(&old, at, inside);
  if (old == wanted) std::memcpy(at, &next, inside);
  return old;
}
}  // namespace

Allocation* ending_in_word(Warp& warp, const Step& step, uint64_t address, uint32_t bytes) {
  const MemoryOperands* const operands = step.memory();
  const bool may = operands != nullptr && operands->is_word_of_cas && bytes == kWordBytes &&
                   address % kWordBytes == 0;
  Allocation* const in = may ? warp.launch->memory->find(address, 1) : nullptr;
  return in != nullptr && !in->freed && !in->contains(address, kWordBytes) ? in : nullptr;
}

void load_last_words(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes) {
  note_last_words(warp, step, address, Access::Load, lanes);
  const uint32_t to = warp.function.lists[step.access().list];
  if (to == kNone) return;
  each_last_word(warp, step, address, lanes,
                 [&](uint32_t lane, const Allocation&, uint64_t inside) {
                   uint32_t value = 0;
                   std::memcpy(&value, reinterpret_cast<const void*>(address[lane]), inside);
                   warp.u32(to)[lane] = value;
                 });
}

void swap_last_words(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes) {
  Definedness& tracked = warp.tracking.definedness;
  const uint32_t kept = tracked.update.lanes;
  Tally beyond;
  each_last_word(warp, step, address, lanes, [&](uint32_t lane, Allocation& in, uint64_t inside) {
    const uint32_t wanted = warp.u32(step.src[1])[lane], next = warp.u32(step.src[2])[lane];
    const uint32_t old = swap(*warp.launch, address[lane], inside, wanted, next);
    const uint32_t own = uint32_t{1} << lane;
    if (old == wanted) {
      if (in.tracked && (kept & own) == 0) {
        std::fill_n(in.shadow(address[lane]), inside, uint8_t{1});
      }
      if ((old ^ next) >> 8 * inside != 0) beyond.note(lane);
    }
    if (step.dst != kTrueOffset) warp.u32(step.dst)[lane] = old;
    tracked.update.lanes = kept & own;
    tracked.keep_update(warp, ptx::Space::Global, address, static_cast<uint32_t>(inside));
  });
  tracked.update.lanes = kept & ~lanes;
  if (beyond.lanes != 0) {
    report_outside(warp, step, beyond, address[beyond.first], kWordBytes, Access::Atomic);
  }
}

void note_last_words(Warp& warp, const Step& step, const uint64_t* address, Access access,
                     uint32_t lanes) {
  uint32_t of_size[kWordBytes] = {};  // By the number of bytes inside.
  each_last_word(warp, step, address, lanes,
                 [&](uint32_t lane, const Allocation&, uint64_t inside) {
                   of_size[inside] |= uint32_t{1} << lane;
                 });
  for (uint32_t inside = 1; inside < kWordBytes; ++inside) {
    if (of_size[inside] == 0) continue;
    note_unwritten_global(warp, step, address, inside, access, of_size[inside]);
    if (warp.launch->races == nullptr) continue;
    warp.launch->races->note(warp, step, address, inside, access, of_size[inside]);
  }
}

}  // namespace gpuemu::emulator
